//! Parts of a tensor by way of shared memory: loaded and stored in packs, wherever they begin and end; for the other
//! headers.
#pragma once

#include <pluginkit/kernels/pack.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

//! Elements begin to end - 1, at least one, of a tensor of `count` that begins at a multiple of 16 bytes.
template <typename T>
struct Part
{
    static constexpr int32_t kSize = Pack<T>::kSize;

    int64_t begin;
    int64_t end;
    int64_t count;

    //! The first pack that has elements of it.
    __device__ int64_t firstPack() const
    {
        return begin / kSize;
    }

    //! Where element `begin` is in shared memory that `load` fills.
    __device__ int32_t offset() const
    {
        return static_cast<int32_t>(begin - firstPack() * kSize);
    }

    //! Copies the packs that have them into shared memory, by all threads of a block; a barrier must follow.
    __device__ void load(T const* tensor, uint4* memory) const
    {
        int64_t const first = firstPack();
        auto const packs = static_cast<uint32_t>((end - 1) / kSize + 1 - first);
        for (uint32_t p = threadIdx.x; p < packs; p += blockDim.x)
        {
            if ((first + p + 1) * kSize <= count)
            {
                memory[p] = reinterpret_cast<uint4 const*>(tensor)[first + p];
                continue;
            }
            memory[p] = make_uint4(0, 0, 0, 0); // for who reads words of it
            for (int64_t i = (first + p) * kSize; i < count; ++i)
            {
                reinterpret_cast<T*>(memory)[i - first * kSize] = tensor[i]; // behind the last whole pack
            }
        }
    }

    //! Copies the elements back, no others; behind a barrier.
    __device__ void store(T* tensor, uint4 const* memory) const
    {
        int64_t const first = firstPack();
        auto const packs = static_cast<uint32_t>((end - 1) / kSize + 1 - first);
        auto const wholeFrom = static_cast<uint32_t>(offset() == 0 ? 0 : 1);
        auto const wholeTo = static_cast<uint32_t>(end / kSize - first);
        for (uint32_t p = wholeFrom + threadIdx.x; p < wholeTo; p += blockDim.x)
        {
            reinterpret_cast<uint4*>(tensor)[first + p] = memory[p];
        }
        // A thread an element of the two packs that are other parts', too.
        auto const* const elements = reinterpret_cast<T const*>(memory);
        for (uint32_t e = threadIdx.x; e < 2 * static_cast<uint32_t>(kSize); e += blockDim.x)
        {
            bool const last = e >= static_cast<uint32_t>(kSize);
            uint32_t const p = last ? packs - 1 : 0;
            bool const whole = p >= wholeFrom && p < wholeTo;
            uint32_t const at = p * kSize + e % static_cast<uint32_t>(kSize);
            int64_t const i = first * kSize + at;
            if (!whole && (p == 0) != last && i >= begin && i < end)
            {
                tensor[i] = elements[at];
            }
        }
    }
};

} // namespace pluginkit::kernels::detail
