//! What code compiled with -fsanitize=undefined calls: undefined behaviour as findings, with the kernel's thread.
//!
//! The functions and what they are given are facts of the compilers' interface, the same for g++ and clang++ (LLVM's
//! compiler-rt/lib/ubsan/ubsan_handlers.h). With them in the library no other runtime for them is needed, whose
//! handlers of signals would come into the engine's way.

#include "findings.h"
#include "worker.h"

#include <cstdlib>
#include <cstring>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

struct Location
{
    char const* file;
    uint32_t line;
    uint32_t column; //!< All bits set once it is reported: each place speaks once.
};

struct Type
{
    uint16_t kind; //!< 0: integer, 1: floating point
    uint16_t info; //!< Integer: log2 of the bits, twice, plus 1 if signed. Floating point: the bits.
    char name[1];  //!< With quotes.
};

//! A value of at most 64 bits, or its address.
using Value = uintptr_t;

struct Typed
{
    Location location;
    Type const* type;
};

struct TwoTypes
{
    Location location;
    Type const* left;
    Type const* right;
};

struct Mismatch
{
    Location location;
    Type const* type;
    unsigned char logAlignment;
    unsigned char access;
};

struct Builtin
{
    Location location;
    unsigned char kind;
};

struct Argument
{
    Location location;
    Location attribute;
    int number;
};

bool isSigned(Type const& type) noexcept
{
    return type.kind == 0 && (type.info & 1U) != 0;
}

//! The integer as text.
std::string text(Type const& type, Value value)
{
    unsigned int const bits = 1U << (type.info >> 1U);
    if (bits > 64)
    {
        return "a number of " + std::to_string(bits) + " bits";
    }
    if (!isSigned(type))
    {
        return std::to_string(value);
    }
    unsigned int const unused = 64 - bits;
    return std::to_string(static_cast<int64_t>(uint64_t{value} << unused) >> unused);
}

//! The floating-point number as text.
std::string floatText(Type const& type, Value value)
{
    double number = 0.0;
    if (type.info == 32)
    {
        float narrow = 0.0F;
        std::memcpy(&narrow, &value, sizeof(narrow));
        number = double{narrow};
    }
    else if (type.info == 64)
    {
        std::memcpy(&number, &value, sizeof(number));
    }
    else
    {
        return "a number of " + std::to_string(type.info) + " bits";
    }
    char words[32];
    std::snprintf(words, sizeof(words), "%g", number);
    return words;
}

bool isNegative(Type const& type, Value value)
{
    return text(type, value)[0] == '-';
}

std::string hex(Value value)
{
    char words[32];
    std::snprintf(words, sizeof(words), "0x%zx", value);
    return words;
}

//! Whether the place is in CUDA's C++ libraries, whose packed counters wrap around on purpose.
bool inLibrary(Location const& location) noexcept
{
    auto const holds = [&](char const* part) { return std::strstr(location.file, part) != nullptr; };
    return location.file != nullptr && (holds("/cub/") || holds("/thrust/") || holds("/cuda/std/"));
}

void say(Location& location, std::string const& words, void const* code)
{
    if (inLibrary(location))
    {
        return;
    }
    if (__atomic_exchange_n(&location.column, ~0U, __ATOMIC_RELAXED) == ~0U)
    {
        return;
    }
    Worker* const worker = Worker::current();
    std::sig_atomic_t const before = worker == nullptr ? 0 : worker->inside;
    if (worker != nullptr)
    {
        worker->inside = 1;
    }
    report({"undefined", words, Place{location.file, static_cast<int>(location.line)}, code});
    if (worker != nullptr)
    {
        worker->inside = before;
    }
}

void overflow(Typed& data, Value left, char const* operation, Value right, void const* code)
{
    say(data.location,
        "signed integer overflow: " + text(*data.type, left) + " " + operation + " " + text(*data.type, right) +
            " does not fit into " + data.type->name,
        code);
}

std::string shift(TwoTypes const& data, Value left, Value right)
{
    std::string const by = text(*data.right, right);
    unsigned int const bits = 1U << (data.left->info >> 1U);
    if (isNegative(*data.right, right))
    {
        return "a shift by " + by + ", which is negative";
    }
    if (right >= bits)
    {
        return "a shift by " + by + " of a " + std::to_string(bits) + "-bit " + data.left->name;
    }
    std::string const value = text(*data.left, left);
    return isNegative(*data.left, left)
               ? "a left shift of " + value + ", which is negative"
               : "a left shift of " + value + " by " + by + " does not fit into " + data.left->name;
}

