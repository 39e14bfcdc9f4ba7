#include "embedding_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace embedding_plugin
{

//! An IPluginV2DynamicExt, made of pluginkit.toml and embedding.cu. Each of its methods may be overridden here.
class Embedding final : public pluginkit::Layer<Embedding, Signature>
{
};

} // namespace embedding_plugin

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initEmbeddingPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(Embedding, pluginkit::Creator<embedding_plugin::Embedding>)
