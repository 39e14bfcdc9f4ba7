#include "litter.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <vector>

namespace pluginkit
{

namespace
{

//! Leaves a byte in the stack below its caller, where the next call's variables begin.
__attribute__((noinline)) void fillStack(int fill)
{
    constexpr std::size_t kBytes = std::size_t{16} * 1024;
    std::array<unsigned char volatile, kBytes> below;
    for (std::size_t i = 0; i < kBytes; ++i)
    {
        below[i] = static_cast<unsigned char>(fill);
    }
}

//! Leaves a byte in what malloc gives next: of small blocks glibc keeps some apart, which M_PERTURB doesn't reach.
void fillHeap(int fill)
{
    constexpr std::size_t kLargest = 1040;
    constexpr std::size_t kStep = 16;
    constexpr int kKept = 7;
    std::vector<void*> blocks;
    for (std::size_t size = kStep; size <= kLargest; size += kStep)
    {
        for (int i = 0; i < kKept; ++i)
        {
            if (void* const block = std::malloc(size - sizeof(std::size_t)); block != nullptr)
            {
                blocks.push_back(std::memset(block, fill, size - sizeof(std::size_t)));
            }
        }
    }
    for (void* const block : blocks)
    {
        std::free(block);
    }
}

} // namespace

Littered::Littered(int fill)
{
    // glibc writes the complement of it into what it allocates.
    ::mallopt(M_PERTURB, ~fill & 0xFF);
    fillHeap(fill);
    fillStack(fill);
}

Littered::~Littered()
{
    ::mallopt(M_PERTURB, 0);
}

} // namespace pluginkit
