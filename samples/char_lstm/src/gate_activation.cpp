#include "gate_activation_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace gate_activation
{

//! An IPluginV2DynamicExt with pluginkit.toml's signature and gate_activation.cu's kernels. Override its methods here.
class GateActivation final : public pluginkit::Layer<GateActivation, Signature>
{
};

} // namespace gate_activation

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initGateActivationPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(GateActivation, pluginkit::Creator<gate_activation::GateActivation>)
