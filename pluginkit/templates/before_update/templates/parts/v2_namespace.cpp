//! A namespace as TensorRT allows it: never null, never too long.
std::string asNamespace(char const* pluginNamespace)
{
    return std::string{pluginNamespace != nullptr ? pluginNamespace : ""}.substr(0, kMaxNamespace);
}

