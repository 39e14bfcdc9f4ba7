//! The pointers among a kernel's arguments, by their types: an argument that is one, or a struct passed by value that
//! has some as members. No value is taken for a pointer because it looks like one.
//!
//! The members of a struct are found as by aggregate initialization: each is asked for with its type, in their order,
//! from which its offset follows. A class that is not an aggregate shows nothing, and neither does a union.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace pluginkit_cpu
{

inline namespace v2
{

//! Reports a pointer to pageable host memory, where it is known which memory is the device's. `index` counts the
//! arguments from 1.
PLUGINKIT_CPU_HIDDEN void checkPointer(char const* kernel, unsigned int index, void const* pointer) noexcept;

//! What a kernel gets for a struct's pointer. A struct may be the host's as well, and what the kernel doesn't read of
//! it is no mistake: a pointer to pageable host memory becomes one to memory that is closed, where each access is
//! reported. `offset` is the pointer's in the argument.
PLUGINKIT_CPU_HIDDEN void const* closePointer(char const* kernel, unsigned int index, size_t offset,
                                              void const* pointer) noexcept;

template <typename T, typename = void>
struct IsComplete : std::false_type
{
};

template <typename T>
struct IsComplete<T, std::void_t<decltype(sizeof(T))>> : std::true_type
{
};

//! Whether a kernel can follow it: a stream, or another handle, is a pointer too, to an incomplete type.
template <typename T, typename To = std::remove_pointer_t<T>>
constexpr bool kFOLLOWED =
    std::is_pointer_v<T> && !std::is_function_v<To> && (std::is_void_v<To> || IsComplete<To>::value);

template <typename T>
constexpr bool kHAS_MEMBERS =
    std::is_class_v<T> && std::is_aggregate_v<T> && std::is_trivially_copyable_v<T> && !std::is_empty_v<T>;

//! Where the pointers of a struct are. Of more than `kMOST` those behind are left out.
struct Pointers
{
    static constexpr size_t kMOST = 64;

    size_t end{0}; //!< Of the members so far.
    size_t count{0};
    size_t offsets[kMOST]{};

    template <typename T>
    void add() noexcept;

    void put(size_t offset) noexcept
    {
        if (count < kMOST)
        {
            offsets[count++] = offset;
        }
    }
};

//! Stands for any member's initial value, and hears of which type it is.
struct AnyMember
{
    Pointers* pointers;

    template <typename T, typename = std::enable_if_t<std::is_trivially_copyable_v<T>>>
    operator T() const noexcept
    {
        pointers->add<T>();
        alignas(T) unsigned char bytes[sizeof(T)]{};
        return *reinterpret_cast<T*>(bytes);
    }
};

template <typename T, size_t... Index>
auto takesMembers(std::index_sequence<Index...> /*members*/)
    -> decltype(T{(static_cast<void>(Index), std::declval<AnyMember const&>())...}, std::true_type{});

template <typename T>
std::false_type takesMembers(...);

template <typename T, size_t kCOUNT>
constexpr bool kTAKES = decltype(takesMembers<T>(std::make_index_sequence<kCOUNT>{}))::value;

//! The most initial values that T takes, between kLEAST, which it does, and kMOST, which it doesn't.
template <typename T, size_t kLEAST, size_t kMOST>
constexpr size_t countMembers() noexcept
{
    if constexpr (kMOST - kLEAST == 1)
    {
        return kLEAST;
    }
    else if constexpr (constexpr size_t kMIDDLE = kLEAST + (kMOST - kLEAST) / 2; kTAKES<T, kMIDDLE>)
    {
        return countMembers<T, kMIDDLE, kMOST>();
    }
    else
    {
        return countMembers<T, kLEAST, kMIDDLE>();
    }
}

template <typename T, size_t... Index>
void listen(Pointers& pointers, std::index_sequence<Index...> /*members*/) noexcept
{
    AnyMember const any{&pointers};
    [[maybe_unused]] T const made{(static_cast<void>(Index), any)...};
}

template <typename T>
Pointers pointersOf() noexcept
{
    constexpr size_t kMANY = sizeof(T) < 128 ? sizeof(T) + 1 : 129; // of larger structs with more members: none
    Pointers found{};
    if constexpr (kTAKES<T, 0> && !kTAKES<T, kMANY>)
    {
        listen<T>(found, std::make_index_sequence<countMembers<T, 0, kMANY>()>{});
    }
    // Bit-fields, or alignment that members ask for: they lie elsewhere than counted.
    bool const right = (found.end + alignof(T) - 1) / alignof(T) * alignof(T) == sizeof(T);
    return right ? found : Pointers{};
}

template <typename T>
void Pointers::add() noexcept
{
    size_t const at = (end + alignof(T) - 1) / alignof(T) * alignof(T);
    end = at + sizeof(T);
    if constexpr (kFOLLOWED<T>)
    {
        put(at);
    }
    else if constexpr (kHAS_MEMBERS<T>)
    {
        Pointers const inner = pointersOf<T>();
        for (size_t i = 0; i < inner.count; ++i)
        {
            put(at + inner.offsets[i]);
        }
    }
}

// Inline, so that findings name the line of the launch.

template <typename T>
PLUGINKIT_CPU_INLINE void checkArgument([[maybe_unused]] char const* kernel, [[maybe_unused]] unsigned int index,
                                        [[maybe_unused]] T const& argument) noexcept
{
    if constexpr (kFOLLOWED<T>)
    {
        checkPointer(kernel, index, const_cast<void const*>(static_cast<void const volatile*>(argument)));
    }
}

template <typename T>
void closeMembers([[maybe_unused]] char const* kernel, [[maybe_unused]] unsigned int index,
                  [[maybe_unused]] T& argument) noexcept
{
    if constexpr (kHAS_MEMBERS<T>)
    {
        Pointers const pointers = pointersOf<T>();
        for (size_t i = 0; i < pointers.count; ++i)
        {
            char* const at = reinterpret_cast<char*>(&argument) + pointers.offsets[i];
            void const* pointer = nullptr;
            std::memcpy(&pointer, at, sizeof(pointer));
            pointer = closePointer(kernel, index, pointers.offsets[i], pointer);
            std::memcpy(at, &pointer, sizeof(pointer));
        }
    }
}

//! As `closePointer`, for all members of a launch's arguments.
template <typename... Arguments>
void closeArguments([[maybe_unused]] char const* kernel, std::tuple<Arguments...>& arguments) noexcept
{
    std::apply(
        [kernel](Arguments&... each)
        {
            [[maybe_unused]] unsigned int index = 0;
            (closeMembers(kernel, ++index, each), ...);
        },
        arguments);
}

template <typename... Arguments>
PLUGINKIT_CPU_INLINE void checkArguments(char const* kernel, Arguments const&... arguments) noexcept
{
    [[maybe_unused]] unsigned int index = 0;
    // Of the reference, so that an array of const elements is a pointer to such.
    (checkArgument<std::decay_t<Arguments const&>>(kernel, ++index, arguments), ...);
}

} // namespace v2

} // namespace pluginkit_cpu
