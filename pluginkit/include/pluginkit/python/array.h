//! Arrays of Python as addresses, types and shapes: NumPy's __array_interface__, __cuda_array_interface__ (PyCUDA,
//! CuPy, torch, Numba), else DLPack. Nothing is copied.
#pragma once

#include <pluginkit/python/dlpack.h>
#include <pluginkit/python/types.h>

#include <cstring>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>

namespace pluginkit
{

namespace python
{

namespace py = pybind11;

//! A stream's handle; on target gpu 1 is CUDA's legacy default stream and 2 the default stream of the thread.
using Stream = uintptr_t;
constexpr Stream kLegacyStream{1};

//! An object that is an array where the library's kernels run.
struct Source
{
    std::string what; //!< as errors call it: `input 0 (x)`
    py::object object;
    py::object interface; //!< its array interface; null where it has DLPack alone
    //! The stream that its data comes from, as it reports it.
    std::optional<Stream> stream;
};

struct Array
{
    std::string what;
    py::object object;
    py::object kept; //!< what the memory's address came from
    void* data{nullptr};
    ElementType const* type{nullptr}; //!< null: a type that TensorRT has not
    std::string typeName;
    nvinfer1::Dims dims{};
    bool contiguous{true};
    bool writable{true};
    std::optional<Stream> stream;

    int64_t bytes() const noexcept
    {
        return elementCount(dims) * (type != nullptr ? type->bytes : 0);
    }
};

//! An attribute, or null where there is none; any other error of asking for it is thrown on.
inline py::object attribute(py::handle object, char const* name)
{
    PyObject* const found = PyObject_GetAttrString(object.ptr(), name);
    if (found == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError) == 0)
    {
        throw py::error_already_set{};
    }
    PyErr_Clear();
    return py::reinterpret_steal<py::object>(found);
}

inline std::string textOf(py::handle object)
{
    return py::str(object).cast<std::string>();
}

//! `numpy.ndarray`, `torch.Tensor`, `list`
inline std::string typeText(py::handle object)
{
    py::handle const type = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()));
    std::string const module = textOf(type.attr("__module__"));
    std::string const name = textOf(type.attr("__qualname__"));
    return module == "builtins" ? name : module + "." + name;
}

//! Whether the object's class, or one that it derives from, is of that package.
inline bool isOf(py::handle object, char const* package)
{
    PyTypeObject const* const type = Py_TYPE(object.ptr());
    size_t const length = std::strlen(package);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i)
    {
        py::object const module = attribute(PyTuple_GET_ITEM(type->tp_mro, i), "__module__");
        if (module && py::isinstance<py::str>(module))
        {
            std::string const name = textOf(module);
            if (name.compare(0, length, package) == 0 && (name.size() == length || name[length] == '.'))
            {
                return true;
            }
        }
    }
    return false;
}

namespace detail
{

inline void setShape(Array& array, py::handle shape)
{
    size_t const rank = py::len(shape);
    if (rank > static_cast<size_t>(nvinfer1::Dims::MAX_DIMS))
    {
        throw py::value_error(array.what + " has " + std::to_string(rank) + " dimensions; TensorRT's tensors have at " +
                              "most " + std::to_string(nvinfer1::Dims::MAX_DIMS) + ".");
    }
    array.dims.nbDims = static_cast<int32_t>(rank);
    for (size_t i = 0; i < rank; ++i)
    {
        array.dims.d[i] = shape[py::int_(i)].cast<int64_t>();
    }
}

//! Whether strides are those of C order; `unit` is what they count in, in elements' sizes.
template <typename StrideAt>
bool inOrder(nvinfer1::Dims const& dims, int64_t unit, StrideAt strideAt)
{
    int64_t expected{unit};
    for (int32_t i = dims.nbDims - 1; i >= 0; --i)
    {
        if (dims.d[i] != 1 && strideAt(i) != expected)
        {
            return elementCount(dims) == 0;
        }
        expected *= dims.d[i];
    }
    return true;
}

//! `typestr` of an array interface: byte order, kind, bytes. A `V` is bfloat16 or FP8 where the dtype says so.
inline void setType(Array& array, std::string const& typestr)
{
    for (ElementType const& one : kTypes)
    {
        bool const same = typestr.size() == 3 && typestr[1] == one.kind && typestr[2] - '0' == one.bytes;
        if (same && typestr[0] != '>' && one.kind != 'V')
        {
            array.type = &one;
            array.typeName = one.name;
            return;
        }
    }
    py::object const dtype = attribute(array.object, "dtype");
    std::string const said = dtype ? textOf(dtype) : typestr;
    array.typeName = said.compare(0, 6, "torch.") == 0 ? said.substr(6) : said;
    for (ElementType const& one : kTypes)
    {
        if (one.kind == 'V' && array.typeName == one.name)
        {
            array.type = &one;
        }
    }
}

} // namespace detail

