#include "pad_plugin_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

#include <algorithm>

namespace pad_plugin
{

//! An IPluginV3. Overridden is what pluginkit.toml can't say of padding.
class PadPlugin final : public pluginkit::Layer<PadPlugin, Signature>
{
public:
    //! All modes but constant repeat elements of the image: there must be some.
    bool fits(pluginkit::Shape const* inputs, pluginkit::Shape const* outputs) const override
    {
        auto const isEmpty = [](pluginkit::Shape const& shape)
        { return std::count(shape.dims, shape.dims + shape.rank, 0) > 0; };
        bool const isThere = fields().mode == "constant" || !isEmpty(inputs[0]) || isEmpty(outputs[0]);
        return isThere && V3Layer::fits(inputs, outputs);
    }
};

} // namespace pad_plugin

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initPadPluginPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(PadPlugin, pluginkit::Creator<pad_plugin::PadPlugin>)
