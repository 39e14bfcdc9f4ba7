#include "call_file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace pluginkit
{

namespace
{

char* gCrumb = nullptr;
std::atomic<char const*> gAbsent{nullptr};

[[noreturn]] void fail(std::string const& what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

void setCallFile(std::string const& path)
{
    if (gCrumb != nullptr)
    {
        munmap(gCrumb, kCALL_FILE_BYTES);
        gCrumb = nullptr;
    }
    if (path.empty())
    {
        return;
    }
    int const file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
    {
        fail("callFile file " + path);
    }
    void* mapping = MAP_FAILED;
    if (ftruncate(file, kCALL_FILE_BYTES) == 0)
    {
        mapping = mmap(nullptr, kCALL_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    int const error = errno;
    close(file);
    if (mapping == MAP_FAILED)
    {
        errno = error;
        fail("callFile file " + path);
    }
    gCrumb = static_cast<char*>(mapping);
    std::memset(gCrumb, 0, kCALL_FILE_BYTES);
}

void noteAbsentCall(char const* text) noexcept
{
    char const* none = nullptr;
    if (gAbsent.compare_exchange_strong(none, text) && gCrumb != nullptr)
    {
        std::snprintf(gCrumb + kABSENT_AT, kBEYOND_AT - kABSENT_AT, "%s", text);
    }
}

void forgetAbsentCall() noexcept
{
    gAbsent = nullptr;
    if (gCrumb != nullptr)
    {
        gCrumb[kABSENT_AT] = '\0';
    }
}

void noteBeyond(char const* text) noexcept
{
    if (gCrumb != nullptr)
    {
        std::snprintf(gCrumb + kBEYOND_AT, kCALL_FILE_BYTES - kBEYOND_AT, "%s", text);
    }
}

std::string absentCall()
{
    char const* const text = gAbsent;
    return text == nullptr ? "" : text;
}

Call::Call(char const* method) noexcept : Call{"", method} {}

Call::Call(char const* interface, char const* method) noexcept
{
    if (gCrumb != nullptr)
    {
        std::snprintf(gCrumb + 1, kABSENT_AT - 1, "%s%s%s", interface, *interface == '\0' ? "" : "::", method);
        gCrumb[kBEYOND_AT] = '\0';
        gCrumb[0] = 'I';
        // The plugin may die on its first instruction: the stores above must not be moved behind the call.
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
}

Call::~Call()
{
    if (gCrumb != nullptr)
    {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        gCrumb[0] = 'R';
    }
}

} // namespace pluginkit
