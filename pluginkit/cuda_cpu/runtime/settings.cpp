#include "settings.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

constexpr char kPREFIX[] = "PLUGINKIT_CPU_";
constexpr size_t kPREFIX_LENGTH = sizeof(kPREFIX) - 1;

struct Variable
{
    std::string_view name; //!< With the "=", and without the prefix.
    char const* Settings::* value;
};

constexpr Variable kVARIABLES[] = {
    {"SCHEDULE=", &Settings::schedule},
    {"ENDS=", &Settings::ends},
    {"DEFERRED=", &Settings::deferred},
    {"TIME_LIMIT=", &Settings::timeLimit},
};

} // namespace

Settings Settings::fromEnvironment() noexcept
{
    Settings settings;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each)
    {
        // The first letters decide for nearly all.
        if ((*each)[0] != kPREFIX[0] || (*each)[1] != kPREFIX[1] || std::strncmp(*each, kPREFIX, kPREFIX_LENGTH) != 0)
        {
            continue;
        }
        char const* const rest = *each + kPREFIX_LENGTH;
        for (Variable const& variable : kVARIABLES)
        {
            bool const same =
                *rest == variable.name.front() && std::strncmp(rest, variable.name.data(), variable.name.size()) == 0;
            if (same && settings.*variable.value == nullptr) // the first of a name, as getenv has it
            {
                settings.*variable.value = rest + variable.name.size();
            }
        }
    }
    return settings;
}

long wholeNumber(char const* text, long otherwise) noexcept
{
    return text == nullptr || *text == '\0' ? otherwise : std::strtol(text, nullptr, 10);
}

long option(char const* name, long otherwise) noexcept
{
    return wholeNumber(std::getenv(name), otherwise);
}

} // namespace v2

} // namespace pluginkit_cpu
