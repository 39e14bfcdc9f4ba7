// Instance norm with a leaky ReLU: grid (channels, batch), a 2D block, sums in double kept in a shared struct array.
#include "corpus.h"

namespace instance_norm
{
struct alignas(16) Sums
{
    double sum;
    double squares;

    __device__ Sums& operator+=(Sums const& other)
    {
        sum += other.sum;
        squares += other.squares;
        return *this;
    }
};

template <int DIM_X, int DIM_Y, typename Activation>
__global__ __launch_bounds__(DIM_X* DIM_Y) void normalize(float const* __restrict__ x, float const* __restrict__ scale,
                                                          float const* __restrict__ bias, float* __restrict__ y,
                                                          int height, int width, float epsilon, Activation activation)
{
    __shared__ Sums sums[DIM_Y][DIM_X];
    int const plane = blockIdx.y * gridDim.x + blockIdx.x;
    float const* in = x + static_cast<long long>(plane) * height * width;
    float* out = y + static_cast<long long>(plane) * height * width;

    Sums mine = {};
    for (int row = threadIdx.y; row < height; row += DIM_Y)
    {
        for (int column = threadIdx.x; column < width; column += DIM_X)
        {
            double const value = in[row * width + column];
            mine += Sums{value, value * value};
        }
    }
    sums[threadIdx.y][threadIdx.x] = mine;
    __syncthreads();
    for (int half = DIM_Y / 2; half > 0; half /= 2)
    {
        if (threadIdx.y < half)
        {
            sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y + half][threadIdx.x];
        }
        __syncthreads();
    }
    for (int half = DIM_X / 2; half > 0; half /= 2)
    {
        if (threadIdx.y == 0 && threadIdx.x < half)
        {
            sums[0][threadIdx.x] += sums[0][threadIdx.x + half];
        }
        __syncthreads();
    }
    double const count = static_cast<double>(height) * width;
    double const mean = sums[0][0].sum / count;
    double const variance = sums[0][0].squares / count - mean * mean;
    float const factor = static_cast<float>(rsqrt(variance + epsilon)) * scale[blockIdx.x];
    float const offset = bias[blockIdx.x] - static_cast<float>(mean) * factor;
    for (int row = threadIdx.y; row < height; row += DIM_Y)
    {
        for (int column = threadIdx.x; column < width; column += DIM_X)
        {
            out[row * width + column] = activation(fmaf(in[row * width + column], factor, offset));
        }
    }
}
} // namespace instance_norm

CORPUS_EXPORT int run_instance_norm(float const* x, float const* scale, float const* bias, float* y, int batch,
                                    int channels, int height, int width, float slope)
{
    size_t const count = static_cast<size_t>(batch) * channels * height * width;
    corpus::Device<float> const dx(x, count), dScale(scale, channels), dBias(bias, channels);
    corpus::Device<float> const dy(count);
    auto leaky = [slope] __device__(float value) { return value > 0.f ? value : value * slope; };
    dim3 const grid(channels, batch), block(16, 8);
    instance_norm::normalize<16, 8>
        <<<grid, block>>>(dx.get(), dScale.get(), dBias.get(), dy.get(), height, width, 1e-5f, leaky);
    return dy.copyTo(y);
}
