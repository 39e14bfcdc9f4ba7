//! A plugin with its fields, to be called on arrays.
#pragma once

#include <pluginkit/python/device.h>
#include <pluginkit/python/fields.h>
#include <pluginkit/python/prepared.h>
#include <pluginkit/python/signature.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace pluginkit
{

namespace python
{

//! A plugin of a library.
struct Plugin
{
    std::string name;
    std::string pluginNamespace;
    nvinfer1::IPluginCreatorV3One* creator;
    Signature signature;
};

//! Calls may come from several threads: those of the same types and shapes take turns, as TensorRT's contexts are for
//! one thread at a time; others run at the same time.
class Layer
{
public:
    //! Raises TypeError and ValueError as Fields does, and where the creator makes no plugin of the fields.
    Layer(Plugin const& plugin, Device const& device, py::dict const& fields) : mPlugin{plugin}, mDevice{device}
    {
        Fields const given{plugin.name, plugin.creator->getFieldNames(), fields};
        plugin.signature.checkFields(plugin.name, fields);
        mText = plugin.name + "(" + given.text() + ")";
        mNetwork.reset(plugin.creator->createPlugin("eager", given.get(), nvinfer1::TensorRTPhase::kBUILD));
        if (mNetwork == nullptr)
        {
            throw py::value_error(mText + ": the creator makes no plugin of these fields. A value is none that the "
                                          "plugin takes; if it says why, that is on stderr or in TensorRT's log.");
        }
    }
    Layer(Layer const&) = delete;
    Layer& operator=(Layer const&) = delete;

    std::string const& text() const noexcept
    {
        return mText;
    }

    //! Raises TypeError, ValueError for arrays that the plugin doesn't take; RuntimeError where it answers wrongly.
    py::object call(py::args const& inputs, py::object const& out, py::object const& stream)
    {
        Signature const& signature = mPlugin.signature;
        signature.checkEager(mPlugin.name);
        signature.checkCount(mPlugin.name, inputs.size());
        std::vector<Source> sources;
        for (size_t i = 0; i < inputs.size(); ++i)
        {
            sources.push_back(mDevice.source(Signature::place("input", signature.inputs, i), inputs[i]));
        }
        std::vector<Source> const given = outputSources(out);
        std::optional<Stream> const asked = mDevice.given(stream);
        Stream const chosen = asked ? *asked : streamOf(sources, given);
        std::vector<Array> in;
        for (size_t i = 0; i < sources.size(); ++i)
        {
            in.push_back(checked(sources[i], chosen, i < signature.inputs.size() ? signature.inputs[i].types : ""));
        }
        signature.checkShapes(mPlugin.name, in);
        std::shared_ptr<Prepared> const prepared = prepare(in);
        std::vector<Array> outputs = outputsOf(*prepared, in, given, chosen);
        run(*prepared, in, outputs, chosen);
        if (!out.is_none())
        {
            return out;
        }
        py::tuple made{outputs.size()};
        for (size_t i = 0; i < outputs.size(); ++i)
        {
            made[i] = outputs[i].object;
        }
        return made.size() == 1 ? py::object{made[0]} : py::object{made};
    }

private:
    //! A layer keeps what it prepared for so many sets of shapes and types; then the one goes that was used longest
    //! ago.
    static constexpr size_t kMost{64};

    struct Kept
    {
        std::shared_ptr<Prepared> prepared;
        uint64_t used{0};
    };

    std::vector<Source> outputSources(py::object const& out) const
    {
        std::vector<Source> all;
        auto const add = [&](py::handle one)
        { all.push_back(mDevice.source(Signature::place("output", mPlugin.signature.outputs, all.size()), one)); };
        if (py::isinstance<py::tuple>(out) || py::isinstance<py::list>(out))
        {
            for (py::handle const one : out)
            {
                add(one);
            }
        }
        else if (!out.is_none())
        {
            add(out);
        }
        return all;
    }

    //! The stream that all arrays come from which say one, else the default stream.
    Stream streamOf(std::vector<Source> const& inputs, std::vector<Source> const& outputs) const
    {
        std::optional<Stream> found;
        for (std::vector<Source> const* const sources : {&inputs, &outputs})
        {
            for (Source const& source : *sources)
            {
                if (source.stream && found && *source.stream != *found)
                {
                    throw py::value_error(mPlugin.name + ": the arrays come from different streams. Say which one to "
                                                         "run on: stream=.");
                }
                found = source.stream ? source.stream : found;
            }
        }
        return found.value_or(kLegacyStream);
    }

    //! `takes` are the signature's types, for an error.
    Array checked(Source const& source, Stream stream, std::string const& takes) const
    {
        Array array = mDevice.view(source, stream);
        std::string const& what = array.what;
        if (array.type == nullptr)
        {
            throw py::type_error(mPlugin.name + " takes no " + array.typeName + " as " + what +
                                 (takes.empty() ? "" : "; it takes " + takes) + ".");
        }
        if (!array.contiguous)
        {
            throw py::value_error(mPlugin.name + ": " + what + " is not contiguous in C order, and nothing is copied " +
                                  "here: give a contiguous copy (numpy.ascontiguousarray, x.contiguous()).");
        }
        if (array.bytes() > 0 && reinterpret_cast<uintptr_t>(array.data) % mDevice.alignment() != 0)
        {
            throw py::value_error(mPlugin.name + ": " + what + " begins at an address that is not a multiple of " +
                                  std::to_string(mDevice.alignment()) + ", which plugins may count on: give a copy.");
        }
        return array;
    }

    std::shared_ptr<Prepared> prepare(std::vector<Array> const& in)
    {
        std::vector<int64_t> key;
        Descs descs;
        std::vector<std::string> names;
        for (Array const& array : in)
        {
            descs.push_back({array.dims, array.type->type, nvinfer1::TensorFormat::kLINEAR, 1.0F});
            names.push_back(array.what);
            key.push_back(static_cast<int64_t>(array.type->type));
            key.push_back(array.dims.nbDims);
            key.insert(key.end(), array.dims.d, array.dims.d + array.dims.nbDims);
        }
        std::shared_ptr<Prepared> oldest; // goes after the lock
        py::gil_scoped_release const others;
        std::lock_guard<std::mutex> const lock{mMutex};
        Kept& kept = mKept[key];
        kept.used = ++mCalls;
        if (kept.prepared == nullptr)
        {
            try
            {
                kept.prepared =
                    std::make_shared<Prepared>(mPlugin.name, *mPlugin.creator, *mNetwork, std::move(descs), names);
            }
            catch (...)
            {
                mKept.erase(key);
                throw;
            }
            std::shared_ptr<Prepared> const made = kept.prepared;
            if (mKept.size() > kMost)
            {
                auto least = mKept.begin();
                for (auto one = mKept.begin(); one != mKept.end(); ++one)
                {
                    least = one->second.used < least->second.used ? one : least;
                }
                oldest = least->second.prepared;
                mKept.erase(least);
            }
            return made;
        }
        return kept.prepared;
    }

    std::vector<Array> outputsOf(Prepared const& prepared, std::vector<Array> const& in,
                                 std::vector<Source> const& given, Stream stream) const
    {
        size_t const count = prepared.out.size();
        if (!given.empty() && given.size() != count)
        {
            throw py::type_error(mPlugin.name + " has " + std::to_string(count) + " outputs, and out= has " +
                                 std::to_string(given.size()) + ".");
        }
        std::vector<Array> all;
        for (size_t i = 0; i < count; ++i)
        {
            nvinfer1::PluginTensorDesc const& desc = prepared.out[i];
            std::string const what = Signature::place("output", mPlugin.signature.outputs, i);
            int32_t const alias = prepared.aliases[i];
            if (alias >= 0 && given.empty())
            {
                all.push_back(in[static_cast<size_t>(alias)]);
                continue;
            }
            ElementType const* const type = typeOf(desc.type);
            if (type == nullptr)
            {
                throw py::type_error(mPlugin.name + "'s " + what + " is of type " + nameOf(desc.type) +
                                     ", which arrays have not.");
            }
            if (given.empty() && in.empty())
            {
                throw py::type_error(mPlugin.name + " has no input that says what its outputs are to be: give out=.");
            }
            Source const source =
                given.empty() ? mDevice.source(what, mDevice.empty(in.front(), desc.dims, *type)) : given[i];
            all.push_back(checked(source, stream, type->name));
            checkOutput(all.back(), desc, in, alias);
        }
        return all;
    }

    void checkOutput(Array const& array, nvinfer1::PluginTensorDesc const& desc, std::vector<Array> const& in,
                     int32_t alias) const
    {
        if (array.type->type != desc.type)
        {
            throw py::type_error(mPlugin.name + ": " + array.what + " is of type " + array.type->name +
                                 "; it must be " + nameOf(desc.type) + ".");
        }
        if (!sameShape(array.dims, desc.dims))
        {
            throw py::value_error(mPlugin.name + ": " + array.what + " has the shape " + shapeText(array.dims) +
                                  "; it must have " + shapeText(desc.dims) + ".");
        }
        if (!array.writable)
        {
            throw py::value_error(mPlugin.name + ": " + array.what + " can't be written to.");
        }
        for (size_t i = 0; i < in.size(); ++i)
        {
            auto const* const begin = static_cast<char const*>(array.data);
            auto const* const other = static_cast<char const*>(in[i].data);
            bool const shared = static_cast<int32_t>(i) == alias && begin == other;
            if (begin < other + in[i].bytes() && other < begin + array.bytes() && !shared)
            {
                throw py::value_error(mPlugin.name + ": " + array.what + " shares memory with " + in[i].what + ".");
            }
        }
    }

    void run(Prepared& prepared, std::vector<Array> const& in, std::vector<Array> const& outputs, Stream stream) const
    {
        std::vector<Array const*> arrays;
        std::vector<void const*> from;
        std::vector<void*> to;
        for (Array const& array : in)
        {
            arrays.push_back(&array);
            from.push_back(array.data);
        }
        for (Array const& array : outputs)
        {
            arrays.push_back(&array);
            to.push_back(array.data);
        }
        py::gil_scoped_release const others;
        std::lock_guard<std::mutex> const lock{prepared.enqueuing};
        mDevice.run(mPlugin.name, arrays, stream, prepared.workspace,
                    [&](void* workspace, void* handle)
                    {
                        int32_t const answer =
                            prepared.runtime->enqueue(prepared.in.data(), prepared.out.data(), from.data(), to.data(),
                                                      workspace, static_cast<cudaStream_t>(handle));
                        detail::expectZero(answer, mText, "enqueue");
                    });
    }

    Plugin const& mPlugin;
    Device const& mDevice;
    std::string mText;
    std::unique_ptr<nvinfer1::IPluginV3> mNetwork;
    std::mutex mMutex;
    std::map<std::vector<int64_t>, Kept> mKept;
    uint64_t mCalls{0};
};

} // namespace python

} // namespace pluginkit
