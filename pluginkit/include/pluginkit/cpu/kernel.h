//! What a launch is rewritten to.
//!
//! The arguments are evaluated once; every thread gets its own copies of them, by value, as on a GPU.
#pragma once

#include <pluginkit/cpu/argument_pointers.h>
#include <pluginkit/cpu/engine.h>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace pluginkit_cpu
{

inline namespace v2
{

//! Where a test harness has host threads take turns, lets the next one run; else nothing.
PLUGINKIT_CPU_HIDDEN void handOver() noexcept;

//! A launch's configuration, as <<<>>> has it.
struct Configuration
{
    dim3 grid;
    dim3 block;
    size_t sharedBytes;
    cudaStream_t stream;
    bool cooperative;
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

//! The threads of one block that haven't begun, handed out one after another.
class Threads
{
public:
    //! Calls `thread` as each thread that the calling fiber is made, until none is left.
    template <typename Thread>
    PLUGINKIT_CPU_INLINE void each(Thread const& thread)
    {
        while (advance())
        {
            unsigned int x = threadIdx.x;
            do
            {
                thread();
                ++x;
            } while (inRow(x));
        }
    }

protected:
    //! A row of so many threads may simply run one after another; 0 as soon as one of them has waited.
    unsigned int mEnd{0};

private:
    //! Makes the calling fiber the thread `x` of its row; false where that is `advance`'s matter.
    //!
    //! The timer may stop the fiber anywhere here. It takes the fiber for the thread that threadIdx names, and sets the
    //! row's end to 0. So the end is read after threadIdx is written: a thread that was named and has not run is then
    //! `advance`'s, which sees that the stopped thread is that one, and runs it.
    PLUGINKIT_CPU_INLINE bool inRow(unsigned int x) noexcept
    {
        // Volatile, and no asm statement, which a compiler takes to change all memory. By pointers: clang++ 14 forgets
        // the volatile of a reference that is cast.
        *static_cast<unsigned int volatile*>(&threadIdx.x) = x;
        return x < *static_cast<unsigned int volatile*>(&mEnd);
    }

    //! Makes the calling fiber the next thread, or the first one of the next row; false when none is left. threadIdx is
    //! the one behind the thread that has ended.
    PLUGINKIT_CPU_HIDDEN bool advance() noexcept;
};

//! A kernel with its arguments.
class PLUGINKIT_CPU_HIDDEN Work
{
public:
    Work() = default;
    Work(Work const&) = delete;
    Work& operator=(Work const&) = delete;
    virtual ~Work() = default;

    //! Runs threads until none is left. A thread that waits keeps this call on its fiber; another fiber makes a new
    //! one.
    virtual void run(Threads& threads) const = 0;
};

//! Runs the work on the configuration's stream; an invalid configuration is an error of CUDA's.
//! The name must live as long as the library, where it is launched on a stream that is deferred.
PLUGINKIT_CPU_HIDDEN cudaError_t launch(char const* kernelName, Configuration const& configuration,
                                        std::shared_ptr<Work const> work);

template <typename Body, typename... Arguments>
class PLUGINKIT_CPU_HIDDEN Call final : public Work
{
public:
    template <typename... Given>
    explicit Call(char const* name, Body const& body, Given&&... given)
        : mBody(body), mArguments(std::forward<Given>(given)...)
    {
        closeArguments(name, mArguments);
    }

    void run(Threads& threads) const override
    {
        // Copies whose addresses nobody has stay in registers, whatever the threads write: one by one, since a tuple of
        // them doesn't. Large ones aren't worth it.
        using All = std::tuple<Arguments...>;
        if constexpr (std::is_trivially_copy_constructible_v<All> && sizeof(All) <= 256)
        {
            std::apply([&](Arguments... own) { threads.each([&] { mBody(own...); }); }, mArguments);
        }
        else
        {
            threads.each([&] { std::apply(mBody, mArguments); });
        }
    }

private:
    Body mBody;
    std::tuple<Arguments...> mArguments;
};

//! A kernel with its configuration, waiting for its arguments.
template <typename Body>
class Launch
{
public:
    Launch(Body const& body, char const* name, Configuration const& configuration) noexcept
        : mBody(body), mName(name), mConfiguration(configuration)
    {
        // Before the arguments are evaluated: what is static in them may be another thread's by then.
        handOver();
    }

    template <typename... Arguments>
    PLUGINKIT_CPU_INLINE cudaError_t run(Arguments&&... arguments) const
    {
        checkArguments(mName, arguments...);
        using Made = Call<Body, std::decay_t<Arguments>...>;
        return launch(mName, mConfiguration,
                      std::make_shared<Made const>(mName, mBody, std::forward<Arguments>(arguments)...));
    }

    //! As `run`, for `<<<>>>`, whose error is asked for by cudaGetLastError().
    template <typename... Arguments>
    PLUGINKIT_CPU_INLINE void with(Arguments&&... arguments) const
    {
        run(std::forward<Arguments>(arguments)...);
    }

private:
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
        return {mBody, mName, Configuration{grid.size, block.size, sharedBytes, stream, false}};
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
cudaError_t launchTyped(void (*kernel)(Parameters...), Configuration const& configuration,
                        [[maybe_unused]] void** arguments, std::index_sequence<Index...> /*indices*/)
{
    return Launch{kernel, "cudaLaunchKernel", configuration}.run(
        *static_cast<std::remove_reference_t<Parameters>*>(arguments[Index])...);
}

} // namespace v2

} // namespace pluginkit_cpu

//! cudaLaunchKernel of a kernel whose type is known; `arguments[i]` points to the value of its i-th parameter.
//! (The compiler of target cpu takes a cast of the kernel to void* away, so that its type is known.)
template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             size_t sharedBytes = 0, cudaStream_t stream = nullptr)
{
    return pluginkit_cpu::launchTyped(kernel, {grid, block, sharedBytes, stream, false}, arguments,
                                      std::index_sequence_for<Parameters...>{});
}

template <typename... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                        size_t sharedBytes = 0, cudaStream_t stream = nullptr)
{
    return pluginkit_cpu::launchTyped(kernel, {grid, block, sharedBytes, stream, true}, arguments,
                                      std::index_sequence_for<Parameters...>{});
}
