#pragma once

#include "closed.h"
#include "descs.h"

#include <deque>

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
    explicit GivenFields(std::vector<PyField> const& fields) : mList{fields.size(), "fc->fields"}
    {
        for (std::size_t i = 0; i < fields.size(); ++i)
        {
            auto const& [name, type, value, length] = fields[i];
            auto& field = mList[i];
            field.name = mNames.emplace_back(name, "the name of field", name).get();
            field.type = static_cast<nvinfer1::PluginFieldType>(type);
            field.length = length;
            if (value)
            {
                field.data = mValues.emplace_back(std::string_view{*value}, "the data of field", name).data();
            }
        }
        mCollection[0].nbFields = static_cast<std::int32_t>(fields.size());
        mCollection[0].fields = fields.empty() ? nullptr : mList.data();
    }

    nvinfer1::PluginFieldCollection const* get() const
    {
        return mCollection.data();
    }

    void wipe()
    {
        for (auto& value : mValues)
        {
            value.wipe();
        }
        for (auto& name : mNames)
        {
            name.wipe('~');
        }
    }

private:
    std::deque<ClosedText> mNames;
    std::deque<ClosedCopy> mValues;
    ClosedArray<nvinfer1::PluginField> mList;
    ClosedArray<nvinfer1::PluginFieldCollection> mCollection{1, "fc"};
};

} // namespace pluginkit
