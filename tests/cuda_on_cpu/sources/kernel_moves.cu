// Padding, windows, selected and largest elements on pluginkit/kernels, called with addresses of device memory.
#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/pad.cuh>
#include <pluginkit/kernels/select.cuh>
#include <pluginkit/kernels/topk.cuh>
#include <pluginkit/kernels/windows.cuh>

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

//! How: 0 as the tensor's size has it; 1 and 2 by two kernels for whatever GPU, with one or four tiles a block; 3 by
//! one kernel, as tensors that would take a test too long; 4 as the size has it, of a workspace that isn't said.
template <typename T>
int select(void const* x, int rank, int64_t const* dims, int64_t* indices, int32_t* found, void* workspace,
           int predicate, int how)
{
    namespace detail = kernels::detail;
    auto const in = kernels::input<T>(x);
    Selected const selected{predicate};
    detail::SelectShape shape{rank, {}};
    int64_t count = 1;
    for (int d = 0; d < rank; ++d)
    {
        shape.sizes[d] = kernels::divisorOf(dims[d]);
        count *= dims[d];
    }
    if (how == 0 || how == 4)
    {
        return kernels::launchSelect(nullptr, rank, dims, selected, in, indices, found, workspace,
                                     how == 0 ? kernels::selectWorkspace(count) : 0);
    }
    constexpr int32_t kSize = kernels::Pack<T>::kSize;
    if (!kernels::canPack(x))
    {
        return detail::selectInSteps<1, 1>(nullptr, shape, count, selected, in, indices, found, workspace);
    }
    switch (how)
    {
    case 1:
        return detail::selectInSteps<kSize, 1>(nullptr, shape, count, selected, in, indices, found, workspace);
    case 2:
        return detail::selectInSteps<kSize, 4>(nullptr, shape, count, selected, in, indices, found, workspace);
    default:
        return detail::selectAtOnce<kSize>(nullptr, shape, count, selected, in, indices, found, workspace,
                                           detail::kOnceThreads)
                   ? 0
                   : -1;
    }
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
        return layer == 0   ? kernels::launchWindows(nullptr, of, by, Largest{}, out, in)
               : layer == 1 ? kernels::launchWindows(nullptr, of, by, Mean{}, out, in)
                            : kernels::launchWindows(nullptr, of, by, Smallest{}, out, in);
    }
#endif
    static_cast<void>(layer);
    return kernels::launchWindows(nullptr, of, by, Squares{}, out, in);
}

#define OF_TYPE(Name, T)                                                                                               \
    EXPORT int pad##Name(void const* x, void* y, int rank, int64_t const* xDims, int64_t const* before,                \
                         int64_t const* yDims, int mode, float value, float xScale, float yScale)                      \
    {                                                                                                                  \
        return pad<T>(x, y, rank, xDims, before, yDims, mode, value, xScale, yScale);                                  \
    }                                                                                                                  \
    EXPORT int select##Name(void const* x, int rank, int64_t const* dims, int64_t* indices, int32_t* found,            \
                            void* workspace, int predicate, int how)                                                   \
    {                                                                                                                  \
        return select<T>(x, rank, dims, indices, found, workspace, predicate, how);                                    \
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
