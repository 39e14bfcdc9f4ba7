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
    Dims2(pluginkit::Extent d0, pluginkit::Extent d1) : Dims{2, {d0, d1}} {}
};

//! A height and a width.
class DimsHW : public Dims2
{
public:
    DimsHW() = default;
    DimsHW(pluginkit::Extent height, pluginkit::Extent width) : Dims2(height, width) {}
    pluginkit::Extent& h()
    {
        return d[0];
    }
    pluginkit::Extent h() const
    {
        return d[0];
    }
    pluginkit::Extent& w()
    {
        return d[1];
    }
    pluginkit::Extent w() const
    {
        return d[1];
    }
};

class Dims3 : public Dims
{
public:
    Dims3() : Dims3(0, 0, 0) {}
    Dims3(pluginkit::Extent d0, pluginkit::Extent d1, pluginkit::Extent d2) : Dims{3, {d0, d1, d2}} {}
};

class Dims4 : public Dims
{
public:
    Dims4() : Dims4(0, 0, 0, 0) {}
    Dims4(pluginkit::Extent d0, pluginkit::Extent d1, pluginkit::Extent d2, pluginkit::Extent d3)
        : Dims{4, {d0, d1, d2, d3}}
    {
    }
};

} // namespace nvinfer1

#endif