std::string mismatch(Mismatch const& data, Value pointer)
{
    static constexpr char const* kACCESSES[] = {"a read of",           "a write of",      "a reference to",
                                                "a member of",         "a call of",       "a constructor call of",
                                                "a cast to",           "a cast to",       "a cast to a base of",
                                                "a cast to a base of", "a conversion of", "a use of"};
    std::string const access = data.access < std::size(kACCESSES) ? kACCESSES[data.access] : "an access to";
    std::string const of = access + " type " + data.type->name + " through ";
    Value const alignment = Value{1} << data.logAlignment;
    if (pointer == 0)
    {
        return of + "a null pointer";
    }
    if ((pointer & (alignment - 1)) != 0)
    {
        return of + "the misaligned address " + hex(pointer) + ", which is not a multiple of " +
               std::to_string(alignment);
    }
    return of + "the address " + hex(pointer) + ", where there is not enough room for it";
}

} // namespace

} // namespace v2

} // namespace pluginkit_cpu

using namespace pluginkit_cpu;

#define PLUGINKIT_CPU_CALLER __builtin_return_address(0)

extern "C"
{
    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_add_overflow(Typed* data, Value left, Value right)
    {
        overflow(*data, left, "+", right, PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_sub_overflow(Typed* data, Value left, Value right)
    {
        overflow(*data, left, "-", right, PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_mul_overflow(Typed* data, Value left, Value right)
    {
        overflow(*data, left, "*", right, PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_negate_overflow(Typed* data, Value old)
    {
        say(data->location, "the negative of " + text(*data->type, old) + " does not fit into " + data->type->name,
            PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_divrem_overflow(Typed* data, Value left, Value right)
    {
        bool const minusOne = isNegative(*data->type, right);
        say(data->location,
            minusOne ? text(*data->type, left) + " divided by -1 does not fit into " + data->type->name
                     : std::string{"a division by zero"},
            PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_shift_out_of_bounds(TwoTypes* data, Value left, Value right)
    {
        say(data->location, shift(*data, left, right), PLUGINKIT_CPU_CALLER);
    }

    // `left` is the number's type and `right` the one that it is converted to.
    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_float_cast_overflow(TwoTypes* data, Value number)
    {
        say(data->location,
            floatText(*data->left, number) + " of type " + data->left->name + " does not fit into " + data->right->name,
            PLUGINKIT_CPU_CALLER);
    }

    // `right` is the index's type here.
    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_out_of_bounds(TwoTypes* data, Value index)
    {
        say(data->location, "index " + text(*data->right, index) + " of an array of type " + data->left->name,
            PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_type_mismatch_v1(Mismatch* data, Value pointer)
    {
        say(data->location, mismatch(*data, pointer), PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_pointer_overflow(Location* location, Value base, Value result)
    {
        say(*location, "pointer arithmetic beyond memory: from " + hex(base) + " to " + hex(result),
            PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_load_invalid_value(Typed* data, Value value)
    {
        say(data->location,
            "a " + std::string{data->type->name} + " has the value " + text(*data->type, value) +
                ", which is not one of that type",
            PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_vla_bound_not_positive(Typed* data, Value bound)
    {
        say(data->location, "an array of " + text(*data->type, bound) + " elements", PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_invalid_builtin(Builtin* data)
    {
        say(data->location, "the count of leading or trailing zeros of 0", PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_nonnull_arg(Argument* data)
    {
        say(data->location, "argument " + std::to_string(data->number) + " is null, and must not be",
            PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_nonnull_return_v1(Location* /*attribute*/, Location* location)
    {
        say(*location, "a function returns null that must not", PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __ubsan_handle_alignment_assumption(Typed* data, Value pointer, Value alignment,
                                                                  Value /*offset*/)
    {
        say(data->location, "the address " + hex(pointer) + " is not a multiple of " + std::to_string(alignment),
            PLUGINKIT_CPU_CALLER);
    }

    // After these two the code has no way to go on.
    [[noreturn]] PLUGINKIT_CPU_HIDDEN void __ubsan_handle_builtin_unreachable(Location* location)
    {
        say(*location, "the program reaches __builtin_unreachable()", PLUGINKIT_CPU_CALLER);
        std::abort();
    }

    [[noreturn]] PLUGINKIT_CPU_HIDDEN void __ubsan_handle_missing_return(Location* location)
    {
        say(*location, "a function that returns a value ends without a return", PLUGINKIT_CPU_CALLER);
        std::abort();
    }
}
