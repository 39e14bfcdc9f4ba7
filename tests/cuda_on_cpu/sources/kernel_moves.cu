// Padding, pooling, selected and largest elements on pluginkit/kernels, called with addresses of device memory.
#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/pad.cuh>
#include <pluginkit/kernels/pooling.cuh>
#include <pluginkit/kernels/select.cuh>
#include <pluginkit/kernels/topk.cuh>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace kernels = pluginkit::kernels;

template <typename T>
int pad(void const* x, void* y, int rank, int64_t const* xDims, int64_t const* before, int64_t const* yDims, int mode,
        float value, float xScale, float yScale)
{
    return kernels::launchPad(nullptr, rank, xDims, before, yDims, {static_cast<kernels::PadMode>(mode), value},
                              kernels::output<T>(y, yScale), kernels::input<T>(x, xScale));
}

//! PREDICATES of test_kernel_moves.py.
struct Selected
{
    int predicate;

    __device__ bool operator()(float x) const
    {
        switch (predicate)
        {
        case 0:
            return x > 0.0F;
        case 1:
            return x == 3.0F || x == -2.0F;
        case 2:
            return x * x <= 4.0F;
        case 3:
            return x < 1000.0F;
        default:
            return x > 1000.0F;
        }
    }
};

template <typename T>
int select(void const* x, int rank, int64_t const* dims, int64_t* indices, int32_t* found, void* workspace,
           int64_t workspaceBytes, int predicate)
{
    return kernels::launchSelect(nullptr, rank, dims, Selected{predicate}, kernels::input<T>(x), indices, found,
                                 workspace, workspaceBytes);
}

//! One of the k largest elements as it is, another as its negative.
struct Signed
{
    __device__ float operator()(float x, bool among) const
    {
        return among ? x : -x;
    }
};

struct Mask
{
    __device__ float operator()(float /*x*/, bool among) const
    {
        return among ? 1.0F : 0.0F;
    }
};

template <typename T>
int topK(void const* x, void* y, void* mask, int64_t rows, int64_t columns, int64_t k)
{
    auto const in = kernels::input<T>(x);
    int const done = kernels::launchTopK(nullptr, rows, columns, k, Signed{}, kernels::output<T>(y), in);
    return done != 0 ? done : kernels::launchTopK(nullptr, rows, columns, k, Mask{}, kernels::output<int8_t>(mask), in);
}

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

struct Smallest : kernels::MinimumFold
{
    __device__ float result(float folded, float /*count*/) const
    {
        return folded;
    }
};

//! A fold whose arguments can't be exchanged.
struct Squares
{
    static constexpr float kIdentity = 0.0F;

    __device__ float operator()(float before, float element) const
    {
        return before + element * element;
    }

    __device__ float result(float folded, float /*count*/) const
    {
        return folded;
    }
};

template <typename T>
int pool(void const* x, void* y, int64_t const* images, int32_t const* window, int layer, float scale)
{
    kernels::Images const of{images[0], images[1], images[2], images[3], images[4]};
    kernels::Window const by{window[0], window[1], window[2]};
    auto const out = kernels::output<T>(y, scale);
    auto const in = kernels::input<T>(x);
#ifndef ONE_TYPE
    if (layer != 2)
    {
        return layer == 0   ? kernels::launchPooling(nullptr, of, by, Largest{}, out, in)
               : layer == 1 ? kernels::launchPooling(nullptr, of, by, Mean{}, out, in)
                            : kernels::launchPooling(nullptr, of, by, Smallest{}, out, in);
    }
#endif
    static_cast<void>(layer);
    return kernels::launchPooling(nullptr, of, by, Squares{}, out, in);
}

#define OF_TYPE(Name, T)                                                                                               \
    EXPORT int pad##Name(void const* x, void* y, int rank, int64_t const* xDims, int64_t const* before,                \
                         int64_t const* yDims, int mode, float value, float xScale, float yScale)                      \
    {                                                                                                                  \
        return pad<T>(x, y, rank, xDims, before, yDims, mode, value, xScale, yScale);                                  \
    }                                                                                                                  \
    EXPORT int select##Name(void const* x, int rank, int64_t const* dims, int64_t* indices, int32_t* found,            \
                            void* workspace, int64_t workspaceBytes, int predicate)                                    \
    {                                                                                                                  \
        return select<T>(x, rank, dims, indices, found, workspace, workspaceBytes, predicate);                         \
    }                                                                                                                  \
    EXPORT int topK##Name(void const* x, void* y, void* mask, int64_t rows, int64_t columns, int64_t k)                \
    {                                                                                                                  \
        return topK<T>(x, y, mask, rows, columns, k);                                                                  \
    }                                                                                                                  \
    EXPORT int pool##Name(void const* x, void* y, int64_t const* images, int32_t const* window, int layer,             \
                          float scale)                                                                                 \
    {                                                                                                                  \
        return pool<T>(x, y, images, window, layer, scale);                                                            \
    }

OF_TYPE(Half, __half)
#ifndef ONE_TYPE
EXPORT int topKBfloat16(void const* x, void* y, void* mask, int64_t rows, int64_t columns, int64_t k)
{
    return topK<__nv_bfloat16>(x, y, mask, rows, columns, k);
}
OF_TYPE(Float, float)
OF_TYPE(Int8, int8_t)
#endif

EXPORT int64_t workspaceOf(int64_t count)
{
    return kernels::selectWorkspace(count);
}
