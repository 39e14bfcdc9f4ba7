//! cuDNN's pooling, softmax and activation: y = alpha f(x) + beta y, with beta 0 without reading y. Scalars are double
//! for tensors of double, float for all others, and on the host. What is computed is kept as wide as the scalars.

#include "cudnn.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using pluginkit_cpu::Caller;
using pluginkit_cpu::isTaken;
using pluginkit_cpu::libraries::access;
using pluginkit_cpu::libraries::narrow;
using pluginkit_cpu::libraries::usable;
using pluginkit_cpu::libraries::widen;
namespace cudnn = pluginkit_cpu::cudnn;

namespace
{

//! The arguments that the three functions have in common, checked.
struct Call
{
    cudaStream_t stream;
    Caller caller;
    cudnnTensorStruct x; // copies: a descriptor may be destroyed before the work runs
    cudnnTensorStruct y;
    void const* from;
    void* to;
    double alpha;
    double beta;
};

size_t elementSize(cudnnDataType_t type) noexcept
{
    return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

size_t span(cudnnTensorStruct const& tensor) noexcept
{
    int64_t last = 0;
    for (int i = 0; i < tensor.count; ++i)
    {
        last += int64_t{tensor.strides[i]} * (tensor.dims[i] - 1);
    }
    return (static_cast<size_t>(last) + 1) * elementSize(tensor.type);
}

bool computesIn(cudnnDataType_t type) noexcept
{
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF ||
           type == CUDNN_DATA_BFLOAT16;
}

double scalar(void const* value, cudnnDataType_t type) noexcept
{
    return type == CUDNN_DATA_DOUBLE ? *static_cast<double const*>(value) : *static_cast<float const*>(value);
}

cudnnStatus_t prepare(cudnnHandle_t handle, void const* alpha, cudnnTensorDescriptor_t x, void const* from,
                      void const* beta, cudnnTensorDescriptor_t y, void* to, Caller const& caller, Call& call)
{
    if (!isTaken(cudnn::kHANDLE, handle) || !isTaken(cudnn::kTENSOR, x) || !isTaken(cudnn::kTENSOR, y) ||
        alpha == nullptr || beta == nullptr || x->count == 0 || x->count != y->count || x->type != y->type ||
        from == nullptr || to == nullptr)
    {
        return CUDNN_STATUS_BAD_PARAM;
    }
    if (!computesIn(x->type))
    {
        pluginkit_cpu::libraries::reportNotSupported(
            std::string{caller.function} + " of the cudnnDataType_t " + std::to_string(x->type), caller.code);
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    call = {handle->stream, caller, *x, *y, from, to, scalar(alpha, x->type), scalar(beta, x->type)};
    bool const good = pluginkit_cpu::stuck() == cudaSuccess && usable({"x", from, span(*x), false}, caller) &&
                      usable({"y", to, span(*y), true}, caller);
    return good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

template <typename T>
using Wide = decltype(widen(T{}));

template <typename T>
Wide<T> load(Call const& call, int64_t offset) noexcept
{
    T const* const from = static_cast<T const*>(call.from) + offset;
    access(from, sizeof(T), false, call.caller.code);
    return widen(*from);
}

template <typename T>
void store(Call const& call, int64_t offset, Wide<T> value) noexcept
{
    T* const to = static_cast<T*>(call.to) + offset;
    Wide<T> result = static_cast<Wide<T>>(call.alpha) * value;
    if (call.beta != 0.0)
    {
        access(to, sizeof(T), false, call.caller.code);
        result += static_cast<Wide<T>>(call.beta) * widen(*to);
    }
    access(to, sizeof(T), true, call.caller.code);
    *to = narrow<T>(result);
}

//! Where an element is, of its number among the dimensions from `first` on.
int64_t offsetOf(cudnnTensorStruct const& tensor, int64_t number, int first = 0) noexcept
{
    int64_t offset = 0;
    for (int i = tensor.count - 1; i >= first; --i)
    {
        offset += number % tensor.dims[i] * tensor.strides[i];
        number /= tensor.dims[i];
    }
    return offset;
}

int64_t countOf(cudnnTensorStruct const& tensor, int first = 0) noexcept
{
    int64_t count = 1;
    for (int i = first; i < tensor.count; ++i)
    {
        count *= tensor.dims[i];
    }
    return count;
}

template <typename Work>
cudnnStatus_t run(Call const& call, int64_t blocks, Work const& work)
{
    auto const block = [call, work](size_t number)
    {
        auto const at = static_cast<int64_t>(number);
        switch (call.x.type)
        {
        case CUDNN_DATA_DOUBLE:
            return work(call, at, double{});
        case CUDNN_DATA_HALF:
            return work(call, at, __half{});
        case CUDNN_DATA_BFLOAT16:
            return work(call, at, __nv_bfloat16{});
        default:
            return work(call, at, float{});
        }
    };
    cudaError_t const error =
        pluginkit_cpu::libraries::run(call.caller, call.stream, static_cast<size_t>(blocks), block);
    return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

//! One element of a pooling's output.
template <typename T>
Wide<T> poolOne(Call const& call, cudnnPoolingStruct const& pooling, int64_t begin, int64_t const* place) noexcept
{
    bool const largest = pooling.mode == CUDNN_POOLING_MAX || pooling.mode == CUDNN_POOLING_MAX_DETERMINISTIC;
    bool const propagates = pooling.nan == CUDNN_PROPAGATE_NAN;
    Wide<T> result = largest ? -std::numeric_limits<Wide<T>>::infinity() : Wide<T>{};
    int64_t window = 1;
    for (int i = 0; i < pooling.count; ++i)
    {
        window *= pooling.window[i];
    }
    int64_t inside = 0;
    for (int64_t number = 0; number < window; ++number)
    {
        int64_t offset = begin;
        int64_t rest = number;
        bool there = true;
        for (int i = pooling.count - 1; i >= 0; --i)
        {
            int64_t const at = place[i] * pooling.stride[i] - pooling.padding[i] + rest % pooling.window[i];
            rest /= pooling.window[i];
            there = there && at >= 0 && at < call.x.dims[i + 2];
            offset += at * call.x.strides[i + 2];
        }
        if (!there)
        {
            continue;
        }
        ++inside;
        Wide<T> const value = load<T>(call, offset);
        if (!largest)
        {
            result += value;
        }
        else if (value > result || (propagates && std::isnan(value)))
        {
            result = std::isnan(result) ? result : value;
        }
    }
    bool const all = pooling.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    int64_t const count = all ? window : std::max<int64_t>(1, inside);
    return largest ? result : result / static_cast<Wide<T>>(count);
}

//! The plane of one image and channel.
template <typename T>
void pool(Call const& call, cudnnPoolingStruct const& pooling, int64_t plane) noexcept
{
    int64_t const channels = call.x.dims[1];
    int64_t const from = plane / channels * call.x.strides[0] + plane % channels * call.x.strides[1];
    int64_t const to = plane / channels * call.y.strides[0] + plane % channels * call.y.strides[1];
    int64_t const count = countOf(call.y, 2);
    for (int64_t number = 0; number < count; ++number)
    {
        int64_t place[CUDNN_DIM_MAX]{};
        int64_t rest = number;
        for (int i = pooling.count - 1; i >= 0; --i)
        {
            place[i] = rest % call.y.dims[i + 2];
            rest /= call.y.dims[i + 2];
        }
        store<T>(call, to + offsetOf(call.y, number, 2), poolOne<T>(call, pooling, from, place));
    }
}

template <typename T>
T activate(cudnnActivationStruct const& activation, T x) noexcept
{
    auto const coefficient = static_cast<T>(activation.coefficient);
    bool const passes = std::isnan(x) && activation.nan == CUDNN_PROPAGATE_NAN;
    switch (activation.mode)
    {
    case CUDNN_ACTIVATION_SIGMOID:
        return 1 / (1 + std::exp(-x));
    case CUDNN_ACTIVATION_RELU:
        return x > 0 || passes ? x : T{0};
    case CUDNN_ACTIVATION_TANH:
        return std::tanh(x);
    case CUDNN_ACTIVATION_CLIPPED_RELU:
        return passes ? x : std::min(x > 0 ? x : T{0}, coefficient);
    case CUDNN_ACTIVATION_ELU:
        return x > 0 || passes ? x : coefficient * std::expm1(x);
    case CUDNN_ACTIVATION_SWISH:
        return x / (1 + std::exp(-x));
    case CUDNN_ACTIVATION_IDENTITY:
        break;
    }
    return x;
}

constexpr int64_t kELEMENTS = 1024; // that a block of an activation takes

} // namespace

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnPoolingForward(
        cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, void const* alpha, cudnnTensorDescriptor_t xDesc,
        void const* x, void const* beta, cudnnTensorDescriptor_t yDesc, void* y)
    {
        Caller const caller{"cudnnPoolingForward", __builtin_return_address(0)};
        Call call{};
        if (!isTaken(cudnn::kPOOLING, pooling) || pooling->count == 0)
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        cudnnStatus_t const status = prepare(handle, alpha, xDesc, x, beta, yDesc, y, caller, call);
        if (status != CUDNN_STATUS_SUCCESS)
        {
            return status;
        }
        bool fits =
            call.x.count == pooling->count + 2 && call.x.dims[0] == call.y.dims[0] && call.x.dims[1] == call.y.dims[1];
        for (int i = 0; fits && i < pooling->count; ++i)
        {
            fits = call.y.dims[i + 2] == cudnn::pooled(*pooling, i, call.x.dims[i + 2]);
        }
        if (!fits)
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        return run(call, int64_t{call.x.dims[0]} * call.x.dims[1],
                   [how = *pooling](Call const& one, int64_t plane, auto type)
                   { pool<decltype(type)>(one, how, plane); });
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnSoftmaxForward(
        cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode, void const* alpha,
        cudnnTensorDescriptor_t xDesc, void const* x, void const* beta, cudnnTensorDescriptor_t yDesc, void* y)
    {
        Call call{};
        cudnnStatus_t const status = prepare(handle, alpha, xDesc, x, beta, yDesc, y,
                                             {"cudnnSoftmaxForward", __builtin_return_address(0)}, call);
        if (status != CUDNN_STATUS_SUCCESS)
        {
            return status;
        }
        if (call.x.count < 2 || !std::equal(call.x.dims, call.x.dims + call.x.count, call.y.dims) ||
            algorithm > CUDNN_SOFTMAX_LOG || mode > CUDNN_SOFTMAX_MODE_CHANNEL)
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        // Over all of an image, or over the channels of each of its pixels.
        bool const instance = mode == CUDNN_SOFTMAX_MODE_INSTANCE;
        auto const work = [instance, algorithm](Call const& one, int64_t row, auto type)
        {
            using T = decltype(type);
            cudnnTensorStruct const& from = one.x;
            int64_t const pixels = instance ? 1 : countOf(from, 2);
            int64_t const image = row / pixels;
            int64_t const pixel = row % pixels;
            int64_t const count = instance ? countOf(from, 1) : from.dims[1];
            auto const at = [&](cudnnTensorStruct const& tensor, int64_t i)
            {
                return image * tensor.strides[0] +
                       (instance ? offsetOf(tensor, i, 1) : i * tensor.strides[1] + offsetOf(tensor, pixel, 2));
            };
            std::vector<Wide<T>> values(static_cast<size_t>(count));
            Wide<T> most = -std::numeric_limits<Wide<T>>::infinity();
            for (int64_t i = 0; i < count; ++i)
            {
                values[static_cast<size_t>(i)] = load<T>(one, at(from, i));
                most = std::max(most, values[static_cast<size_t>(i)]);
            }
            most = algorithm == CUDNN_SOFTMAX_FAST ? Wide<T>{0} : most;
            Wide<T> sum = 0;
            for (Wide<T>& value : values)
            {
                value -= most;
                sum += std::exp(value);
            }
            for (int64_t i = 0; i < count; ++i)
            {
                Wide<T> const value = values[static_cast<size_t>(i)];
                store<T>(one, at(one.y, i),
                         algorithm == CUDNN_SOFTMAX_LOG ? value - std::log(sum) : std::exp(value) / sum);
            }
        };
        return run(call, instance ? call.x.dims[0] : call.x.dims[0] * countOf(call.x, 2), work);
    }

    PLUGINKIT_CPU_HIDDEN cudnnStatus_t pluginkit_cpu_v2_cudnnActivationForward(
        cudnnHandle_t handle, cudnnActivationDescriptor_t activation, void const* alpha, cudnnTensorDescriptor_t xDesc,
        void const* x, void const* beta, cudnnTensorDescriptor_t yDesc, void* y)
    {
        Call call{};
        if (!isTaken(cudnn::kACTIVATION, activation) || !activation->set ||
            activation->mode == CUDNN_ACTIVATION_IDENTITY)
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        cudnnStatus_t const status = prepare(handle, alpha, xDesc, x, beta, yDesc, y,
                                             {"cudnnActivationForward", __builtin_return_address(0)}, call);
        if (status != CUDNN_STATUS_SUCCESS)
        {
            return status;
        }
        if (!std::equal(call.x.dims, call.x.dims + call.x.count, call.y.dims))
        {
            return CUDNN_STATUS_BAD_PARAM;
        }
        auto const work = [how = *activation](Call const& one, int64_t block, auto type)
        {
            using T = decltype(type);
            int64_t const end = std::min(countOf(one.x), (block + 1) * kELEMENTS);
            for (int64_t i = block * kELEMENTS; i < end; ++i)
            {
                store<T>(one, offsetOf(one.y, i), activate(how, load<T>(one, offsetOf(one.x, i))));
            }
        };
        return run(call, (countOf(call.x) + kELEMENTS - 1) / kELEMENTS, work);
    }

} // extern "C"
