//! What a predicate holds for, kept in registers: a few packs a thread, of tensors that the GPU looks at in one go; for
//! select.cuh.
#pragma once

#include <pluginkit/kernels/row_inputs.cuh>
#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/select_marks.cuh>
#include <pluginkit/kernels/select_shape.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

constexpr int32_t kHeldLanes = static_cast<int32_t>(kLanes);

//! A warp's elements: a lane has Size neighbouring ones in each turn, and the next lane the next ones.
template <int32_t Size, int32_t Turns>
struct Held
{
    static constexpr int32_t kOfTurn = Size * kHeldLanes;
    static constexpr int32_t kElements = Turns * kOfTurn;

    uint32_t marks[Turns]; //!< a bit for each element

    //! Loads the warp's elements, from pack `pack` on, of the tensor's `count`. All lanes must come here.
    template <typename Predicate, typename T>
    __device__ void look(Predicate const& predicate, Input<T> const& x, uint32_t count, uint32_t pack)
    {
        uint32_t const whole = count / Size;
        uint32_t const first = pack + threadIdx.x % kLanes;
        Elements<Size, T> loaded[Turns] = {};
#pragma unroll
        for (int32_t k = 0; k < Turns; ++k)
        {
            uint32_t const at = first + k * kLanes;
            if (at < whole)
            {
                loaded[k].load(x, Chunk<Size, true>{at, 0, 0});
            }
        }
        Marker<Size, Predicate, T> const marker{predicate, x.scale}; // made while the elements come
#pragma unroll
        for (int32_t k = 0; k < Turns; ++k)
        {
            marks[k] = first + k * kLanes < whole ? marker.marks(loaded[k]) : 0;
        }
        uint32_t const turn = (whole - first) / kLanes;
        if (whole * Size < count && whole >= first && (whole - first) % kLanes == 0 && turn < Turns)
        {
            Elements<Size, T> last = {}; // fewer than Size
            last.load(x, Chunk<Size, false>{whole, whole * Size, count});
            uint32_t const word = marker.marks(last) & ((1U << count % Size) - 1U);
#pragma unroll
            for (int32_t k = 0; k < Turns; ++k)
            {
                marks[k] = turn == static_cast<uint32_t>(k) ? word : marks[k];
            }
        }
    }

    __device__ int32_t number() const
    {
        int32_t sum = 0;
#pragma unroll
        for (int32_t k = 0; k < Turns; ++k)
        {
            sum += __popc(marks[k]);
        }
        return sum;
    }
};

//! How many of a warp's marks are before the lane's of each turn, and how many it has.
template <int32_t Size, int32_t Turns>
struct HeldRanks
{
    int32_t before[Turns];
    int32_t all = 0;

    __device__ explicit HeldRanks(Held<Size, Turns> const& held)
    {
        if constexpr (Turns == 1)
        {
            // The bits of the lanes' numbers, of which no exchange waits for another.
            auto const number = static_cast<uint32_t>(__popc(held.marks[0]));
            uint32_t const earlier = (1U << threadIdx.x % kLanes) - 1U;
            before[0] = 0;
#pragma unroll
            for (uint32_t bit = 0; 1U << bit <= Size; ++bit)
            {
                uint32_t const lanes = __ballot_sync(kWholeWarp, (number >> bit & 1U) != 0);
                before[0] += __popc(lanes & earlier) << bit;
                all += __popc(lanes) << bit;
            }
            return;
        }
        // Three turns' numbers in one: of a warp's 32 * 16 elements.
        constexpr int32_t kFields = 3;
        constexpr uint32_t kBits = 10;
        constexpr uint32_t kField = (1U << kBits) - 1U;
        static_assert(kHeldLanes * Size <= static_cast<int32_t>(kField));
#pragma unroll
        for (int32_t k = 0; k < Turns; k += kFields)
        {
            int32_t packed = 0;
#pragma unroll
            for (int32_t j = 0; j < kFields && k + j < Turns; ++j)
            {
                packed += __popc(held.marks[k + j]) << (kBits * j);
            }
            LaneCount const count{packed};
#pragma unroll
            for (int32_t j = 0; j < kFields && k + j < Turns; ++j)
            {
                before[k + j] = all + static_cast<int32_t>(static_cast<uint32_t>(count.before) >> (kBits * j) & kField);
                all += static_cast<int32_t>(static_cast<uint32_t>(count.all) >> (kBits * j) & kField);
            }
        }
    }
};

//! Writes the places of a warp's marks, whose first element is `first`, as numbers `begin` and on of `all`. Where there
//! are many, neighbouring lanes write neighbouring ones, by way of `list`, memory of the warp's for the elements of a
//! turn.
template <int32_t Size, int32_t Turns, typename Index>
__device__ void writeHeld(SelectShape const& shape, Held<Size, Turns>& held, HeldRanks<Size, Turns>& ranks,
                          int32_t first, int32_t begin, int64_t all, uint16_t* list, Index* indices)
{
    constexpr int32_t kListed = Held<Size, Turns>::kOfTurn;
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    if constexpr (Turns <= 2)
    {
        if (ranks.all <= kHeldLanes) // each lane writes its own ones sooner than they would be listed
        {
#pragma unroll
            for (int32_t k = 0; k < Turns; ++k)
            {
                for (; held.marks[k] != 0; held.marks[k] &= held.marks[k] - 1)
                {
                    int32_t const bit = __ffs(static_cast<int>(held.marks[k])) - 1;
                    writePlace(shape, first + (k * kHeldLanes + lane) * Size + bit, begin + ranks.before[k]++, all,
                               indices);
                }
            }
            return;
        }
    }
    for (int32_t written = 0; written < ranks.all; written += kListed)
    {
#pragma unroll
        for (int32_t k = 0; k < Turns; ++k)
        {
            for (; held.marks[k] != 0 && ranks.before[k] < written + kListed; ++ranks.before[k])
            {
                int32_t const bit = __ffs(static_cast<int>(held.marks[k])) - 1;
                list[ranks.before[k] - written] = static_cast<uint16_t>((k * kHeldLanes + lane) * Size + bit);
                held.marks[k] &= held.marks[k] - 1;
            }
        }
        __syncwarp();
        for (int32_t i = written + lane; i < min(ranks.all, written + kListed); i += kHeldLanes)
        {
            writePlace(shape, first + list[i - written], begin + i, all, indices);
        }
        __syncwarp(); // nobody lists the next before all are written
    }
}

} // namespace pluginkit::kernels::detail
