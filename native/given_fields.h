#pragma once

#include "closed_bytes.h"
#include "descs.h"

#include <memory>

namespace pluginkit
{

//! (name, nvinfer1::PluginFieldType, bytes, length)
using PyField = std::tuple<std::string, std::int32_t, std::optional<pybind11::bytes>, std::int32_t>;

//! Fields as a creator gets them. They are owned here and wiped after the call: what a plugin keeps a pointer to is not
//! what it was (rule F5). The memory stays as long as this object, so that a plugin that kept a pointer reads the wiped
//! bytes, and not what the heap puts there next.
class GivenFields
{
public:
    explicit GivenFields(std::vector<PyField> const& fields)
    {
        mNames.reserve(fields.size());
        mValues.reserve(fields.size());
        for (auto const& [name, type, value, length] : fields)
        {
            mNames.push_back(name);
            std::string const bytes = value ? std::string{*value} : std::string{};
            mValues.emplace_back(bytes.begin(), bytes.end());
            mList.push_back({mNames.back().c_str(), value ? mValues.back().data() : nullptr,
                             static_cast<nvinfer1::PluginFieldType>(type), length});
        }
        mCollection.nbFields = count(mList);
        mCollection.fields = mList.data();
    }
    GivenFields(GivenFields const&) = delete;
    GivenFields& operator=(GivenFields const&) = delete;

    nvinfer1::PluginFieldCollection const* get() const
    {
        return &mCollection;
    }

    void wipe()
    {
        for (auto& value : mValues)
        {
            std::fill(value.begin(), value.end(), static_cast<char>(0xEE));
        }
        for (auto& name : mNames)
        {
            std::fill(name.begin(), name.end(), '~');
        }
    }

private:
    std::vector<std::string> mNames;
    std::vector<std::vector<char>> mValues;
    std::vector<nvinfer1::PluginField> mList;
    nvinfer1::PluginFieldCollection mCollection{};
};

//! Fields whose values each lie before a closed page.
class ClosedFields
{
public:
    explicit ClosedFields(std::vector<PyField> const& fields)
    {
        for (auto const& [name, type, value, length] : fields)
        {
            mNames.push_back(std::make_unique<ClosedBytes>(name + '\0'));
            if (value)
            {
                mValues.push_back(std::make_unique<ClosedBytes>(*value));
            }
            mList.push_back({reinterpret_cast<char const*>(mNames.back()->data()),
                             value ? mValues.back()->data() : nullptr, static_cast<nvinfer1::PluginFieldType>(type),
                             length});
        }
        mCollection.nbFields = count(mList);
        mCollection.fields = mList.data();
    }

    nvinfer1::PluginFieldCollection const* get() const
    {
        return &mCollection;
    }

private:
    std::vector<std::unique_ptr<ClosedBytes>> mNames;
    std::vector<std::unique_ptr<ClosedBytes>> mValues;
    std::vector<nvinfer1::PluginField> mList;
    nvinfer1::PluginFieldCollection mCollection{};
};

} // namespace pluginkit
