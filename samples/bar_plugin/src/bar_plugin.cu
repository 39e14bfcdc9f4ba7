#include "bar_plugin_signature.h"

#include <cstdint>

namespace bar_plugin
{
namespace
{

constexpr uint32_t kThreads = 256;

//! One pass: each word of the inputs is read once, one a thread. Along the first dimension, joined is a and then b as
//! they lie in memory.
template <typename Word>
__global__ void barPluginKernel(Word const* a, Word const* b, Word* copy, Word* joined, size_t wordsA, size_t wordsB)
{
    size_t const i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < wordsA)
    {
        joined[i] = a[i];
    }
    else if (i < wordsA + wordsB)
    {
        Word const word = b[i - wordsA];
        copy[i - wordsA] = word;
        joined[i] = word;
    }
}

//! Whether all the memory that is touched begins and ends where a Word can. joined's second part begins behind a.
template <typename Word>
bool fits(Run const& run) noexcept
{
    auto const at = [](void const* memory) { return reinterpret_cast<uintptr_t>(memory); };
    auto const sizes = static_cast<uintptr_t>(run.in.a.bytes | run.in.b.bytes);
    return (at(run.in.a.data) | at(run.in.b.data) | at(run.out.copy.data) | at(run.out.joined.data) | sizes) %
               sizeof(Word) ==
           0;
}

template <typename Word>
void start(Run const& run) noexcept
{
    size_t const wordsA = static_cast<size_t>(run.in.a.bytes) / sizeof(Word);
    size_t const wordsB = static_cast<size_t>(run.in.b.bytes) / sizeof(Word);
    // One word a thread: a loop over fewer blocks was 7 % slower on an H200 (benchmarks/notes.md).
    auto const blocks = static_cast<uint32_t>((wordsA + wordsB + kThreads - 1) / kThreads);
    barPluginKernel<<<blocks, kThreads, 0, run.stream>>>(
        static_cast<Word const*>(run.in.a.data), static_cast<Word const*>(run.in.b.data),
        static_cast<Word*>(run.out.copy.data), static_cast<Word*>(run.out.joined.data), wordsA, wordsB);
}

} // namespace

//! The layer moves bytes, padded lanes included, so it does not ask what they stand for: the first dimension is the
//! outermost in each format, and joining along it is joining memory.
cudaError_t launch(Run const& run) noexcept
{
    if (run.out.joined.bytes == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    // 16 bytes a thread is what fills a GPU's memory bus; the others are for sizes and addresses that are not a
    // multiple.
    if (fits<uint4>(run))
    {
        start<uint4>(run);
    }
    else if (fits<uint32_t>(run))
    {
        start<uint32_t>(run);
    }
    else
    {
        start<uint8_t>(run);
    }
    return cudaGetLastError();
}

} // namespace bar_plugin
