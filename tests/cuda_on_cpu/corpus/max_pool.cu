// Max pooling with padding, and the place of each maximum; a struct of parameters by value; CUDA_KERNEL_LOOP as in
// Caffe.
#include "corpus.h"

#include <cfloat>

#define CUDA_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

struct PoolParams
{
    int height, width, outHeight, outWidth;
    int kernel, stride, padding;
};

template <typename Dtype>
__global__ void MaxPoolForward(int const nthreads, Dtype const* const bottom_data, Dtype* const top_data, int* mask,
                               PoolParams const p)
{
    CUDA_KERNEL_LOOP(index, nthreads)
    {
        int const pw = index % p.outWidth;
        int const ph = (index / p.outWidth) % p.outHeight;
        int const plane = index / p.outWidth / p.outHeight;
        int hstart = ph * p.stride - p.padding;
        int wstart = pw * p.stride - p.padding;
        int const hend = min(hstart + p.kernel, p.height);
        int const wend = min(wstart + p.kernel, p.width);
        hstart = max(hstart, 0);
        wstart = max(wstart, 0);
        Dtype maxval = -FLT_MAX;
        int maxidx = -1;
        Dtype const* const bottom_slice = bottom_data + plane * p.height * p.width;
        for (int h = hstart; h < hend; ++h)
        {
            for (int w = wstart; w < wend; ++w)
            {
                if (bottom_slice[h * p.width + w] > maxval)
                {
                    maxidx = h * p.width + w;
                    maxval = bottom_slice[maxidx];
                }
            }
        }
        top_data[index] = maxval;
        mask[index] = maxidx;
    }
}

CORPUS_EXPORT int run_max_pool(float const* x, float* y, int* places, int planes, int height, int width, int kernel,
                               int stride, int padding)
{
    PoolParams const params{height,
                            width,
                            (height + 2 * padding - kernel) / stride + 1,
                            (width + 2 * padding - kernel) / stride + 1,
                            kernel,
                            stride,
                            padding};
    int const count = planes * params.outHeight * params.outWidth;
    corpus::Device<float> const dx(x, static_cast<size_t>(planes) * height * width), dy(count);
    corpus::Device<int> const dPlaces(count);
    MaxPoolForward<float><<<4, 128>>>(count, dx.get(), dy.get(), dPlaces.get(), params);
    int const error = dy.copyTo(y);
    return error ? error : dPlaces.copyTo(places);
}
