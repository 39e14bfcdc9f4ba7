//! A plugin's pluginkit.toml, as the build writes it into the module: names, shapes, fields.
#pragma once

#include <pluginkit/python/array.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <pybind11/stl.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace pluginkit
{

namespace python
{

struct Signature
{
    struct Tensor
    {
        std::string name;
        std::string types;
        std::vector<std::string> shape; //!< of an input: symbols and numbers
        bool shapeInput;                //!< whether getOutputShapes() gets its values
    };
    struct Field
    {
        std::string name;
        std::string type;
        std::string preset; //!< empty: it must be given
        std::string description;
    };

    bool known{false}; //!< a library that was made without pluginkit.toml has none
    std::string description;
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    std::vector<Field> fields;

    //! `input 0 (x)`
    static std::string place(char const* kind, std::vector<Tensor> const& tensors, size_t index)
    {
        std::string const name = index < tensors.size() ? " (" + tensors[index].name + ")" : "";
        return std::string{kind} + " " + std::to_string(index) + name;
    }

    //! Raises RuntimeError where an input is a shape input: shapes are found of shapes alone here.
    void checkEager(std::string const& plugin) const
    {
        for (Tensor const& tensor : inputs)
        {
            if (tensor.shapeInput)
            {
                throw std::runtime_error(plugin + " has the shape input " + tensor.name +
                                         ", whose values an eager call doesn't give: run it in an engine.");
            }
        }
    }

    //! Raises TypeError for another number of inputs.
    void checkCount(std::string const& plugin, size_t count) const
    {
        if (known && count != inputs.size())
        {
            throw py::type_error(plugin + " takes " + std::to_string(inputs.size()) +
                                 (inputs.size() == 1 ? " input (" : " inputs (") + list(inputs, ", ") + "), not " +
                                 std::to_string(count) + ".");
        }
    }

    //! Raises ValueError for inputs of other numbers of dimensions, or whose dimensions don't fit one another.
    void checkShapes(std::string const& plugin, std::vector<Array> const& arrays) const
    {
        std::map<std::string, std::pair<int64_t, std::string>> symbols;
        for (size_t i = 0; known && i < arrays.size(); ++i)
        {
            std::vector<std::string> const& shape = inputs[i].shape;
            std::string const said = plugin + ": " + arrays[i].what + " has the shape " + shapeText(arrays[i].dims);
            size_t const rank = static_cast<size_t>(arrays[i].dims.nbDims);
            bool const open = std::count(shape.begin(), shape.end(), kRest) > 0;
            if (open ? rank + 1 < shape.size() : rank != shape.size())
            {
                size_t const least = shape.size() - (open ? 1 : 0);
                throw py::value_error(said + "; it takes " + std::to_string(least) + (open ? " or more" : "") +
                                      (least == 1 && !open ? " dimension, " : " dimensions, ") + bracketed(shape) +
                                      ".");
            }
            std::vector<std::string> const named = withRest(shape, rank);
            for (size_t d = 0; d < named.size(); ++d)
            {
                int64_t const there = arrays[i].dims.d[d];
                char* end{nullptr};
                int64_t const number = std::strtoll(named[d].c_str(), &end, 10);
                bool const constant = *end == '\0';
                if (constant && number != there)
                {
                    throw py::value_error(said + "; its dimension " + std::to_string(d) + " must be " + named[d] + ".");
                }
                auto const [symbol, first] = symbols.try_emplace(named[d], there, arrays[i].what);
                if (!first && symbol->second.first != there)
                {
                    throw py::value_error(said + ", so " + named[d] + " is " + std::to_string(there) + ", but " +
                                          std::to_string(symbol->second.first) + " in " + symbol->second.second +
                                          "; inputs have the shapes " + shapes() + ".");
                }
            }
        }
    }

    //! Raises TypeError where a field that has no default isn't given.
    void checkFields(std::string const& plugin, py::dict const& given) const
    {
        for (Field const& field : fields)
        {
            if (field.preset.empty() && !given.contains(field.name))
            {
                throw py::type_error(plugin + " needs its field " + field.name + " (" + field.type +
                                     "), which has no default.");
            }
        }
    }

    //! What help() shows.
    std::string doc(std::string const& plugin) const
    {
        if (!known)
        {
            return "A plugin " + plugin + " with these fields; call it on its inputs.";
        }
        std::string text = (description.empty() ? "" : description + "\n\n") + list(outputs, ", ") + " = " + plugin +
                           "(<fields>)(" + list(inputs, ", ") + ")\n\nFields:\n";
        for (Field const& field : fields)
        {
            text += "    " + field.name + ": " + field.type +
                    (field.preset.empty() ? ", no default" : " = " + field.preset) +
                    (field.description.empty() ? "" : ": " + field.description) + "\n";
        }
        text += fields.empty() ? "    none\n" : "";
        text += "\nInputs and outputs:\n";
        for (auto const* const tensors : {&inputs, &outputs})
        {
            for (Tensor const& tensor : *tensors)
            {
                text += "    " + tensor.name + ": " + tensor.types + ", " + bracketed(tensor.shape) +
                        (tensor.shapeInput ? ", a shape input" : "") + "\n";
            }
        }
        return text;
    }

    //! The signature of a plugin in the text that the build has made.
    static Signature find(char const* json, std::string const& plugin)
    {
        Signature found;
        for (py::handle const one : py::module_::import("json").attr("loads")(json))
        {
            if (textOf(one["name"]) != plugin)
            {
                continue;
            }
            found.known = true;
            found.description = textOf(one["description"]);
            found.inputs = tensors(one["inputs"]);
            found.outputs = tensors(one["outputs"]);
            for (py::handle const field : one["fields"])
            {
                found.fields.push_back({textOf(field["name"]), textOf(field["type"]),
                                        field["default"].is_none() ? "" : textOf(field["default"]),
                                        textOf(field["description"])});
            }
        }
        return found;
    }

private:
    static constexpr char const* kRest = "..."; //!< in a shape: any number of dimensions, the same ones in all inputs

    //! A shape of so many dimensions, with `...[0]`, `...[1]` and so on in the place of `...`.
    static std::vector<std::string> withRest(std::vector<std::string> const& shape, size_t rank)
    {
        std::vector<std::string> named;
        for (std::string const& dim : shape)
        {
            if (dim != kRest)
            {
                named.push_back(dim);
                continue;
            }
            for (size_t i = 0; i + shape.size() < rank + 1; ++i)
            {
                named.push_back(std::string{kRest} + "[" + std::to_string(i) + "]");
            }
        }
        return named;
    }

    static std::vector<Tensor> tensors(py::handle listed)
    {
        std::vector<Tensor> all;
        for (py::handle const one : listed)
        {
            all.push_back({textOf(one["name"]), textOf(one["types"]), one["shape"].cast<std::vector<std::string>>(),
                           one["shape_input"].cast<bool>()});
        }
        return all;
    }

    static std::string bracketed(std::vector<std::string> const& words)
    {
        std::string text;
        for (std::string const& word : words)
        {
            text += (text.empty() ? "" : ", ") + word;
        }
        return "[" + text + "]";
    }

    static std::string list(std::vector<Tensor> const& tensors, char const* between)
    {
        std::string text;
        for (Tensor const& tensor : tensors)
        {
            text += (text.empty() ? "" : between) + tensor.name;
        }
        return text;
    }

    std::string shapes() const
    {
        std::string text;
        for (Tensor const& tensor : inputs)
        {
            text += (text.empty() ? "" : ", ") + tensor.name + " " + bracketed(tensor.shape);
        }
        return text;
    }
};

} // namespace python

} // namespace pluginkit
