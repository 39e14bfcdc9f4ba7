constexpr char const* kName = @{ cookiecutter.name_literal }@;
constexpr char const* kVersion = @{ cookiecutter.version_literal }@;
// Until TensorRT sets another one.
// clang-format off
constexpr char const* kNamespace = @{ cookiecutter.namespace_literal }@;
// clang-format on
// TensorRT's limit, without the closing zero.
constexpr size_t kMaxNamespace = 1023;
// To be raised whenever serialize() writes something else.
constexpr uint32_t kSerialVersion = 1;