//! From an `__array_interface__` or a `__cuda_array_interface__`; their keys are the same.
inline Array fromInterface(Source const& source)
{
    py::object const& interface = source.interface;
    Array array;
    array.what = source.what;
    array.object = source.object;
    array.kept = interface;
    array.stream = source.stream;
    detail::setType(array, textOf(interface["typestr"]));
    detail::setShape(array, interface["shape"]);
    py::object const data = interface["data"];
    if (!py::isinstance<py::tuple>(data))
    {
        throw py::type_error(array.what + ", a " + typeText(array.object) + ", does not say where its memory is.");
    }
    array.data = reinterpret_cast<void*>(data[py::int_(0)].cast<uintptr_t>());
    array.writable = !data[py::int_(1)].cast<bool>();
    py::object const strides = interface.attr("get")("strides");
    if (!strides.is_none() && array.type != nullptr)
    {
        array.contiguous = detail::inOrder(array.dims, array.type->bytes,
                                           [&strides](int32_t i) { return strides[py::int_(i)].cast<int64_t>(); });
    }
    return array;
}

//! From an object's `__dlpack__`. On a GPU the object gets the stream, and has that stream wait for its data.
inline Array fromDlpack(Source const& source, std::optional<Stream> stream)
{
    py::object const ask = source.object.attr("__dlpack__");
    py::object const capsule = stream ? ask(py::arg("stream") = *stream) : ask();
    // The capsule keeps its name: so it frees the tensor when it goes, and the array is kept as long as it.
    void* const held = PyCapsule_GetPointer(capsule.ptr(), "dltensor");
    if (held == nullptr)
    {
        throw py::error_already_set{};
    }
    DLTensor const& tensor = static_cast<DLManagedTensor const*>(held)->tensor;
    Array array;
    array.what = source.what;
    array.object = source.object;
    array.kept = capsule;
    array.data = static_cast<char*>(tensor.data) + tensor.byteOffset;
    array.typeName =
        "DLPack type " + std::to_string(tensor.dtype.code) + " of " + std::to_string(tensor.dtype.bits) + " bits";
    for (ElementType const& one : kTypes)
    {
        if (one.dlpack == tensor.dtype.code && one.bytes * 8 == tensor.dtype.bits && tensor.dtype.lanes == 1)
        {
            array.type = &one;
            array.typeName = one.name;
        }
    }
    py::tuple shape{static_cast<size_t>(tensor.ndim)};
    for (int32_t i = 0; i < tensor.ndim; ++i)
    {
        shape[static_cast<size_t>(i)] = tensor.shape[i];
    }
    detail::setShape(array, shape);
    array.contiguous =
        tensor.strides == nullptr || detail::inOrder(array.dims, 1, [&tensor](int32_t i) { return tensor.strides[i]; });
    return array;
}

//! The DLPack device of an object; none where it has no `__dlpack_device__`.
inline std::optional<DLDeviceType> dlpackDevice(py::handle object)
{
    py::object const ask = attribute(object, "__dlpack_device__");
    if (!ask)
    {
        return std::nullopt;
    }
    return static_cast<DLDeviceType>(ask()[py::int_(0)].cast<int32_t>());
}

} // namespace python

} // namespace pluginkit
