// Writes down what its creator's createPlugin gets: a line a call, of name, type, length and bytes of each field.
#include <NvInfer.h>

#include <cstdint>
#include <cstdio>

namespace
{

using namespace nvinfer1;

//! Bytes of an element, by the numbers of PluginFieldType. Of types that have no whole bytes one is shown.
int32_t bytesOf(PluginFieldType type)
{
    switch (type)
    {
    case PluginFieldType::kFLOAT64:
    case PluginFieldType::kINT64:
        return 8;
    case PluginFieldType::kFLOAT32:
    case PluginFieldType::kINT32:
        return 4;
    case PluginFieldType::kFLOAT16:
    case PluginFieldType::kBF16:
    case PluginFieldType::kINT16:
        return 2;
    default:
        return 1;
    }
}

class Creator final : public IPluginCreatorV3One
{
public:
    IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const* fields, TensorRTPhase) noexcept override
    {
        std::FILE* const file = std::fopen(RECORD, "a");
        for (int32_t i = 0; file != nullptr && i < fields->nbFields; ++i)
        {
            PluginField const& field = fields->fields[i];
            auto const* const data = static_cast<unsigned char const*>(field.data);
            std::fprintf(file, "%s %d %d ", field.name, static_cast<int>(field.type), static_cast<int>(field.length));
            for (int32_t byte = 0; data != nullptr && byte < field.length * bytesOf(field.type); ++byte)
            {
                std::fprintf(file, "%02x", data[byte]);
            }
            std::fprintf(file, data == nullptr ? "null;" : ";");
        }
        if (file != nullptr)
        {
            std::fprintf(file, "\n");
            std::fclose(file);
        }
        return nullptr; // the network is of no use
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        // INT8, which no attribute below is given as: that the type is not looked at shows.
        static PluginField const fields[] = {{"f", nullptr, PluginFieldType::kINT8, 1}};
        static PluginFieldCollection const collection{1, fields};
        return &collection;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "Attributes";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }
};

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void setLoggerFinder(ILoggerFinder*) {}

EXPORT IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static Creator creator;
    static IPluginCreatorInterface* const creators[] = {&creator};
    count = 1;
    return creators;
}
