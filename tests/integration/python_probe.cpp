// tests/host/v3.cpp as a library that a Python module opens, and how often its plugins are made.
#define getCreators probedCreators
#include "../host/v3.cpp"
#undef getCreators

namespace
{

int32_t gMade[2];

class Counting final : public IPluginCreatorV3One
{
public:
    explicit Counting(IPluginCreatorV3One& creator) : mCreator{creator} {}
    IPluginV3* createPlugin(char const* name, PluginFieldCollection const* fields,
                            TensorRTPhase phase) noexcept override
    {
        ++gMade[static_cast<int32_t>(phase)];
        return mCreator.createPlugin(name, fields, phase);
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return mCreator.getFieldNames();
    }
    char const* getPluginName() const noexcept override
    {
        return mCreator.getPluginName();
    }
    char const* getPluginVersion() const noexcept override
    {
        return mCreator.getPluginVersion();
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mCreator.getPluginNamespace();
    }

private:
    IPluginCreatorV3One& mCreator;
};

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT IPluginCreatorInterface* const* getCreators(int32_t& count)
{
    static Counting creator{static_cast<IPluginCreatorV3One&>(*probedCreators(count)[0])};
    static IPluginCreatorInterface* const list[] = {&creator};
    count = 1;
    return list;
}

//! How often createPlugin was called in a phase: 0 kBUILD, 1 kRUNTIME.
EXPORT int32_t made(int32_t phase)
{
    return gMade[phase];
}

EXPORT bool initScalePlugins(void*, char const*)
{
    return false;
}

EXPORT void* pluginkit_cpu_control(int)
{
    return nullptr;
}
