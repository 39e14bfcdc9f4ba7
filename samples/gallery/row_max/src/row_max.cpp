#include "row_max_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace row_max
{

//! An IPluginV2DynamicExt, made of pluginkit.toml and row_max.cu. Each of its methods may be overridden here.
class RowMax final : public pluginkit::Layer<RowMax, Signature>
{
};

} // namespace row_max

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initRowMaxPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(RowMax, pluginkit::Creator<row_max::RowMax>)
