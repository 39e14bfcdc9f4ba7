// A norm of rows by normalize.cuh: of the tests, and of benchmarks/patterns.cu, which so measures what is tested.
#pragma once

#include <pluginkit/kernels/normalize.cuh>

struct LayerNorm
{
    float columns;

    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const mean = row.reduce(pluginkit::kernels::Sum{}, [](float x, float, float) { return x; }) / columns;
        float const squares =
            row.reduce(pluginkit::kernels::Sum{}, [mean](float x, float, float) { return (x - mean) * (x - mean); });
        float const inverse = rsqrtf(squares / columns + 1e-5F);
        row.write(y, [=](float x, float weight, float bias) { return (x - mean) * inverse * weight + bias; });
    }
};
