//! A block's shared memory: poisoned when the block begins, with closed bytes behind each array.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

class PLUGINKIT_CPU_HIDDEN SharedMemory
{
public:
    //! What a block may have in static arrays, and at most in all (compute capability 8.0; CUDA C++ Programming Guide,
    //! technical specifications).
    static constexpr size_t kSTATIC_LIMIT = 48 * 1024;
    static constexpr size_t kLIMIT = 163 * 1024;

    SharedMemory() = default;
    SharedMemory(SharedMemory const&) = delete;
    SharedMemory& operator=(SharedMemory const&) = delete;
    ~SharedMemory();

    //! Forgets what was there; so many bytes of dynamic shared memory come first.
    void begin(size_t dynamicBytes);

    //! The storage of a static array, made at the first call of a block.
    void* place(SharedArray const& array)
    {
        return !mParts.empty() && mParts.front().array == &array ? mMemory + mParts.front().begin : find(array);
    }

    //! Dynamic shared memory, which the array names.
    void* dynamic(SharedArray const& array);

    //! Reports the arrays behind which something was written.
    void end();

    size_t dynamicSize() const noexcept
    {
        return mDynamic;
    }

    size_t size() const noexcept
    {
        return mDynamic + mStatic;
    }

    uint32_t offset(void const* pointer) const noexcept;
    void* pointer(uint64_t address) const noexcept;
    bool holds(void const* pointer) const noexcept;

private:
    struct Part
    {
        SharedArray const* array; // null: dynamic, and not named yet
        size_t begin;
        size_t size;
    };

    void* find(SharedArray const& array);
    char* known(SharedArray const& array) const noexcept;
    char* part(SharedArray const* array, size_t size, size_t alignment);

    char* mMemory{nullptr};
    size_t mUsed{0};
    size_t mStatic{0};
    size_t mDynamic{0};
    std::vector<Part> mParts;
};

} // namespace v2

} // namespace pluginkit_cpu
