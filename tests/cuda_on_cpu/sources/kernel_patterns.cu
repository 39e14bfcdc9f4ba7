// The patterns of pluginkit/kernels, called with addresses of device memory.
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/functions.cuh>
#include <pluginkit/kernels/gather.cuh>
#include <pluginkit/kernels/scan.cuh>
#include <pluginkit/kernels/transpose.cuh>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace kernels = pluginkit::kernels;

//! Scales of INT8 tensors; other types have none.
constexpr float kScale = 0.03F;

//! Two results of different types.
struct Two
{
    __device__ kernels::Results<2> operator()(float x, float row, float one) const
    {
        return {{x + row * one, x > row ? 1.0F : 0.0F}};
    }
};

template <typename T>
int elementwise(void const* x, void const* row, void const* one, void* y, void* flags, int count, int columns)
{
    return kernels::launchElementwise(
        nullptr, count, Two{}, kernels::outputs(kernels::output<T>(y, kScale), kernels::output<int32_t>(flags)),
        kernels::input<T>(x, kScale), kernels::row<T>(row, columns, kScale), kernels::scalar<float>(one));
}

template <typename T>
int cumsum(void const* x, void* y, int rows, int columns)
{
    return kernels::launchScan(nullptr, rows, columns, kernels::Sum{}, kernels::output<T>(y, kScale),
                               kernels::input<T>(x, kScale));
}

//! Rows that several blocks share: `workspace` has room for scanWorkspace(rows, columns) bytes.
template <typename T>
int sharedCumsum(void const* x, void* y, void* workspace, int rows, int columns)
{
    return kernels::launchScan(nullptr, rows, columns, kernels::Sum{}, kernels::output<T>(y, kScale),
                               kernels::input<T>(x, kScale), workspace);
}

//! Scans one after another, each of what the one before has written, without a wait of the host; the last in y.
EXPORT int cumsumOfCumsums(void const* x, void* y, void* z, int rows, int columns, int turns)
{
    int error = cumsum<float>(x, y, rows, columns);
    for (int turn = 0; turn < turns && error == 0; ++turn)
    {
        error = cumsum<float>(y, z, rows, columns);
        error = error == 0 ? cumsum<float>(z, y, rows, columns) : error;
    }
    return error;
}

EXPORT int64_t scanWorkspace(int rows, int columns)
{
    return kernels::scanWorkspace(rows, columns);
}

#define OF_TYPE(Name, T)                                                                                               \
    EXPORT int elementwise##Name(void const* x, void const* row, void const* one, void* y, void* flags, int count,     \
                                 int columns)                                                                          \
    {                                                                                                                  \
        return elementwise<T>(x, row, one, y, flags, count, columns);                                                  \
    }                                                                                                                  \
    EXPORT int cumsum##Name(void const* x, void* y, int rows, int columns)                                             \
    {                                                                                                                  \
        return cumsum<T>(x, y, rows, columns);                                                                         \
    }                                                                                                                  \
    EXPORT int sharedCumsum##Name(void const* x, void* y, void* workspace, int rows, int columns)                      \
    {                                                                                                                  \
        return sharedCumsum<T>(x, y, workspace, rows, columns);                                                        \
    }

OF_TYPE(Float, float)
OF_TYPE(Half, __half)
OF_TYPE(Int8, int8_t)

EXPORT int transpose(void const* x, void* y, int count, int rows, int columns, int bytes)
{
    switch (bytes)
    {
    case 1:
        return kernels::launchTranspose<int8_t>(nullptr, count, rows, columns, x, y);
    case 2:
        return kernels::launchTranspose<__half>(nullptr, count, rows, columns, x, y);
    default:
        return kernels::launchTranspose<float>(nullptr, count, rows, columns, x, y);
    }
}

EXPORT int transposeInt8(void const* x, void* y, int count, int rows, int columns, float xScale, float yScale)
{
    return kernels::launchTranspose(nullptr, count, rows, columns, kernels::output<int8_t>(y, yScale),
                                    kernels::input<int8_t>(x, xScale));
}

EXPORT int gather(int64_t const* indices, void const* table, void* y, int count, int rowBytes, int tableRows)
{
    return kernels::launchGatherRows(nullptr, count, rowBytes, tableRows, indices, table, y);
}

EXPORT int gatherInt8(int32_t const* indices, void const* table, void* y, int count, int columns, int tableRows,
                      float tableScale, float yScale)
{
    return kernels::launchGatherRows(nullptr, count, columns, tableRows, indices, kernels::output<int8_t>(y, yScale),
                                     kernels::input<int8_t>(table, tableScale));
}

//! e^(x - most).
struct Below
{
    __device__ float operator()(float x, float most) const
    {
        return kernels::ExpBelow{most}(x);
    }
};

EXPORT int expBelow(void const* x, void const* most, void* y, int count)
{
    return kernels::launchElementwise(nullptr, count, Below{}, kernels::output<float>(y), kernels::input<float>(x),
                                      kernels::input<float>(most));
}

struct Fast
{
    __device__ kernels::Results<4> operator()(float x) const
    {
        return {{kernels::fastTanh(x), kernels::fastGelu(x), kernels::fastSilu(x), kernels::fastExp(x)}};
    }
};

EXPORT int functions(void const* x, void* tanh, void* gelu, void* silu, void* exp, int count)
{
    return kernels::launchElementwise(nullptr, count, Fast{},
                                      kernels::outputs(kernels::output<float>(tanh), kernels::output<float>(gelu),
                                                       kernels::output<float>(silu), kernels::output<float>(exp)),
                                      kernels::input<float>(x));
}
