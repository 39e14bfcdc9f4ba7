@% if plugin.lists %@
template <typename List>
float sumOf(List const& list) noexcept
{
    return static_cast<float>(std::accumulate(list.begin(), list.end(), 0.0));
}

@% endif %@
@% if plugin.texts %@
float sumOfBytes(std::string const& text) noexcept
{
    int32_t sum = 0;
    for (char const byte : text)
    {
        sum += static_cast<unsigned char>(byte);
    }
    return static_cast<float>(sum) / 1024.0F;
}

@% endif %@
@% if plugin.wide %@
@{ plugin.name }@Numbers numbersOf(@{ plugin.name }@Parameters const&@{ " parameters" if plugin.numbers }@) noexcept
{
    @{ plugin.name }@Numbers numbers{};
@% for number in plugin.numbers %@
    numbers.@{ number.name }@ = @{ number.value }@;
@% endfor %@
    return numbers;
}

@% endif %@
