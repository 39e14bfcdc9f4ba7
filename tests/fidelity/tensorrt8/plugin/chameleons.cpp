// A plugin for each interface of the second generation, which is what its creator's fields say, keeps its calls, and
// runs: on the CPU, or with CHAMELEONS_ON_GPU by launch.cu.
#include "bases.h"

#include <pluginkit/entry.h>

namespace chameleon
{

template <typename Plugin>
class CreatorOf final : public IPluginCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        return Plugin::kNAME;
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &listed();
    }
    IPluginV2* createPlugin(char const* name, PluginFieldCollection const* collection) noexcept override
    {
        State state{};
        state.fields = read(*collection);
        if (state.fields.fault == kNULL_PLUGIN)
        {
            return nullptr;
        }
        auto* const made = new Plugin{state, mNamespace.c_str(), name};
        called(0, "createPlugin", std::to_string(made->object()) + " " + name);
        return made;
    }
    IPluginV2* deserializePlugin(char const* name, void const* data, size_t length) noexcept override
    {
        State state{};
        if (length != sizeof state)
        {
            return nullptr;
        }
        std::memcpy(static_cast<void*>(&state), data, sizeof state);
        auto* const made = new Plugin{state, mNamespace.c_str(), name};
        called(0, "deserializePlugin", std::to_string(made->object()) + " " + name);
        return made;
    }
    void setPluginNamespace(char const* space) noexcept override
    {
        mNamespace = space;
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }

private:
    std::string mNamespace;
};

} // namespace chameleon

PLUGINKIT_PLUGINS(Chameleons, chameleon::CreatorOf<chameleon::ChameleonV2>,
                  chameleon::CreatorOf<chameleon::ChameleonExt>, chameleon::CreatorOf<chameleon::ChameleonIOExt>,
                  chameleon::CreatorOf<chameleon::ChameleonDynamic>)
