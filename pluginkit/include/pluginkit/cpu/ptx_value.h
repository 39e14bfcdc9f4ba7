//! Values and their images, bits, and conversions: for ptx.h.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace ptx
{

template <typename T>
uint64_t image(T const& value) noexcept
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "inline PTX takes operands of at most 64 bits");
    uint64_t bits = 0;
    std::memcpy(&bits, (void const*)&value, sizeof(T));
    return bits;
}

template <typename T>
T from(uint64_t bits) noexcept
{
    if constexpr (std::is_same_v<T, bool>)
    {
        return (bits & 1U) != 0;
    }
    else
    {
        T value;
        std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
        return value;
    }
}

template <typename T>
void assign(T& target, uint64_t bits) noexcept
{
    std::memcpy(static_cast<void*>(&target), &bits, sizeof(T));
}

template <typename T>
inline constexpr bool isHalf = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

template <typename T>
inline constexpr bool isPair = std::is_same_v<T, __half2> || std::is_same_v<T, __nv_bfloat162>;

template <typename T>
inline constexpr bool isFloating = std::is_floating_point_v<T> || isHalf<T> || isPair<T>;

template <typename T>
struct HalfOf
{
    using type = __half;
};

template <>
struct HalfOf<__nv_bfloat162>
{
    using type = __nv_bfloat16;
};

template <typename T>
struct Twice;

template <>
struct Twice<int16_t>
{
    using type = int32_t;
};

template <>
struct Twice<uint16_t>
{
    using type = uint32_t;
};

template <>
struct Twice<int32_t>
{
    using type = int64_t;
};

template <>
struct Twice<uint32_t>
{
    using type = uint64_t;
};

//! Halves as double, in which sums, products and fused products of them are exact before they are rounded once.
template <typename T>
auto wide(T value) noexcept
{
    if constexpr (std::is_same_v<T, __half>)
    {
        return static_cast<double>(__half2float(value));
    }
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    {
        return static_cast<double>(__bfloat162float(value));
    }
    else
    {
        return value;
    }
}

template <typename T, typename Wide>
T narrow(Wide value) noexcept
{
    if constexpr (std::is_same_v<T, __half>)
    {
        return __double2half(static_cast<double>(value));
    }
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    {
        return __double2bfloat16(static_cast<double>(value));
    }
    else
    {
        return static_cast<T>(value);
    }
}

