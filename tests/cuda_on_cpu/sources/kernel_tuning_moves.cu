// Launches of the headers that move and choose elements, with other values than the usual ones.
#include <pluginkit/kernels/pad.cuh>
#include <pluginkit/kernels/pooling.cuh>
#include <pluginkit/kernels/select.cuh>
#include <pluginkit/kernels/topk.cuh>
#include <pluginkit/kernels/transpose.cuh>

#include <cstdint>
#include <type_traits>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace kernels = pluginkit::kernels;

namespace
{

struct Few : kernels::UsualValues
{
    static constexpr int32_t kThreads = 64;
    static constexpr int32_t kPacks = 4;
};

//! No power of two, and packs that don't fill a row.
struct Odd : kernels::UsualValues
{
    static constexpr int32_t kThreads = 96;
    static constexpr int32_t kPacks = 3;
};

//! More than a block of a pad makes.
struct Many : kernels::UsualValues
{
    static constexpr int32_t kThreads = 1024;
    static constexpr int32_t kPacks = 16;
};

struct ManyThreads : kernels::UsualValues
{
    static constexpr int32_t kThreads = 512;
};

struct OnePack : kernels::UsualValues
{
    static constexpr int32_t kPacks = 1;
};

kernels::Tuned<kernels::UsualValues, Few, Odd, Many, ManyThreads, OnePack> set(int32_t number)
{
    return {nullptr, number};
}

template <typename Values>
using Pad = kernels::detail::PadValues<Values>;
static_assert(Pad<kernels::UsualValues>::kThreads == 128 && Pad<kernels::UsualValues>::kTurns == 8);
static_assert(Pad<Few>::kThreads == 64 && Pad<Few>::kTurns == 16 && Pad<Few>::kBlocks == 12);
static_assert(Pad<Many>::kThreads == 512 && Pad<Many>::kTurns == 4 && Pad<Many>::kBlocks == 3);

//! How a kernel was launched, as a number: so a test sees whether values are taken.
__device__ float launched()
{
    return static_cast<float>(gridDim.x * 2048U + blockDim.x);
}

//! In place of moved elements.
struct Launched
{
    __device__ void operator()(float& element) const
    {
        element = launched();
    }

    __device__ void operator()(uint32_t& element) const
    {
        element = __float_as_uint(launched());
    }

    template <typename T>
    __device__ void operator()(kernels::Pack<T>& pack) const
    {
        for (uint32_t& word : pack.words)
        {
            word = __float_as_uint(launched());
        }
    }
};

struct Largest : kernels::MaximumFold
{
    __device__ float result(float folded, float /*count*/) const
    {
        return folded;
    }
};

struct Mean : kernels::SumFold
{
    __device__ float result(float folded, float count) const
    {
        return folded / count;
    }
};

struct LaunchedPooling : kernels::MaximumFold
{
    __device__ float result(float /*folded*/, float /*count*/) const
    {
        return launched();
    }
};

struct Kept
{
    __device__ float operator()(float x, bool among) const
    {
        return among ? x : 0.5F;
    }
};

struct LaunchedRow
{
    __device__ float operator()(float /*x*/, bool /*among*/) const
    {
        return launched();
    }
};

struct Above
{
    __device__ bool operator()(float x) const
    {
        return x > 9.0F;
    }
};

struct IsNumberOfThreads
{
    __device__ bool operator()(float x) const
    {
        return x == static_cast<float>(blockDim.x);
    }
};

template <typename T, typename Layer>
int pooled(int32_t number, void const* x, void* y, int64_t const* images, int32_t size, Layer layer)
{
    return kernels::launchPooling(set(number), {images[0], images[1], images[2], images[3], images[4]},
                                  {size, 2, size == 3 ? 1 : 0}, layer, kernels::output<T>(y, 0.5F),
                                  kernels::input<T>(x, 0.7F));
}

} // namespace

EXPORT int transposedInt8(int32_t number, void const* x, void* y, int64_t count, int64_t rows, int64_t columns,
                          float scale)
{
    return kernels::launchTranspose(set(number), count, rows, columns, kernels::output<int8_t>(y, scale),
                                    kernels::input<int8_t>(x, 0.5F));
}

