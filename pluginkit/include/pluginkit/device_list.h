//! A list of numbers in device memory, for a kernel to read: a kernel's arguments have no room for a long one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <exception>
#include <memory>

namespace pluginkit
{

//! Copied with the plugin that has it: a plugin and its clones share the memory, and the last of them gives it back.
class DeviceList
{
public:
    //! Puts the list on the current device, unless one is there; false without memory for it, and data() is null then.
    template <typename List>
    bool upload(List const& list) noexcept
    {
        if (mData != nullptr)
        {
            return true;
        }
        size_t const bytes = list.size() * sizeof(float);
        void* memory = nullptr;
        if (cudaMalloc(&memory, bytes) != cudaSuccess)
        {
            return false;
        }
        try
        {
            mData = std::shared_ptr<float>(static_cast<float*>(memory),
                                           [](float* data) { static_cast<void>(cudaFree(data)); });
        }
        catch (std::exception const&)
        {
            return false; // the deleter has been called
        }
        if (cudaMemcpy(memory, list.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess)
        {
            mData.reset();
            return false;
        }
        return true;
    }

    //! Others that share the memory keep it.
    void clear() noexcept
    {
        mData.reset();
    }

    //! Device memory; null before upload().
    float const* data() const noexcept
    {
        return mData.get();
    }

private:
    std::shared_ptr<float> mData;
};

} // namespace pluginkit
