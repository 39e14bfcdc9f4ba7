//! Thrust, whose host and device code are one text: it copies by CUDA's functions from within kernels too.

#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>

#include <vector>

//! How many of the results are wrong.
extern "C" __attribute__((visibility("default"))) int vectors(int n)
{
    thrust::device_vector<int> x(static_cast<size_t>(n));
    thrust::device_vector<int> y(static_cast<size_t>(n));
    thrust::sequence(x.begin(), x.end());
    thrust::transform(x.begin(), x.end(), x.begin(), y.begin(), thrust::plus<int>());
    int const sum = thrust::reduce(y.begin(), y.end(), 0, thrust::plus<int>());
    thrust::inclusive_scan(x.begin(), x.end(), y.begin());
    std::vector<int> back(static_cast<size_t>(n));
    cudaMemcpy(back.data(), thrust::raw_pointer_cast(y.data()), back.size() * sizeof(int), cudaMemcpyDeviceToHost);
    int wrong = sum == n * (n - 1) ? 0 : 1;
    for (int i = 0; i < n; ++i)
    {
        wrong += back[static_cast<size_t>(i)] == i * (i + 1) / 2 ? 0 : 1;
    }
    return wrong;
}
