//! AddressSanitizer's reports as findings, with the kernel's thread that it knows nothing of.

#include "asan.h"
#include "findings.h"
#include "memory.h"
#include "worker.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <dlfcn.h>

extern "C"
{
    __attribute__((weak)) void __asan_set_error_report_callback(void (*heard)(char const* text));
    __attribute__((weak)) void* __asan_get_report_address();
    __attribute__((weak)) int __asan_get_report_access_type();
    __attribute__((weak)) size_t __asan_get_report_access_size();
}

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

//! The address of the report's first frame that lies in this library; null if none does.
void const* ownCode(std::string_view report)
{
    Dl_info here{};
    dladdr(reinterpret_cast<void const*>(&ownCode), &here);
    for (size_t at = report.find("#0 0x"); at < report.size();)
    {
        std::string_view const line = report.substr(at, report.find('\n', at) - at);
        size_t const number = line.find("0x");
        if (number == std::string_view::npos)
        {
            break; // the stack's end; those after it are of other moments
        }
        auto const address = std::strtoull(line.data() + number, nullptr, 16);
        auto const* const code = reinterpret_cast<char const*>(static_cast<uintptr_t>(address));
        Dl_info there{};
        if (dladdr(code, &there) != 0 && there.dli_fbase == here.dli_fbase)
        {
            // ASan has stepped back from the return address already, as the reader of a finding will.
            return code + 1;
        }
        at = report.find('#', at + line.size());
        if (at != std::string_view::npos && report.substr(at, 2) == "#0")
        {
            break;
        }
    }
    return nullptr;
}

//! Where an address lies next to memory of the harness, whose guards the runtime doesn't know; empty if it doesn't.
std::string besideHarness(void const* address)
{
    constexpr uintptr_t kGUARD = 4096;
    auto const number = reinterpret_cast<uintptr_t>(address);
    for (uintptr_t distance = 1; distance <= kGUARD; ++distance)
    {
        for (bool const behind : {true, false})
        {
            auto const found = gMemory.find(behind ? number - distance : number + distance);
            if (!found || found->origin != Origin::kHarness)
            {
                continue;
            }
            // It says "byte 0 of the ... bytes at ...".
            std::string const whole = describeAddress(reinterpret_cast<void const*>(found->begin));
            return std::to_string(behind ? distance - 1 : distance) + " bytes " + (behind ? "behind" : "before") +
                   whole.substr(std::min(whole.find(" of ") + 3, whole.size()));
        }
    }
    return "";
}

//! The first line of the report with these words in it, without the blanks around it.
std::string lineWith(std::string_view report, std::string_view words)
{
    size_t const found = report.find(words);
    if (found == std::string_view::npos)
    {
        return {};
    }
    size_t const begin = report.find_first_not_of(' ', report.rfind('\n', found) + 1);
    return std::string{report.substr(begin, report.find('\n', found) - begin)};
}

//! What ASan calls the error: heap-buffer-overflow, SEGV, ...
std::string nameOf(std::string_view report)
{
    constexpr std::string_view kBEFORE = "AddressSanitizer: ";
    size_t const found = report.find(kBEFORE);
    if (found == std::string_view::npos)
    {
        return "error";
    }
    size_t const begin = found + kBEFORE.size();
    return std::string{report.substr(begin, report.find_first_of(" \n", begin) - begin)};
}

std::string describe(std::string_view report)
{
    void const* const address = __asan_get_report_address();
    if (std::string known = describeAddress(address); !known.empty())
    {
        return known;
    }
    if (std::string beside = besideHarness(address); !beside.empty())
    {
        return beside;
    }
    if (inKernel() && isShared(address))
    {
        return "in the block's shared memory, but in none of its arrays";
    }
    for (auto const* const words : {"<== Memory access", " is located "})
    {
        if (std::string line = lineWith(report, words); !line.empty())
        {
            return line;
        }
    }
    return "";
}

void heard(char const* text)
{
    // A thread of a kernel must not be stopped in here: ASan holds its locks.
    Worker* const worker = Worker::current();
    std::sig_atomic_t const before = worker == nullptr ? 0 : worker->inside;
    if (worker != nullptr)
    {
        worker->inside = 1;
    }
    std::string_view const report_ = text;
    char access[64];
    size_t const size = __asan_get_report_access_size();
    std::snprintf(access, sizeof(access), "%s of %zu byte%s at %p",
                  __asan_get_report_access_type() == 0 ? "a read" : "a write", size, size == 1 ? "" : "s",
                  __asan_get_report_address());
    std::string const place = describe(report_);
    std::string const what = size == 0 ? std::string{"an error"} : std::string{access};
    report({"address", what + (place.empty() ? "" : ": " + place) + " (AddressSanitizer: " + nameOf(report_) + ")",
            Place{nullptr, 0}, ownCode(report_)});
    if (worker != nullptr)
    {
        worker->inside = before;
    }
}

//! Listens as long as the library is loaded.
struct Listener
{
    Listener()
    {
        if (__asan_set_error_report_callback != nullptr)
        {
            __asan_set_error_report_callback(heard);
        }
    }

    Listener(Listener const&) = delete;
    Listener& operator=(Listener const&) = delete;

    ~Listener()
    {
        if (__asan_set_error_report_callback != nullptr)
        {
            __asan_set_error_report_callback(nullptr);
        }
    }
};

Listener const gListener;

} // namespace

} // namespace v2

} // namespace pluginkit_cpu
