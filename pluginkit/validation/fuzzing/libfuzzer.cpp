// Linked with clang's libFuzzer into one library, which is loaded before a plugin's library that has counters of its
// edges: `libfuzzer.py` calls it. Inputs and mutations are Python's; which inputs it goes on with is libFuzzer's
// choice.
#include <csetjmp>
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerRunDriver(int* argc, char*** argv, int (*callback)(std::uint8_t const*, std::size_t));
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace
{

//! Whether it was the last.
using Callback = int (*)(std::uint8_t const* data, std::size_t size);
//! Changes `data` in its place; the new size, of at most `most`.
using Mutator = std::size_t (*)(std::uint8_t* data, std::size_t size, std::size_t most, unsigned int seed);

Callback gCallback{nullptr};
Mutator gMutator{nullptr};
std::jmp_buf gEnd;

int once(std::uint8_t const* data, std::size_t size)
{
    if (gCallback(data, size) != 0)
    {
        // libFuzzer would end the process, without an answer.
        std::longjmp(gEnd, 1);
    }
    return 0;
}

} // namespace

#define PLUGINKIT_EXPORT extern "C" __attribute__((visibility("default")))

PLUGINKIT_EXPORT std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                                     unsigned int seed)
{
    return gMutator(data, size, most, seed);
}

//! Once a process: libFuzzer can't begin again. What it has taken stays taken.
PLUGINKIT_EXPORT void pluginkit_fuzz(int argc, char** argv, Callback callback, Mutator mutator)
{
    gCallback = callback;
    gMutator = mutator;
    if (setjmp(gEnd) == 0)
    {
        LLVMFuzzerRunDriver(&argc, &argv, once);
    }
}

//! libFuzzer's own mutations, which know the numbers that the code has compared; only while pluginkit_fuzz runs.
PLUGINKIT_EXPORT std::size_t pluginkit_mutate(std::uint8_t* data, std::size_t size, std::size_t most)
{
    return LLVMFuzzerMutate(data, size, most);
}
