#include "breadcrumb.h"

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

[[noreturn]] void fail(std::string const& what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

void setBreadcrumbFile(std::string const& path)
{
    if (gCrumb != nullptr)
    {
        munmap(gCrumb, kBREADCRUMB_BYTES);
        gCrumb = nullptr;
    }
    if (path.empty())
    {
        return;
    }
    int const file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
    {
        fail("breadcrumb file " + path);
    }
    void* mapping = MAP_FAILED;
    if (ftruncate(file, kBREADCRUMB_BYTES) == 0)
    {
        mapping = mmap(nullptr, kBREADCRUMB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    int const error = errno;
    close(file);
    if (mapping == MAP_FAILED)
    {
        errno = error;
        fail("breadcrumb file " + path);
    }
    gCrumb = static_cast<char*>(mapping);
    std::memset(gCrumb, 0, kBREADCRUMB_BYTES);
}

Call::Call(char const* method) noexcept : Call{"", method} {}

Call::Call(char const* interface, char const* method) noexcept
{
    if (gCrumb != nullptr)
    {
        std::snprintf(gCrumb + 1, kBREADCRUMB_BYTES - 1, "%s%s%s", interface, *interface == '\0' ? "" : "::", method);
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
