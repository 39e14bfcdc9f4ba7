//! Where a library's kernels run: on the host (target cpu) or on a GPU. What arrays, streams and workspaces are there.
#pragma once

#include <pluginkit/cpu/control.h>
#include <pluginkit/python/array.h>
#include <pluginkit/python/driver.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace pluginkit
{

namespace python
{

//! A call's work: enqueue, given a workspace and a stream.
using Work = std::function<void(void* workspace, void* stream)>;

class Device
{
public:
    Device() = default;
    Device(Device const&) = delete;
    Device& operator=(Device const&) = delete;
    virtual ~Device() = default;

    //! TensorRT gives addresses on GPUs at multiples of 256; host memory comes at multiples of 16.
    virtual uintptr_t alignment() const noexcept = 0;
    //! An object that is an array here; raises TypeError where it is none, or lies elsewhere.
    virtual Source source(std::string const& what, py::handle object) const = 0;
    //! Its memory. By DLPack alone `stream` has to wait for the array's data.
    virtual Array view(Source const& source, Stream stream) const = 0;
    //! The handle of what a caller gives as stream=, none for None.
    virtual std::optional<Stream> given(py::handle stream) const = 0;
    //! Has the work done, or queued on the stream, which waits for what other streams the arrays come from.
    virtual void run(std::string const& plugin, std::vector<Array const*> const& arrays, Stream stream,
                     size_t workspace, Work const& work) const = 0;
    //! A new array of the same kind as another one.
    virtual py::object empty(Array const& like, nvinfer1::Dims const& dims, ElementType const& type) const
    {
        py::tuple shape{static_cast<size_t>(dims.nbDims)};
        for (int32_t i = 0; i < dims.nbDims; ++i)
        {
            shape[static_cast<size_t>(i)] = dims.d[i];
        }
        if (isOf(like.object, "torch"))
        {
            py::module_ const torch = py::module_::import("torch");
            return torch.attr("empty")(shape, py::arg("dtype") = torch.attr(type.name),
                                       py::arg("device") = like.object.attr("device"));
        }
        for (auto const& [package, module] : {std::pair{"cupy", "cupy"}, {"pycuda", "pycuda.gpuarray"}})
        {
            if (isOf(like.object, package))
            {
                return py::module_::import(module).attr("empty")(shape, numpyType(like, type));
            }
        }
        return other(like, shape, type);
    }

protected:
    virtual py::object other(Array const& like, py::tuple const& shape, ElementType const& type) const = 0;

    static py::object numpyType(Array const& like, ElementType const& type)
    {
        bool const lacking = type.kind == 'V';
        if (lacking && like.type == &type)
        {
            return like.object.attr("dtype");
        }
        return lacking ? py::module_::import("ml_dtypes").attr(type.name) : py::str{type.name};
    }
};

//! The host: NumPy's arrays, and others of DLPack's device kDLCPU.
class HostDevice final : public Device
{
public:
    explicit HostDevice(PluginkitCpuControl const* control) noexcept : mControl{control} {}

    uintptr_t alignment() const noexcept override
    {
        return 16;
    }

    Source source(std::string const& what, py::handle object) const override
    {
        Source found{what, py::reinterpret_borrow<py::object>(object), attribute(object, "__array_interface__"), {}};
        // NumPy's scalars have one too, of an array that is gone.
        if (found.interface && attribute(object, "__setitem__"))
        {
            return found;
        }
        found.interface = py::object{};
        auto const device = dlpackDevice(object);
        if (device == DLDeviceType::kCPU || device == DLDeviceType::kCUDA_HOST)
        {
            return found;
        }
        bool const gpu = device.has_value() || attribute(object, "__cuda_array_interface__");
        throw py::type_error(what + ", a " + typeText(object) + ", " +
                             (gpu ? "lies on a GPU, and this library is of target cpu: import the module in build/gpu "
                                    "(pluginkit build --target gpu)."
                                  : "is not an array: give NumPy's, or one that has __dlpack__."));
    }

    Array view(Source const& source, Stream /*stream*/) const override
    {
        return source.interface ? fromInterface(source) : fromDlpack(source, std::nullopt);
    }

    std::optional<Stream> given(py::handle stream) const override
    {
        if (!stream.is_none())
        {
            throw py::value_error("This library is of target cpu, which has no streams: leave out stream=.");
        }
        return std::nullopt;
    }

    void run(std::string const& plugin, std::vector<Array const*> const& /*arrays*/, Stream /*stream*/,
             size_t workspace, Work const& work) const override
    {
        constexpr size_t kPage{4096};
        std::unique_ptr<void, decltype(&std::free)> const memory{
            workspace > 0 ? std::aligned_alloc(kPage, (workspace + kPage - 1) / kPage * kPage) : nullptr, &std::free};
        if (workspace > 0 && memory == nullptr)
        {
            throw std::bad_alloc{};
        }
        try
        {
            work(memory.get(), nullptr);
        }
        catch (std::runtime_error const& failure)
        {
            int const error = finish();
            throw std::runtime_error(failure.what() + (error != 0 ? found(error) : ""));
        }
        int const error = finish();
        if (error != 0)
        {
            throw std::runtime_error(plugin + "'s enqueue answered 0, but its kernels failed." + found(error));
        }
    }

protected:
    py::object other(Array const& like, py::tuple const& shape, ElementType const& type) const override
    {
        return py::module_::import("numpy").attr("empty")(shape, numpyType(like, type));
    }

private:
    //! Does what is still to be done; the error that this call has left, which the next one must not meet.
    int finish() const noexcept
    {
        int const error = mControl != nullptr ? mControl->drain() : 0;
        if (error != 0)
        {
            mControl->clearErrors();
        }
        return error;
    }

    static std::string found(int error)
    {
        return " cudaError " + std::to_string(error) + "; what was found in its kernels is on stderr.";
    }

    PluginkitCpuControl const* mControl;
};

//! An NVIDIA GPU: arrays with __cuda_array_interface__ or DLPack's kDLCUDA, on the caller's stream.
class GpuDevice final : public Device
{
public:
    uintptr_t alignment() const noexcept override
    {
        return 256;
    }

    Source source(std::string const& what, py::handle object) const override
    {
        Source found{
            what, py::reinterpret_borrow<py::object>(object), attribute(object, "__cuda_array_interface__"), {}};
        if (found.interface)
        {
            found.stream = streamOf(object, found.interface);
            return found;
        }
        auto const device = dlpackDevice(object);
        if (device == DLDeviceType::kCUDA || device == DLDeviceType::kCUDA_MANAGED)
        {
            return found;
        }
        bool const host = device.has_value() || attribute(object, "__array_interface__");
        throw py::type_error(
            what + ", a " + typeText(object) + ", " +
            (host ? "lies on the host, and this library is of target gpu: give an array on the GPU "
                    "(PyCUDA's, CuPy's, torch's), or import the module in build/cpu."
                  : "is not an array on a GPU: give one that has __cuda_array_interface__ or __dlpack__."));
    }

    Array view(Source const& source, Stream stream) const override
    {
        return source.interface ? fromInterface(source) : fromDlpack(source, stream);
    }

    std::optional<Stream> given(py::handle stream) const override
    {
        if (stream.is_none())
        {
            return std::nullopt;
        }
        if (py::isinstance<py::int_>(stream))
        {
            return known(stream.cast<Stream>());
        }
        if (py::object const protocol = attribute(stream, "__cuda_stream__"))
        {
            py::object const answer = PyCallable_Check(protocol.ptr()) != 0 ? protocol() : protocol;
            return known(answer[py::int_(1)].cast<Stream>());
        }
        for (char const* const name : {"cuda_stream", "ptr", "handle"}) // torch's, CuPy's, PyCUDA's
        {
            if (py::object const handle = attribute(stream, name))
            {
                return known(py::int_(handle).cast<Stream>());
            }
        }
        throw py::type_error("stream is a " + typeText(stream) +
                             "; it must be a stream of PyCUDA, CuPy or torch, one "
                             "with __cuda_stream__, or a handle as an int.");
    }

    void run(std::string const& plugin, std::vector<Array const*> const& arrays, Stream stream, size_t workspace,
             Work const& work) const override
    {
        Driver const& driver = Driver::get();
        InContext const inContext{driver, contextOf(driver, arrays)};
        auto* const handle = reinterpret_cast<void*>(stream);
        if (stream > kLastSpecial)
        {
            Driver::Context owner{nullptr};
            Driver::Context current{nullptr};
            driver.check(driver.cuStreamGetCtx(handle, &owner), "stream is not a stream");
            driver.check(driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
            if (owner != current)
            {
                throw py::value_error("stream is of another CUDA context or device than the arrays.");
            }
        }
        waitForOthers(driver, arrays, stream);
        uint64_t memory{0};
        if (workspace > 0)
        {
            driver.check(driver.cuMemAllocAsync(&memory, workspace, handle),
                         plugin + " has no workspace of " + std::to_string(workspace) + " bytes");
        }
        try
        {
            work(reinterpret_cast<void*>(memory), handle);
        }
        catch (...)
        {
            release(driver, memory, handle);
            throw;
        }
        release(driver, memory, handle);
    }

protected:
    py::object other(Array const& like, py::tuple const& /*shape*/, ElementType const& /*type*/) const override
    {
        throw py::type_error("Outputs are made for inputs of PyCUDA, CuPy and torch; for a " + typeText(like.object) +
                             " give them as out=.");
    }

private:
    static constexpr Stream kLastSpecial{2};

    class InContext
    {
    public:
        InContext(Driver const& driver, Driver::Context context) : mDriver{driver}
        {
            Driver::Context current{nullptr};
            driver.check(driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
            if (context != nullptr && context != current)
            {
                driver.check(driver.cuCtxPushCurrent(context), "cuCtxPushCurrent");
                mPushed = true;
            }
        }
        InContext(InContext const&) = delete;
        InContext& operator=(InContext const&) = delete;
        ~InContext()
        {
            Driver::Context popped{nullptr};
            if (mPushed)
            {
                mDriver.cuCtxPopCurrent(&popped);
            }
        }

    private:
        Driver const& mDriver;
        bool mPushed{false};
    };

    static std::optional<Stream> streamOf(py::handle object, py::handle interface)
    {
        if (isOf(object, "torch"))
        {
            // torch has no stream in its interface; its work is on its current one.
            py::object const cuda = py::module_::import("torch").attr("cuda");
            return known(cuda.attr("current_stream")(object.attr("device")).attr("cuda_stream").cast<Stream>());
        }
        py::object const said = interface.attr("get")("stream");
        return said.is_none() ? std::nullopt : std::optional{known(said.cast<Stream>())};
    }

    //! 0 is the legacy default stream in cudart's words; with 1 it is clear.
    static Stream known(Stream stream) noexcept
    {
        return stream == 0 ? kLegacyStream : stream;
    }

    //! The context that all arrays lie in, null for the current one; raises ValueError where they don't agree.
    static Driver::Context contextOf(Driver const& driver, std::vector<Array const*> const& arrays)
    {
        constexpr int32_t kContext{1};
        constexpr int32_t kOrdinal{9};
        Array const* first{nullptr};
        Array const* owned{nullptr};
        int32_t device{0};
        Driver::Context context{nullptr};
        for (Array const* const array : arrays)
        {
            int32_t ordinal{0};
            if (array->bytes() == 0)
            {
                continue;
            }
            if (!driver.attribute(array->data, kOrdinal, ordinal))
            {
                throw py::value_error(array->what + " begins at an address that CUDA does not know.");
            }
            if (first != nullptr && ordinal != device)
            {
                throw py::value_error(array->what + " is on GPU " + std::to_string(ordinal) + ", " + first->what +
                                      " on GPU " + std::to_string(device) + ": all arrays must be on one.");
            }
            first = first != nullptr ? first : array;
            device = ordinal;
            Driver::Context its{nullptr}; // stays null for memory of a pool, which has none
            if (driver.attribute(array->data, kContext, its) && its != nullptr)
            {
                if (owned != nullptr && its != context)
                {
                    throw py::value_error(array->what + " is in another CUDA context than " + owned->what +
                                          ": make all arrays in one (PyCUDA: import pycuda.autoprimaryctx).");
                }
                owned = array;
                context = its;
            }
        }
        int32_t current{-1};
        bool const there = driver.cuCtxGetDevice(&current) == 0 && (first == nullptr || current == device);
        if (context == nullptr && !there)
        {
            driver.check(driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
        }
        return context;
    }

    static void waitForOthers(Driver const& driver, std::vector<Array const*> const& arrays, Stream stream)
    {
        std::set<Stream> others;
        for (Array const* const array : arrays)
        {
            others.insert(array->stream.value_or(stream));
        }
        others.erase(stream);
        for (Stream const other : others)
        {
            constexpr uint32_t kNoTiming{2};
            void* event{nullptr};
            driver.check(driver.cuEventCreate(&event, kNoTiming), "cuEventCreate");
            int32_t const recorded = driver.cuEventRecord(event, reinterpret_cast<void*>(other));
            int32_t const waiting =
                recorded == 0 ? driver.cuStreamWaitEvent(reinterpret_cast<void*>(stream), event, 0) : 0;
            driver.cuEventDestroy(event);
            driver.check(recorded != 0 ? recorded : waiting, "stream cannot wait for the stream of an array");
        }
    }

    static void release(Driver const& driver, uint64_t memory, void* stream) noexcept
    {
        if (memory != 0)
        {
            driver.cuMemFreeAsync(memory, stream);
        }
    }
};

} // namespace python

} // namespace pluginkit
