#include "objects.h"

#include <cstring>
#include <map>
#include <mutex>

#include <dlfcn.h>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

struct Object
{
    uint64_t number;
    char const* kind;
    size_t size;
    Caller caller;
};

struct Objects
{
    std::mutex mutex;
    std::map<void const*, Object> live;
    uint64_t last{0};
};

// Before all objects of the user's, so that those can still give back what they have when they go.
__attribute__((init_priority(101))) Objects gObjects;

} // namespace

void took(char const* kind, void const* object, size_t size, Caller const& caller)
{
    if (object != nullptr)
    {
        std::lock_guard<std::mutex> const lock{gObjects.mutex};
        gObjects.live[object] = Object{++gObjects.last, kind, size, caller};
    }
}

void gaveBack(void const* object)
{
    std::lock_guard<std::mutex> const lock{gObjects.mutex};
    gObjects.live.erase(object);
}

bool isTaken(char const* kind, void const* object)
{
    std::lock_guard<std::mutex> const lock{gObjects.mutex};
    auto const found = gObjects.live.find(object);
    return found != gObjects.live.end() && std::strcmp(found->second.kind, kind) == 0;
}

uint64_t lastObject() noexcept
{
    std::lock_guard<std::mutex> const lock{gObjects.mutex};
    return gObjects.last;
}

size_t liveObjects(uint64_t after, PluginkitCpuObject* objects, size_t room) noexcept
{
    std::lock_guard<std::mutex> const lock{gObjects.mutex};
    size_t count = 0;
    for (auto const& [address, each] : gObjects.live)
    {
        if (each.number <= after || each.caller.code == nullptr)
        {
            continue;
        }
        if (count < room)
        {
            Dl_info info{};
            bool const known = dladdr(each.caller.code, &info) != 0;
            auto const offset = static_cast<char const*>(each.caller.code) - static_cast<char const*>(info.dli_fbase);
            objects[count] = {each.kind, each.caller.function, each.size, known ? info.dli_fname : "",
                              known ? static_cast<size_t>(offset) : 0};
        }
        ++count;
    }
    return count;
}

} // namespace v2

} // namespace pluginkit_cpu
