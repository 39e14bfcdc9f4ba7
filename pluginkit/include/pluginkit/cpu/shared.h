//! What a `__shared__` declaration is rewritten to.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <type_traits>

namespace pluginkit_cpu
{

inline namespace v2
{

//! The larger of the type's own alignment and those that the declaration asks for.
template <typename T, typename... Asked>
constexpr size_t alignmentOf(Asked... asked) noexcept
{
    size_t largest = alignof(std::remove_all_extents_t<T>);
    ((largest = static_cast<size_t>(asked) > largest ? static_cast<size_t>(asked) : largest), ...);
    return largest;
}

//! The block's own T.
template <typename T>
T& shared(SharedArray const& array)
{
    return *static_cast<T*>(staticShared(array));
}

//! The block's dynamic shared memory as a T, which mostly is an array of unknown bound.
template <typename T>
T& dynamic(SharedArray const& array)
{
    return *static_cast<T*>(dynamicShared(array));
}

} // namespace v2

} // namespace pluginkit_cpu
