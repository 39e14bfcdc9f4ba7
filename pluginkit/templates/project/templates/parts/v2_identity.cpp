constexpr char const* kName = @{ plugin.name_literal }@;
constexpr char const* kVersion = @{ plugin.version_literal }@;
// Until TensorRT sets another one.
// clang-format off
constexpr char const* kNamespace = @{ plugin.namespace_literal }@;
// clang-format on
// TensorRT's limit, without the closing zero.
constexpr size_t kMaxNamespace = 1023;
// To be raised whenever serialize() writes something else.
constexpr uint32_t kSerialVersion = 1;

