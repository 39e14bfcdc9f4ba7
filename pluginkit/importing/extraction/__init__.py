"""From a model's nodes to a plugin project: `pluginkit new --from-onnx`."""
