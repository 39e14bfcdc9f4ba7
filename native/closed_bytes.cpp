#include "closed_bytes.h"

#include <cstring>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace pluginkit
{

ClosedBytes::ClosedBytes(std::string const& bytes)
{
    auto const page = static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
    std::size_t const room = (bytes.size() + page - 1) / page * page;
    mPages = room + page;
    mFirst = mmap(nullptr, mPages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mFirst == MAP_FAILED)
    {
        throw std::bad_alloc{};
    }
    if (room > 0 && mprotect(mFirst, room, PROT_READ | PROT_WRITE) != 0)
    {
        munmap(mFirst, mPages);
        throw std::bad_alloc{};
    }
    mData = static_cast<std::uint8_t*>(mFirst) + room - bytes.size();
    if (!bytes.empty())
    {
        std::memcpy(mData, bytes.data(), bytes.size());
    }
}

ClosedBytes::~ClosedBytes()
{
    munmap(mFirst, mPages);
}

} // namespace pluginkit
