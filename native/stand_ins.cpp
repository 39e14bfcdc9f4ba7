#include "stand_ins.h"

#include "call_file.h"
#include "library.h"

#include <algorithm>

extern "C" std::int32_t getInferLibVersion() noexcept; // library.cpp

namespace pluginkit
{

namespace
{

struct Absent
{
    std::string text;
    std::uintptr_t answer;
    bool noted;
};

std::uintptr_t callAbsent(Absent const* function) noexcept
{
    if (function->noted)
    {
        noteAbsentCall(function->text.c_str());
    }
    return function->answer;
}

LayoutFace const& face()
{
    return faceOf(layoutOf(hostVersion()));
}

void* givePluginRegistry() noexcept
{
    return face().registry();
}

void* giveLogger() noexcept
{
    return face().logger();
}

std::int32_t thousands(std::int32_t older, std::int32_t newer) noexcept
{
    return hostVersion() < 10000 ? older : newer;
}

std::int32_t giveMajor() noexcept
{
    return hostVersion() / thousands(1000, 10000);
}

std::int32_t giveMinor() noexcept
{
    return hostVersion() % thousands(1000, 10000) / 100;
}

std::int32_t givePatch() noexcept
{
    return hostVersion() % 100;
}

std::int32_t giveBuild() noexcept
{
    return 0;
}

template <class Function>
std::uintptr_t addressOf(Function* function)
{
    return reinterpret_cast<std::uintptr_t>(function);
}

//! `cudaGetErrorString` and the like.
bool givesText(std::string const& name)
{
    auto const ends = [&](std::string const& end)
    { return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0; };
    return name.compare(0, 5, "cuGet") != 0 && (ends("ErrorString") || ends("ErrorName") || ends("StatusString"));
}

} // namespace

std::vector<std::pair<std::string, std::uintptr_t>> providedFunctions()
{
    return {{"getPluginRegistry", addressOf(&givePluginRegistry)},
            {"getBuilderPluginRegistry", addressOf(&givePluginRegistry)},
            {"getLogger", addressOf(&giveLogger)},
            {"getInferLibVersion", addressOf(&getInferLibVersion)},
            {"getInferLibMajorVersion", addressOf(&giveMajor)},
            {"getInferLibMinorVersion", addressOf(&giveMinor)},
            {"getInferLibPatchVersion", addressOf(&givePatch)},
            {"getInferLibBuildVersion", addressOf(&giveBuild)}};
}

std::pair<std::uintptr_t, std::uintptr_t> absentFunction(std::string const& name, std::string const& library,
                                                         std::uintptr_t answer, bool noted)
{
    static constexpr char const* kTEXT{"it is not on this machine"};
    // Never freed: a library calls it as long as it is loaded.
    auto* const function =
        new Absent{name + " of " + library, givesText(name) ? reinterpret_cast<std::uintptr_t>(kTEXT) : answer, noted};
    return {reinterpret_cast<std::uintptr_t>(function), addressOf(&callAbsent)};
}

} // namespace pluginkit
