#include "backtrace.h"

#include "closed.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

namespace pluginkit
{

namespace
{

constexpr std::size_t kFRAMES = 64;
constexpr std::array kSIGNALS{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGQUIT, SIGALRM};

int gFile = -1;
std::array<struct sigaction, kSIGNALS.size()> gBefore{};
//! A plugin that has used up its stack has none for the handler.
alignas(16) std::array<char, std::size_t{1} << 16> gStack{};

using Frames = std::array<void*, kFRAMES>;

void write(Frames const& frames, int count, int skipped) noexcept
{
    for (int i = skipped; i < count; ++i)
    {
        void* const at = frames[static_cast<std::size_t>(i)];
        Dl_info info{};
        bool const known = dladdr(at, &info) != 0 && info.dli_fname != nullptr;
        auto const base = known ? reinterpret_cast<std::uintptr_t>(info.dli_fbase) : 0;
        std::array<char, 2048> line{};
        int const length = std::snprintf(line.data(), line.size(), "%s\t%zx\t%s\n", known ? info.dli_fname : "",
                                         static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(at) - base),
                                         known && info.dli_sname != nullptr ? info.dli_sname : "");
        auto const size = std::min(static_cast<std::size_t>(std::max(length, 0)), line.size() - 1);
        if (::write(gFile, line.data(), size) < 0)
        {
            return;
        }
    }
}

//! The frames of its caller are those of this function, of the kernel's return from the handler, and then those sought.
void handle(int number, siginfo_t* info, void* context)
{
    if (number == SIGSEGV)
    {
        noteBeyond(info, context);
    }
    Frames frames{};
    int const count = backtrace(frames.data(), static_cast<int>(kFRAMES));
    write(frames, count, 2);
    auto const which = std::find(kSIGNALS.begin(), kSIGNALS.end(), number) - kSIGNALS.begin();
    sigaction(number, &gBefore[static_cast<std::size_t>(which)], nullptr);
    if (info->si_code <= 0 || number == SIGALRM) // sent by somebody, or a timer: it does not happen again by itself
    {
        std::raise(number);
    }
}

void atExit()
{
    if (gFile >= 0)
    {
        Frames frames{};
        int const count = backtrace(frames.data(), static_cast<int>(kFRAMES));
        write(frames, count, 1);
    }
}

void install()
{
    Frames frames{};
    backtrace(frames.data(), 1); // the first call loads libgcc, which takes memory
    stack_t stack{};
    stack.ss_sp = gStack.data();
    stack.ss_size = gStack.size();
    sigaltstack(&stack, nullptr);
    for (std::size_t i = 0; i < kSIGNALS.size(); ++i)
    {
        struct sigaction action{};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        sigaction(kSIGNALS[i], &action, &gBefore[i]);
    }
    static bool const registered = std::atexit(atExit) == 0;
    static_cast<void>(registered);
}

void restore()
{
    for (std::size_t i = 0; i < kSIGNALS.size(); ++i)
    {
        struct sigaction now{};
        sigaction(kSIGNALS[i], nullptr, &now);
        if (now.sa_sigaction == handle)
        {
            sigaction(kSIGNALS[i], &gBefore[i], nullptr);
        }
    }
}

} // namespace

void setBacktraceFile(std::string const& path)
{
    if (gFile >= 0)
    {
        close(gFile);
        gFile = -1;
        restore();
    }
    if (path.empty())
    {
        return;
    }
    gFile = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (gFile < 0)
    {
        throw std::system_error(errno, std::generic_category(), "backtrace file " + path);
    }
    install();
}

} // namespace pluginkit
