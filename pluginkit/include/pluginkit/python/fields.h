//! A creator's fields, given as Python's keyword arguments.
#pragma once

#include <pluginkit/python/array.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <pybind11/stl.h>
#include <string>
#include <vector>

namespace pluginkit
{

namespace python
{

//! `'alhpa'; did you mean 'alpha'?` where something is like it, else `'alhpa'.`
inline std::string withGuess(std::string const& name, std::vector<std::string> const& known)
{
    auto const close =
        py::module_::import("difflib").attr("get_close_matches")(name, known, 1).cast<std::vector<std::string>>();
    return "'" + name + "'" + (close.empty() ? "." : "; did you mean '" + close.front() + "'?");
}

class Fields
{
public:
    //! Raises TypeError for a name that the creator doesn't list and for a value of another kind, ValueError for one
    //! that is out of range.
    Fields(std::string const& plugin, nvinfer1::PluginFieldCollection const* listed, py::dict const& given)
    {
        std::vector<std::string> names;
        for (int32_t i = 0; listed != nullptr && i < listed->nbFields; ++i)
        {
            names.emplace_back(listed->fields[i].name);
        }
        for (auto const& [key, value] : given)
        {
            std::string const name = textOf(key);
            nvinfer1::PluginField const* found{nullptr};
            for (size_t i = 0; i < names.size(); ++i)
            {
                found = names[i] == name ? listed->fields + i : found;
            }
            if (found == nullptr)
            {
                std::string all;
                for (std::string const& one : names)
                {
                    all += (all.empty() ? "" : ", ") + one;
                }
                throw py::type_error(plugin + " has no field " + withGuess(name, names) +
                                     (all.empty() ? " It has none." : " It has: " + all + "."));
            }
            add(plugin + "'s field " + name, *found, value);
            mText += (mText.empty() ? "" : ", ") + name + "=" + py::repr(value).cast<std::string>();
        }
        mCollection = {static_cast<int32_t>(mFields.size()), mFields.data()};
    }
    Fields(Fields const&) = delete;
    Fields& operator=(Fields const&) = delete;

    nvinfer1::PluginFieldCollection const* get() const noexcept
    {
        return &mCollection;
    }
    //! `alpha=0.5, mode=1`
    std::string const& text() const noexcept
    {
        return mText;
    }

private:
    void add(std::string const& what, nvinfer1::PluginField const& listed, py::handle value)
    {
        std::string& bytes = mValues.emplace_back();
        int32_t length{0};
        auto const each = [&](auto convert)
        {
            // NumPy's scalars and arrays of no dimension are sequences without a length.
            bool const several = PySequence_Check(value.ptr()) != 0 && PyObject_Length(value.ptr()) >= 0;
            PyErr_Clear();
            py::list values;
            if (several)
            {
                values = py::list{py::reinterpret_borrow<py::object>(value)};
            }
            else
            {
                values.append(value);
            }
            for (py::handle const one : values)
            {
                convert(one);
                ++length;
            }
        };
        nvinfer1::PluginFieldType type{listed.type};
        switch (listed.type)
        {
        case nvinfer1::PluginFieldType::kFLOAT16:
        case nvinfer1::PluginFieldType::kBF16:
            type = nvinfer1::PluginFieldType::kFLOAT32; // as TensorRT's ONNX parser gives a float to such a field
            [[fallthrough]];
        case nvinfer1::PluginFieldType::kFLOAT32:
            each([&](py::handle one) { append(bytes, static_cast<float>(real(what, one, kFloatMax))); });
            break;
        case nvinfer1::PluginFieldType::kFLOAT64:
            each([&](py::handle one) { append(bytes, real(what, one, std::numeric_limits<double>::infinity())); });
            break;
        case nvinfer1::PluginFieldType::kINT8:
            each([&](py::handle one) { append(bytes, whole<int8_t>(what, one)); });
            break;
        case nvinfer1::PluginFieldType::kINT16:
            each([&](py::handle one) { append(bytes, whole<int16_t>(what, one)); });
            break;
        case nvinfer1::PluginFieldType::kINT32:
            each([&](py::handle one) { append(bytes, whole<int32_t>(what, one)); });
            break;
        case nvinfer1::PluginFieldType::kINT64:
            each([&](py::handle one) { append(bytes, whole<int64_t>(what, one)); });
            break;
        case nvinfer1::PluginFieldType::kCHAR:
        case nvinfer1::PluginFieldType::kUNKNOWN:
            if (!py::isinstance<py::str>(value) && !py::isinstance<py::bytes>(value))
            {
                throw py::type_error(what + " is a text; it was given a " + typeText(value) + ".");
            }
            bytes = value.cast<std::string>();
            length = static_cast<int32_t>(bytes.size());
            break;
        default:
            throw py::type_error(what + " has a type that can't be given from Python (PluginFieldType " +
                                 std::to_string(static_cast<int32_t>(listed.type)) + ").");
        }
        mNames.emplace_back(listed.name);
        bytes.push_back('\0'); // an address, also where there are no elements
        mFields.push_back({mNames.back().c_str(), bytes.data(), type, length});
    }

    template <typename T>
    static void append(std::string& bytes, T value)
    {
        bytes.append(reinterpret_cast<char const*>(&value), sizeof value);
    }

    static double real(std::string const& what, py::handle value, double most)
    {
        double const number = PyFloat_AsDouble(value.ptr());
        if (PyErr_Occurred() != nullptr)
        {
            PyErr_Clear();
            throw py::type_error(what + " is a number; it was given a " + typeText(value) + ".");
        }
        if (std::isfinite(number) && std::fabs(number) > most)
        {
            throw py::value_error(what + " is a float32, which " + textOf(value) + " is too large for.");
        }
        return number;
    }

    template <typename T>
    static T whole(std::string const& what, py::handle value)
    {
        py::object const index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
        if (!index)
        {
            PyErr_Clear();
            throw py::type_error(what + " is a whole number; it was given a " + typeText(value) + ".");
        }
        int overflow{0};
        long long const number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
        if (overflow != 0 || number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max())
        {
            throw py::value_error(what + " is an int" + std::to_string(8 * sizeof(T)) + ", which " + textOf(value) +
                                  " is out of range of.");
        }
        return static_cast<T>(number);
    }

    static constexpr double kFloatMax{std::numeric_limits<float>::max()};

    std::deque<std::string> mNames;
    std::deque<std::string> mValues;
    std::vector<nvinfer1::PluginField> mFields;
    nvinfer1::PluginFieldCollection mCollection{};
    std::string mText;
};

} // namespace python

} // namespace pluginkit
