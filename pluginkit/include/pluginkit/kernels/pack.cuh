//! Elements of a tensor 16 bytes at a time: the widest load and store that a thread has, and what the memory's full
//! speed takes on every GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace pluginkit::kernels
{

constexpr uint32_t kPackBytes = 16;
constexpr int32_t kPackWords = 4;

//! 16 bytes of a tensor of T, in registers. `Conversion` (numbers.cuh) knows what they stand for.
template <typename T>
struct Pack
{
    static_assert(sizeof(T) <= kPackBytes && kPackBytes % sizeof(T) == 0, "elements must fill a pack");
    static constexpr int32_t kSize = static_cast<int32_t>(kPackBytes / sizeof(T)); //!< elements of a pack

    uint32_t words[kPackWords];
};

//! Whether packs may begin at all of these addresses of device memory; for the host, before a launch.
//! TensorRT promises no alignment of a tensor's address, so that a kernel of packs needs another way beside it.
template <typename... Pointers>
bool canPack(Pointers const*... tensors) noexcept
{
    return ((reinterpret_cast<uintptr_t>(tensors) % kPackBytes == 0) && ...);
}

//! Pack `index` of a tensor for which `canPack` holds: its elements from index * Pack<T>::kSize on.
template <typename T>
__device__ Pack<T> loadPack(T const* tensor, int64_t index)
{
    uint4 const bits = reinterpret_cast<uint4 const*>(tensor)[index];
    return {{bits.x, bits.y, bits.z, bits.w}};
}

template <typename T>
__device__ void storePack(T* tensor, int64_t index, Pack<T> const& pack)
{
    reinterpret_cast<uint4*>(tensor)[index] = make_uint4(pack.words[0], pack.words[1], pack.words[2], pack.words[3]);
}

//! How many packs Count elements need: 4 or 8 bytes are the beginning of one.
template <int32_t Count, typename T>
inline constexpr int32_t kPacksOf = Count <= Pack<T>::kSize ? 1 : Count / Pack<T>::kSize;

//! Chunk `chunk` of a tensor: Count elements, from chunk * Count on; whole packs, or the beginning of one.
template <int32_t Count, typename T>
__device__ void loadPacks(T const* tensor, int64_t chunk, Pack<T>* packs)
{
    constexpr int32_t kBytes = Count * static_cast<int32_t>(sizeof(T));
    static_assert(kBytes % static_cast<int32_t>(kPackBytes) == 0 || kBytes == 8 || kBytes == 4,
                  "a chunk is made of whole packs, or of 4 or 8 bytes");
    if constexpr (kBytes == 4)
    {
        packs[0] = {{reinterpret_cast<uint32_t const*>(tensor)[chunk], 0, 0, 0}};
    }
    else if constexpr (kBytes == 8)
    {
        auto const bits = reinterpret_cast<uint2 const*>(tensor)[chunk];
        packs[0].words[0] = bits.x;
        packs[0].words[1] = bits.y;
        packs[0].words[2] = 0;
        packs[0].words[3] = 0;
    }
    else
    {
#pragma unroll
        for (int32_t k = 0; k < kPacksOf<Count, T>; ++k)
        {
            packs[k] = loadPack(tensor, chunk * kPacksOf<Count, T> + k);
        }
    }
}

//! The same, written.
template <int32_t Count, typename T>
__device__ void storePacks(T* tensor, int64_t chunk, Pack<T> const* packs)
{
    constexpr int32_t kBytes = Count * static_cast<int32_t>(sizeof(T));
    if constexpr (kBytes == 4)
    {
        reinterpret_cast<uint32_t*>(tensor)[chunk] = packs[0].words[0];
    }
    else if constexpr (kBytes == 8)
    {
        reinterpret_cast<uint2*>(tensor)[chunk] = make_uint2(packs[0].words[0], packs[0].words[1]);
    }
    else
    {
#pragma unroll
        for (int32_t k = 0; k < kPacksOf<Count, T>; ++k)
        {
            storePack(tensor, chunk * kPacksOf<Count, T> + k, packs[k]);
        }
    }
}

} // namespace pluginkit::kernels
