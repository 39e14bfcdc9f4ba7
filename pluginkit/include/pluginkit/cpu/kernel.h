//! Running a kernel on the CPU: what a launch is rewritten to, and a thread's coordinates.
//!
//! The threads of a launch run one after another, in the calling thread, before the launch returns. A kernel whose
//! threads wait for one another (__syncthreads, warp shuffles) does not compile for target cpu yet; see device.h.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#define PLUGINKIT_CPU_HIDDEN __attribute__((visibility("hidden")))

// A kernel's names for its place; the launch sets them for each thread. (gridDim and blockDim are dim3 on a GPU, which
// converts from and to uint3, but must not be constructed once a thread of the host.)
extern PLUGINKIT_CPU_HIDDEN __thread uint3 threadIdx;
extern PLUGINKIT_CPU_HIDDEN __thread uint3 blockIdx;
extern PLUGINKIT_CPU_HIDDEN __thread uint3 blockDim;
extern PLUGINKIT_CPU_HIDDEN __thread uint3 gridDim;
constexpr int warpSize = 32;

namespace pluginkit_cpu
{

inline namespace v1
{

//! A launch's configuration, as <<<>>> has it.
struct Configuration
{
    dim3 grid;
    dim3 block;
    size_t sharedBytes;
    cudaStream_t stream;
};

//! What may stand for a grid or a block between <<< and >>>: a number, dim3, uint3, {x, y}. A signed number is taken
//! without a warning, as nvcc does.
struct Extent
{
    template <typename T>
    Extent(T const& value) noexcept : size(convert(value))
    {
    }

    template <typename X, typename Y>
    Extent(X x, Y y) noexcept : size(static_cast<unsigned int>(x), static_cast<unsigned int>(y))
    {
    }

    template <typename X, typename Y, typename Z>
    Extent(X x, Y y, Z z) noexcept
        : size(static_cast<unsigned int>(x), static_cast<unsigned int>(y), static_cast<unsigned int>(z))
    {
    }

    template <typename T>
    static dim3 convert(T const& value) noexcept
    {
        if constexpr (std::is_arithmetic_v<T>)
        {
            return dim3(static_cast<unsigned int>(value));
        }
        else
        {
            return value;
        }
    }

    dim3 size;
};

//! Whether a device would take the configuration; if not, cudaGetLastError() gives what CUDA gives.
PLUGINKIT_CPU_HIDDEN bool accept(Configuration const& configuration, char const* kernelName) noexcept;

//! A kernel with its configuration, waiting for its arguments.
template <typename Body>
class Launch
{
public:
    Launch(Body const& body, char const* name, Configuration const& configuration) noexcept
        : mBody(body), mName(name), mConfiguration(configuration)
    {
    }

    template <typename... Arguments>
    void with(Arguments&&... arguments) const
    {
        run(std::forward<Arguments>(arguments)...);
    }

    //! Like `with`; gives whether the configuration was accepted.
    template <typename... Arguments>
    bool run(Arguments&&... arguments) const
    {
        if (!accept(mConfiguration, mName))
        {
            return false;
        }
        // Evaluated and converted once; each thread gets its own copies, by value.
        std::tuple<std::decay_t<Arguments>...> const once{std::forward<Arguments>(arguments)...};
        gridDim = uint3{mConfiguration.grid.x, mConfiguration.grid.y, mConfiguration.grid.z};
        blockDim = uint3{mConfiguration.block.x, mConfiguration.block.y, mConfiguration.block.z};
        for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
        {
            for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
            {
                for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
                {
                    runBlock(once);
                }
            }
        }
        return true;
    }

private:
    template <typename Once>
    void runBlock(Once const& once) const
    {
        for (threadIdx.z = 0; threadIdx.z < blockDim.z; ++threadIdx.z)
        {
            for (threadIdx.y = 0; threadIdx.y < blockDim.y; ++threadIdx.y)
            {
                for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x)
                {
                    std::apply(mBody, once);
                }
            }
        }
    }

    Body mBody;
    char const* mName;
    Configuration mConfiguration;
};

//! A kernel by name; `on` takes what stands between <<< and >>>.
template <typename Body>
class Kernel
{
public:
    Kernel(Body const& body, char const* name) noexcept : mBody(body), mName(name) {}

    Launch<Body> on(Extent const& grid, Extent const& block, size_t sharedBytes = 0,
                    cudaStream_t stream = nullptr) const noexcept
    {
        return {mBody, mName, Configuration{grid.size, block.size, sharedBytes, stream}};
    }

private:
    Body mBody;
    char const* mName;
};

template <typename Body>
Kernel<Body> kernel(Body const& body, char const* name) noexcept
{
    return {body, name};
}

template <typename... Parameters, size_t... Index>
cudaError_t launchKernel(void (*kernel)(Parameters...), Configuration const& configuration,
                         [[maybe_unused]] void** arguments, std::index_sequence<Index...> /*indices*/)
{
    Launch const launch{kernel, "cudaLaunchKernel", configuration};
    bool const accepted = launch.run(*static_cast<std::remove_reference_t<Parameters>*>(arguments[Index])...);
    return accepted ? cudaSuccess : cudaErrorInvalidConfiguration;
}

} // namespace v1

} // namespace pluginkit_cpu

//! cudaLaunchKernel of a kernel whose type is known; `arguments[i]` points to the value of its i-th parameter.
//! (The compiler of target cpu takes a cast of the kernel to void* away, so that its type is known.)
template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             size_t sharedBytes = 0, cudaStream_t stream = nullptr)
{
    return pluginkit_cpu::v1::launchKernel(kernel, pluginkit_cpu::v1::Configuration{grid, block, sharedBytes, stream},
                                           arguments, std::index_sequence_for<Parameters...>{});
}
