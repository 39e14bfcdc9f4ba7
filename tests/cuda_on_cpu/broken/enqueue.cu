// Defects of enqueue(): each function is one, called between the control's enqueueBegin and enqueueEnd.
#include "broken.h"

namespace
{

float* gScratch;
float* gPinned;
cudaStream_t gOther;

} // namespace

__global__ void fill(float* x, float value)
{
    x[threadIdx.x] = value;
}

EXPORT int initialize()
{
    cudaMalloc(&gScratch, 32 * sizeof(float));
    cudaMallocHost(&gPinned, 32 * sizeof(float));
    return static_cast<int>(cudaStreamCreate(&gOther));
}

EXPORT void wrongStream(bool repaired, float* out, cudaStream_t stream)
{
    fill<<<1, 32, 0, repaired ? stream : gOther>>>(out, 1.0F); // BUG wrongStream
}

EXPORT void defaultStream(bool repaired, float* out, cudaStream_t stream)
{
    cudaMemsetAsync(out, 0, 32, repaired ? stream : nullptr); // BUG defaultStream
}

EXPORT void allocationInEnqueue(bool repaired, float* out, cudaStream_t stream)
{
    float* scratch = gScratch;
    if (!repaired)
    {
        cudaMallocAsync(&scratch, 128, stream); // BUG allocationInEnqueue
    }
    fill<<<1, 32, 0, stream>>>(scratch, 1.0F);
    cudaMemcpyAsync(out, scratch, 128, cudaMemcpyDeviceToDevice, stream);
}

EXPORT void waitInEnqueue(bool repaired, float* out, cudaStream_t stream)
{
    fill<<<1, 32, 0, stream>>>(out, 1.0F);
    if (!repaired)
    {
        cudaStreamSynchronize(stream); // BUG waitInEnqueue
    }
}

EXPORT void hostDereference(bool repaired, float* out, cudaStream_t stream)
{
    fill<<<1, 32, 0, stream>>>(gScratch, 1.0F);
    float value = 1.0F;
    if (!repaired)
    {
        value = *static_cast<float volatile*>(gScratch); // BUG hostDereference
    }
    fill<<<1, 32, 0, stream>>>(out, value);
}

EXPORT void readTooEarly(bool repaired, float* out, cudaStream_t stream)
{
    fill<<<1, 32, 0, stream>>>(gScratch, 1.0F);
    cudaMemcpyAsync(gPinned, gScratch, 128, cudaMemcpyDeviceToHost, stream);
    float value = 1.0F;
    if (!repaired)
    {
        value = *static_cast<float volatile*>(gPinned); // BUG readTooEarly
    }
    fill<<<1, 32, 0, stream>>>(out, value);
}
