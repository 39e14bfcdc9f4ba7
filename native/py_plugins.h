//! Plugins with an owner: a destroyed one refuses to be called.
#pragma once

#include "descs.h"
#include "layout.h"
#include "nodes.h"

#include <memory>
#include <variant>

namespace pluginkit
{

//! What all plugins of the second generation have in Python. Python sees the class that it is (pybind11 asks the
//! vtable).
class PyPlugin
{
public:
    PyPlugin() = default;
    PyPlugin(PyPlugin const&) = delete;
    PyPlugin& operator=(PyPlugin const&) = delete;
    virtual ~PyPlugin() = default;

    virtual V2Plugin& common() const = 0;
    virtual std::unique_ptr<PyPlugin> clone() const = 0;
    virtual void destroy() = 0;
};

//! `Face` is DynamicPlugin, IOExtPlugin or StaticPlugin, `Self` the class that derives from this one.
template <class Self, class Face>
class PyOwner : public PyPlugin
{
public:
    Face& get() const
    {
        if (mPlugin == nullptr)
        {
            throw UseError{"a plugin was called after its destroy()"};
        }
        return *mPlugin;
    }

    V2Plugin& common() const override
    {
        return get();
    }

    std::unique_ptr<PyPlugin> clone() const override
    {
        auto copy = get().clone();
        return copy == nullptr ? nullptr : std::make_unique<Self>(std::move(copy));
    }

    void destroy() override
    {
        get().destroy();
        mPlugin.reset();
    }

private:
    friend Self;
    explicit PyOwner(std::unique_ptr<Face> plugin) : mPlugin{std::move(plugin)} {}

    std::unique_ptr<Face> mPlugin;
};

class PyDynamicPlugin final : public PyOwner<PyDynamicPlugin, DynamicPlugin>
{
public:
    explicit PyDynamicPlugin(std::unique_ptr<DynamicPlugin> plugin) : PyOwner{std::move(plugin)} {}

    //! (nbDims, the index of each dimension's node or what came in its place, nodes, faults). One symbol for each -1 of
    //! `inputs`, in order.
    auto outputDimensions(std::int32_t index, std::vector<PyDims> const& inputs)
    {
        // Kept until the plugin is gone, so that faults of later calls are collected too.
        auto& session = *mSessions.emplace_back(std::make_unique<ExprSession>());
        auto const exprs = toExprs(session, inputs);
        auto const answer = get().getOutputDimensions(index, exprs.data(), count(exprs), session.builder());
        session.end();
        std::vector<std::variant<std::int32_t, std::string>> roots;
        for (std::int32_t i = 0; i < answer.nbDims && i < nvinfer1::Dims64::MAX_DIMS; ++i)
        {
            auto const node = session.find(answer.d[i]);
            roots.emplace_back();
            if (node)
            {
                roots.back() = *node;
            }
            else
            {
                roots.back() = ExprSession::describe(answer.d[i]);
            }
        }
        return std::tuple{answer.nbDims, roots, toPython(session.nodes()), session.faults(), session.warnings()};
    }

    std::vector<std::string> shapeFaults() const
    {
        std::vector<std::string> all;
        for (auto const& session : mSessions)
        {
            all.insert(all.end(), session->faults().begin(), session->faults().end());
        }
        return all;
    }

private:
    std::vector<std::unique_ptr<ExprSession>> mSessions;
};

class PyIOExtPlugin final : public PyOwner<PyIOExtPlugin, IOExtPlugin>
{
public:
    explicit PyIOExtPlugin(std::unique_ptr<IOExtPlugin> plugin) : PyOwner{std::move(plugin)} {}
};

//! An IPluginV2Ext. `Basic`: an IPluginV2.
template <bool Basic>
class PyStaticPlugin final : public PyOwner<PyStaticPlugin<Basic>, StaticPlugin>
{
public:
    explicit PyStaticPlugin(std::unique_ptr<StaticPlugin> plugin)
        : PyOwner<PyStaticPlugin<Basic>, StaticPlugin>{std::move(plugin)}
    {
    }
};

using PyExtPlugin = PyStaticPlugin<false>;
using PyBasicPlugin = PyStaticPlugin<true>;

} // namespace pluginkit
