#include "row_softmax_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace row_softmax
{

//! An IPluginV2DynamicExt, made of pluginkit.toml and row_softmax.cu. Each of its methods may be overridden here.
class RowSoftmax final : public pluginkit::Layer<RowSoftmax, Signature>
{
};

} // namespace row_softmax

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initRowSoftmaxPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(RowSoftmax, pluginkit::Creator<row_softmax::RowSoftmax>)
