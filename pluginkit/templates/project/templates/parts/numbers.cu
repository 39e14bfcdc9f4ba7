@% if plugin.wide %@
//! The fields as a kernel's arguments, which are copied byte by byte. The generated layer makes one number of a list or
//! a text. Pass what your kernel needs: a short list as a member `float weights[4]`, a long one as a pointer to device
//! memory.
struct Numbers
{
@% for number in plugin.numbers %@
    @{ number.cpp }@ @{ number.name }@;@{ " //!< " ~ number.says if number.says }@
@% endfor %@
};

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
Numbers numbersOf([[maybe_unused]] Fields const& fields) noexcept
{
    return {@% for number in plugin.numbers %@@{ number.value }@@{ ", " if not loop.last }@@% endfor %@};
}

@% endif %@
