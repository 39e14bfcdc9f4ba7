#include "max_pooling_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace max_pooling
{

//! An IPluginV2DynamicExt, made of pluginkit.toml and max_pooling.cu. Each of its methods may be overridden here.
class MaxPooling final : public pluginkit::Layer<MaxPooling, Signature>
{
};

} // namespace max_pooling

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initMaxPoolingPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(MaxPooling, pluginkit::Creator<max_pooling::MaxPooling>)