EXPORT int transposedFloat(int32_t number, void const* x, void* y, int64_t count, int64_t rows, int64_t columns)
{
    return kernels::launchTranspose<float>(set(number), count, rows, columns, x, y);
}

EXPORT int transposedLaunch(int32_t number, uint32_t const* x, uint32_t* y, int64_t rows, int64_t columns)
{
    return kernels::launchWith(
        set(number), [&](cudaStream_t on, auto values)
        { return kernels::detail::transpose<decltype(values)>(on, 1, rows, columns, Launched{}, x, y); });
}

EXPORT int paddedInt8(int32_t number, void const* x, void* y, int32_t rank, int64_t const* xDims, int64_t const* before,
                      int64_t const* yDims, int32_t mode, float scale)
{
    return kernels::launchPad(set(number), rank, xDims, before, yDims, {static_cast<kernels::PadMode>(mode), 5.0F},
                              kernels::output<int8_t>(y, scale), kernels::input<int8_t>(x, 0.5F));
}

EXPORT int paddedFloat(int32_t number, void const* x, void* y, int32_t rank, int64_t const* xDims,
                       int64_t const* before, int64_t const* yDims, int32_t mode)
{
    return kernels::launchPad(set(number), rank, xDims, before, yDims, {static_cast<kernels::PadMode>(mode), 5.0F},
                              kernels::output<float>(y), kernels::input<float>(x));
}

//! Padded with nothing.
EXPORT int paddedLaunch(int32_t number, float const* x, float* y, int64_t count)
{
    int64_t const none = 0;
    auto const shape = kernels::detail::padShape(1, &count, &none, &count);
    return kernels::launchWith(set(number),
                               [&](cudaStream_t on, auto values)
                               {
                                   return kernels::detail::padBy<decltype(values)>(
                                       on, shape, count, count, Launched{}, {kernels::PadMode::kEdge, 0.0F},
                                       kernels::output<float>(y), kernels::input<float>(x));
                               });
}

EXPORT int largestInt8(int32_t number, void const* x, void* y, int64_t const* images, int32_t size)
{
    return pooled<int8_t>(number, x, y, images, size, Largest{});
}

EXPORT int meanInt8(int32_t number, void const* x, void* y, int64_t const* images, int32_t size)
{
    return pooled<int8_t>(number, x, y, images, size, Mean{});
}

EXPORT int meanFloat(int32_t number, void const* x, void* y, int64_t const* images, int32_t size)
{
    return pooled<float>(number, x, y, images, size, Mean{});
}

EXPORT int poolingLaunch(int32_t number, void const* x, void* y, int64_t const* images, int32_t size)
{
    return pooled<float>(number, x, y, images, size, LaunchedPooling{});
}

EXPORT int selected(int32_t number, float const* x, int32_t rank, int64_t const* dims, int64_t* indices, int32_t* found,
                    void* workspace)
{
    return kernels::launchSelect(set(number), rank, dims, Above{}, kernels::input<float>(x), indices, found, workspace);
}

EXPORT int selectedByThreads(int32_t number, float const* x, int64_t count, int64_t* indices, int32_t* found,
                             void* workspace)
{
    return kernels::launchSelect(set(number), 1, &count, IsNumberOfThreads{}, kernels::input<float>(x), indices, found,
                                 workspace);
}

EXPORT int64_t workspaceOf(int64_t count)
{
    return kernels::selectWorkspace(count);
}

EXPORT int keptInt8(int32_t number, void const* x, void* y, int64_t rows, int64_t columns, int64_t k)
{
    return kernels::launchTopK(set(number), rows, columns, k, Kept{}, kernels::output<int8_t>(y, 0.5F),
                               kernels::input<int8_t>(x, 0.5F));
}

EXPORT int keptFloat(int32_t number, void const* x, void* y, int64_t rows, int64_t columns, int64_t k)
{
    return kernels::launchTopK(set(number), rows, columns, k, Kept{}, kernels::output<float>(y),
                               kernels::input<float>(x));
}

EXPORT int rowsLaunch(int32_t number, void const* x, void* y, int64_t rows, int64_t columns)
{
    return kernels::launchTopK(set(number), rows, columns, 2, LaunchedRow{}, kernels::output<float>(y),
                               kernels::input<float>(x));
}
