//! The parameter structs of NVIDIA's own plugins, under the name that plugin code includes them by. Written from facts:
//! names, types and order of the members in NVIDIA/TensorRT's header of that name, releases 10.16 and 11.1.
#ifndef PLUGINKIT_NV_INFER_PLUGIN_UTILS_H
#define PLUGINKIT_NV_INFER_PLUGIN_UTILS_H

#include "NvInferRuntimeBase.h"

namespace nvinfer1
{

namespace plugin
{

struct PriorBoxParameters
{
    float* minSize;
    float* maxSize;
    float* aspectRatios;
    int32_t numMinSize;
    int32_t numMaxSize;
    int32_t numAspectRatios;
    bool flip;
    bool clip;
    float variance[4];
    int32_t imgH;
    int32_t imgW;
    float stepH;
    float stepW;
    float offset;
};

struct RPROIParams
{
    int32_t poolingH;
    int32_t poolingW;
    int32_t featureStride;
    int32_t preNmsTop;
    int32_t nmsMaxOut;
    int32_t anchorsRatioCount;
    int32_t anchorsScaleCount;
    float iouThreshold;
    float minBoxSize;
    float spatialScale;
};

struct GridAnchorParameters
{
    float minSize;
    float maxSize;
    float* aspectRatios;
    int32_t numAspectRatios;
    int32_t H;
    int32_t W;
    float variance[4];
};

#if PLUGINKIT_TRT_LAYOUT <= 10 // gone with TensorRT 11

enum class CodeTypeSSD : int32_t
{
    CORNER = 0,
    CENTER_SIZE = 1,
    CORNER_SIZE = 2,
    TF_CENTER = 3,
};

struct DetectionOutputParameters
{
    bool shareLocation;
    bool varianceEncodedInTarget;
    int32_t backgroundLabelId;
    int32_t numClasses;
    int32_t topK;
    int32_t keepTopK;
    float confidenceThreshold;
    float nmsThreshold;
    CodeTypeSSD codeType;
    int32_t inputOrder[3];
    bool confSigmoid;
    bool isNormalized;
    bool isBatchAgnostic{true};
};

struct NMSParameters
{
    bool shareLocation;
    int32_t backgroundLabelId;
    int32_t numClasses;
    int32_t topK;
    int32_t keepTopK;
    float scoreThreshold;
    float iouThreshold;
    bool isNormalized;
};

#endif

struct softmaxTree
{
    int32_t* leaf;
    int32_t n;
    int32_t* parent;
    int32_t* child;
    int32_t* group;
    char** name;
    int32_t groups;
    int32_t* groupSize;
    int32_t* groupOffset;
};

struct RegionParameters
{
    int32_t num;
    int32_t coords;
    int32_t classes;
    softmaxTree* smTree;
};

} // namespace plugin

} // namespace nvinfer1

#endif
