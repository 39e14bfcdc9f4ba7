#include "buffer.h"

#include <new>

namespace pluginkit
{

Buffer::Buffer(std::size_t size) : mSize{size}
{
    mStorage.reset(static_cast<std::uint8_t*>(std::malloc(size + 2 * kGUARD_BYTES)));
    if (mStorage == nullptr)
    {
        throw std::bad_alloc{};
    }
    mData = mStorage.get() + kGUARD_BYTES;
    guard::fillBefore(mStorage.get(), mData);
    guard::fillBehind(mData + size, mData + size + kGUARD_BYTES);
    asan::close(mStorage.get(), kGUARD_BYTES);
    asan::close(mData + size, kGUARD_BYTES);
}

Buffer::~Buffer()
{
    asan::open(mStorage.get(), mSize + 2 * kGUARD_BYTES);
}

std::optional<Damage> Buffer::damage() const
{
    return guard::damage(mStorage.get(), mData, mSize, mData + mSize + kGUARD_BYTES);
}

} // namespace pluginkit
