//! Shapes of a fixed rank: conveniences over Dims that older plugin code uses.
#ifndef PLUGINKIT_NV_INFER_LEGACY_DIMS_H
#define PLUGINKIT_NV_INFER_LEGACY_DIMS_H

#include "NvInferRuntimeBase.h"

namespace nvinfer1
{

class Dims2 : public Dims
{
public:
    Dims2() : Dims2(0, 0) {}
    Dims2(int64_t d0, int64_t d1) : Dims{2, {d0, d1}} {}
};

//! A height and a width.
class DimsHW : public Dims2
{
public:
    DimsHW() = default;
    DimsHW(int64_t height, int64_t width) : Dims2(height, width) {}
    int64_t& h()
    {
        return d[0];
    }
    int64_t h() const
    {
        return d[0];
    }
    int64_t& w()
    {
        return d[1];
    }
    int64_t w() const
    {
        return d[1];
    }
};

class Dims3 : public Dims
{
public:
    Dims3() : Dims3(0, 0, 0) {}
    Dims3(int64_t d0, int64_t d1, int64_t d2) : Dims{3, {d0, d1, d2}} {}
};

class Dims4 : public Dims
{
public:
    Dims4() : Dims4(0, 0, 0, 0) {}
    Dims4(int64_t d0, int64_t d1, int64_t d2, int64_t d3) : Dims{4, {d0, d1, d2, d3}} {}
};

} // namespace nvinfer1

#endif
