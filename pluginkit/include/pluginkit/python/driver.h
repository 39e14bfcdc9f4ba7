//! CUDA's driver, opened when a library of target gpu is first called: the module imports where there is no GPU.
#pragma once

#include <pluginkit/python/array.h>

#include <cstdint>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace pluginkit
{

namespace python
{

//! The functions of libcuda.so.1 that are needed here; cuda.h's names, types by their sizes.
class Driver
{
public:
    using Context = void*;

    //! Raises RuntimeError where there is no driver or it doesn't start.
    static Driver const& get()
    {
        static Driver const driver;
        return driver;
    }

    int32_t (*cuCtxGetCurrent)(Context*){nullptr};
    int32_t (*cuCtxGetDevice)(int32_t*){nullptr};
    int32_t (*cuCtxPushCurrent)(Context){nullptr};
    int32_t (*cuCtxPopCurrent)(Context*){nullptr};
    int32_t (*cuDevicePrimaryCtxRetain)(Context*, int32_t){nullptr};
    int32_t (*cuPointerGetAttribute)(void*, int32_t, uint64_t){nullptr};
    int32_t (*cuMemAllocAsync)(uint64_t*, size_t, void*){nullptr};
    int32_t (*cuMemFreeAsync)(uint64_t, void*){nullptr};
    int32_t (*cuStreamGetCtx)(void*, Context*){nullptr};
    int32_t (*cuStreamWaitEvent)(void*, void*, uint32_t){nullptr};
    int32_t (*cuEventCreate)(void**, uint32_t){nullptr};
    int32_t (*cuEventRecord)(void*, void*){nullptr};
    int32_t (*cuEventDestroy)(void*){nullptr};

    //! Raises RuntimeError for an answer that isn't CUDA_SUCCESS.
    void check(int32_t answer, std::string const& what) const
    {
        if (answer != 0)
        {
            char const* name{nullptr};
            mErrorName(answer, &name);
            throw std::runtime_error(what + ": " + (name != nullptr ? name : "CUDA error " + std::to_string(answer)) +
                                     ".");
        }
    }

    //! An attribute of an address; false where CUDA doesn't know the address.
    template <typename T>
    bool attribute(void const* address, int32_t which, T& value) const noexcept
    {
        return cuPointerGetAttribute(&value, which, reinterpret_cast<uint64_t>(address)) == 0;
    }

private:
    Driver()
    {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr)
        {
            throw std::runtime_error(
                "This library is of target gpu, and there is no NVIDIA driver here (libcuda.so.1). "
                "On a machine without a GPU use the module in build/cpu.");
        }
        int32_t (*init)(uint32_t){nullptr};
        find(library, "cuInit", init);
        find(library, "cuGetErrorName", mErrorName);
        find(library, "cuCtxGetCurrent", cuCtxGetCurrent);
        find(library, "cuCtxGetDevice", cuCtxGetDevice);
        find(library, "cuCtxPushCurrent_v2", cuCtxPushCurrent);
        find(library, "cuCtxPopCurrent_v2", cuCtxPopCurrent);
        find(library, "cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain);
        find(library, "cuPointerGetAttribute", cuPointerGetAttribute);
        find(library, "cuMemAllocAsync", cuMemAllocAsync);
        find(library, "cuMemFreeAsync", cuMemFreeAsync);
        find(library, "cuStreamGetCtx", cuStreamGetCtx);
        find(library, "cuStreamWaitEvent", cuStreamWaitEvent);
        find(library, "cuEventCreate", cuEventCreate);
        find(library, "cuEventRecord", cuEventRecord);
        find(library, "cuEventDestroy_v2", cuEventDestroy);
        check(init(0), "NVIDIA's driver does not start");
    }

    template <typename Function>
    static void find(void* library, char const* name, Function& function)
    {
        void* const symbol = dlsym(library, name);
        if (symbol == nullptr)
        {
            throw std::runtime_error(std::string{"NVIDIA's driver has no "} + name + ": it is older than CUDA 11.2.");
        }
        std::memcpy(&function, &symbol, sizeof symbol);
    }

    int32_t (*mErrorName)(int32_t, char const**){nullptr};
};

} // namespace python

} // namespace pluginkit