//! `width` bits from bit `first` on.
inline uint64_t part(uint64_t value, unsigned int first, unsigned int width) noexcept
{
    return value >> first & (width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
}

inline uint64_t place(uint64_t value, unsigned int first, unsigned int width) noexcept
{
    return part(value, 0, width) << first;
}

template <typename T>
uint64_t shl(uint64_t a, uint64_t b) noexcept
{
    auto const count = static_cast<uint32_t>(b);
    return count >= 8 * sizeof(T) ? 0 : part(a << count, 0, 8 * sizeof(T));
}

template <typename T>
uint64_t shr(uint64_t a, uint64_t b) noexcept
{
    auto const count = static_cast<uint32_t>(b);
    T const value = from<T>(a);
    if (count >= 8 * sizeof(T))
    {
        return image(static_cast<T>(value < T{0} ? ~T{0} : T{0}));
    }
    return image(static_cast<T>(value >> count));
}

template <typename T>
uint64_t popc_(uint64_t a) noexcept
{
    return static_cast<uint64_t>(__builtin_popcountll(part(a, 0, 8 * sizeof(T))));
}

template <typename T>
uint64_t clz_(uint64_t a) noexcept
{
    uint64_t const value = part(a, 0, 8 * sizeof(T));
    return value == 0 ? 8 * sizeof(T) : static_cast<uint64_t>(__builtin_clzll(value)) - (64 - 8 * sizeof(T));
}

template <typename T>
uint64_t brev_(uint64_t a) noexcept
{
    uint64_t reversed = 0;
    for (unsigned int i = 0; i < 8 * sizeof(T); ++i)
    {
        reversed = reversed << 1U | (a >> i & 1U);
    }
    return reversed;
}

//! The place of the highest bit that isn't the sign's; all ones if there is none.
template <typename T>
uint64_t bfind_(uint64_t a) noexcept
{
    uint64_t const value = from<T>(a) < T{0} ? part(~a, 0, 8 * sizeof(T)) : part(a, 0, 8 * sizeof(T));
    return value == 0 ? 0xFFFFFFFFU : 63U - static_cast<unsigned int>(__builtin_clzll(value));
}

//! Bits b.. of a, as many as c says; a signed type's are extended.
template <typename T>
uint64_t bfe_(uint64_t a, uint64_t b, uint64_t c) noexcept
{
    constexpr unsigned int kBITS = 8 * sizeof(T);
    auto const first = static_cast<unsigned int>(b & 0xFFU);
    auto const length = static_cast<unsigned int>(c & 0xFFU);
    uint64_t const top = from<T>(a) < T{0} ? ~uint64_t{0} : 0; // what stands beyond the value
    uint64_t const value = part(a, 0, kBITS) | (kBITS == 64 ? 0 : top << (kBITS % 64));
    if (length == 0)
    {
        return 0;
    }
    uint64_t const field = first >= 64 ? top : value >> first | (first == 0 ? 0 : top << (64 - first));
    if (length >= kBITS)
    {
        return part(field, 0, kBITS);
    }
    uint64_t const kept = part(field, 0, length);
    bool const negative = std::is_signed_v<T> && (kept >> (length - 1) & 1U) != 0;
    return part(negative ? kept | ~uint64_t{0} << length : kept, 0, kBITS);
}

//! a's lowest d bits put into b from bit c on.
template <typename T>
uint64_t bfi(uint64_t a, uint64_t b, uint64_t c, uint64_t d) noexcept
{
    auto const first = static_cast<unsigned int>(c & 0xFFU);
    auto const length = static_cast<unsigned int>(d & 0xFFU);
    if (first >= 8 * sizeof(T) || length == 0)
    {
        return b;
    }
    uint64_t const mask = (length >= 64 ? ~uint64_t{0} : (uint64_t{1} << length) - 1) << first;
    return part((b & ~mask) | (a << first & mask), 0, 8 * sizeof(T));
}

template <typename T>
uint64_t prmt(uint64_t a, uint64_t b, uint64_t selector) noexcept
{
    uint64_t const bytes = part(b, 0, 32) << 32U | part(a, 0, 32);
    uint64_t result = 0;
    for (unsigned int i = 0; i < 4; ++i)
    {
        uint64_t const which = selector >> (4 * i) & 0xFU;
        uint64_t const byte = bytes >> (8 * (which & 7U)) & 0xFFU;
        bool const sign = (which & 8U) != 0;
        result |= (sign ? ((byte & 0x80U) != 0 ? 0xFFU : 0U) : byte) << (8 * i);
    }
    return result;
}

template <typename T>
uint64_t lop3(uint64_t a, uint64_t b, uint64_t c, uint64_t table) noexcept
{
    uint64_t result = 0;
    for (unsigned int i = 0; i < 8; ++i)
    {
        bool const on = (table >> i & 1U) != 0;
        result |= on ? ((i & 4U) != 0 ? a : ~a) & ((i & 2U) != 0 ? b : ~b) & ((i & 1U) != 0 ? c : ~c) : 0;
    }
    return part(result, 0, 32);
}

inline uint64_t shf_l(uint64_t low, uint64_t high, uint64_t count, bool wrap) noexcept
{
    auto const n = static_cast<uint32_t>(count);
    auto const shift = wrap ? n & 31U : (n < 32 ? n : 32U);
    return part((part(high, 0, 32) << 32U | part(low, 0, 32)) << shift >> 32U, 0, 32);
}

inline uint64_t shf_r(uint64_t low, uint64_t high, uint64_t count, bool wrap) noexcept
{
    auto const n = static_cast<uint32_t>(count);
    auto const shift = wrap ? n & 31U : (n < 32 ? n : 32U);
    return part((part(high, 0, 32) << 32U | part(low, 0, 32)) >> shift, 0, 32);
}

template <typename T>
uint64_t dp4a(uint64_t a, uint64_t b, uint64_t c) noexcept
{
    using Byte = std::conditional_t<std::is_signed_v<T>, int8_t, uint8_t>;
    auto sum = static_cast<uint32_t>(c);
    for (unsigned int i = 0; i < 32; i += 8)
    {
        auto const product = static_cast<Byte>(a >> i & 0xFFU) * static_cast<Byte>(b >> i & 0xFFU);
        sum += static_cast<uint32_t>(product);
    }
    return sum;
}

enum class Rounding
{
    rn,
    rz,
    rm,
    rp,
    rna,
};

inline double rounded(double value, Rounding how) noexcept
{
    switch (how)
    {
    case Rounding::rz:
        return std::trunc(value);
    case Rounding::rm:
        return std::floor(value);
    case Rounding::rp:
        return std::ceil(value);
    case Rounding::rna:
        return std::round(value);
    default:
        return std::nearbyint(value);
    }
}

//! The nearest value of T, which saturates; NaN is 0.
template <typename T>
T saturated(double value) noexcept
{
    constexpr double kLOW = static_cast<double>(std::numeric_limits<T>::min());
    constexpr double kHIGH = static_cast<double>(std::numeric_limits<T>::max());
    if (!(value > kLOW))
    {
        return value <= kLOW ? std::numeric_limits<T>::min() : T{0};
    }
    return value >= kHIGH ? std::numeric_limits<T>::max() : static_cast<T>(value);
}

//! cvt. To a narrower float it rounds to nearest, or toward zero for half.
template <typename To, typename From, Rounding kHOW, bool kWHOLE, bool kSATURATE>
uint64_t convert(uint64_t bits) noexcept
{
    auto const value = wide(from<From>(bits));
    if constexpr (isFloating<To>)
    {
        if constexpr (isFloating<From> && kWHOLE)
        {
            return image(narrow<To>(rounded(static_cast<double>(value), kHOW)));
        }
        else if constexpr (std::is_same_v<To, __half> && kHOW == Rounding::rz)
        {
            return image(__float2half_rz(static_cast<float>(value)));
        }
        else if constexpr (kSATURATE)
        {
            return image(narrow<To>(value > 0 ? (value < 1 ? value : decltype(value){1}) : decltype(value){0}));
        }
        else
        {
            return image(narrow<To>(value));
        }
    }
    else if constexpr (isFloating<From>)
    {
        double const whole = rounded(static_cast<double>(value), kWHOLE ? kHOW : Rounding::rz);
        return image(saturated<To>(whole));
    }
    else if constexpr (kSATURATE)
    {
        using Wide = __int128;
        auto const low = static_cast<Wide>(std::numeric_limits<To>::min());
        auto const high = static_cast<Wide>(std::numeric_limits<To>::max());
        auto const exact = static_cast<Wide>(value);
        return image(static_cast<To>(exact < low ? low : (exact > high ? high : exact)));
    }
    else
    {
        return image(static_cast<To>(value));
    }
}

//! cvt.pack.sat: two signed numbers saturated to T, the second in the lowest bits, above them what `rest` has there.
template <typename T>
uint64_t pack(uint64_t high, uint64_t low, uint64_t rest) noexcept
{
    constexpr unsigned int kBITS = 8 * sizeof(T);
    uint64_t const upper = convert<T, int32_t, Rounding::rn, false, true>(high);
    uint64_t const lower = convert<T, int32_t, Rounding::rn, false, true>(low);
    return part(rest << (2 * kBITS) | upper << kBITS | lower, 0, 32);
}

} // namespace ptx

} // namespace v2

} // namespace pluginkit_cpu
