#include "findings.h"

#include "worker.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace
{

using pluginkit_cpu::Finding;

std::string quoted(char const* text)
{
    std::string out{"\""};
    for (char const* at = text; *at != '\0'; ++at)
    {
        auto const byte = static_cast<unsigned char>(*at);
        if (byte == '"' || byte == '\\')
        {
            out += '\\';
        }
        if (byte < 0x20)
        {
            char escape[8];
            std::snprintf(escape, sizeof(escape), "\\u%04x", byte);
            out += escape;
            continue;
        }
        out += *at;
    }
    return out + '"';
}

__attribute__((format(printf, 1, 2))) std::string format(char const* pattern, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(text, sizeof(text), pattern, arguments);
    va_end(arguments);
    return text;
}

//! Where a piece of code lies: the file, and the offset that addr2line takes.
struct Code
{
    char const* library{nullptr};
    size_t offset{0};
};

Code locate(void const* code)
{
    Dl_info info{};
    if (code == nullptr || dladdr(code, &info) == 0)
    {
        return {};
    }
    return {info.dli_fname,
            static_cast<size_t>(static_cast<char const*>(code) - static_cast<char const*>(info.dli_fbase))};
}

//! addr2line's output for a place in the code: "function at file:line", or the command to ask it by. The address is
//! where a call returns to, and the byte before it belongs to the call.
std::string placeOf(Code const& code)
{
    std::string const command = format("addr2line -Cfpe '%s' 0x%zx", code.library, code.offset - 1);
    std::string said;
    if (FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r"); pipe != nullptr)
    {
        char text[1024];
        said = std::fgets(text, sizeof(text), pipe) != nullptr ? text : "";
        pclose(pipe);
    }
    said.erase(std::min(said.find_last_not_of('\n') + 1, said.size()));
    return said.empty() || said.find(" at ??") != std::string::npos ? command : said;
}

std::string asJson(Finding const& finding)
{
    std::string line = "{\"kind\": " + quoted(finding.kind) + ", \"text\": " + quoted(finding.text.c_str());
    if (pluginkit_cpu::inKernel())
    {
        line += ", \"kernel\": " + quoted(pluginkit_cpu::kernelName());
        line += format(", \"block\": [%u, %u, %u]", blockIdx.x, blockIdx.y, blockIdx.z);
        if (!finding.ofBlock)
        {
            line += format(", \"thread\": [%u, %u, %u]", threadIdx.x, threadIdx.y, threadIdx.z);
        }
    }
    if (finding.place.file != nullptr)
    {
        line += ", \"file\": " + quoted(finding.place.file) + format(", \"line\": %d", finding.place.line);
    }
    if (Code const code = locate(finding.code); code.library != nullptr)
    {
        line += ", \"library\": " + quoted(code.library) + format(", \"offset\": %zu", code.offset);
    }
    if (Code const code = locate(finding.otherCode); code.library != nullptr)
    {
        line += format(", \"other_offset\": %zu", code.offset);
    }
    return line + "}\n";
}

std::string asWords(Finding const& finding)
{
    std::string words = format("pluginkit cpu: %s: ", finding.kind) + finding.text + "\n";
    if (pluginkit_cpu::inKernel())
    {
        words += format("  in kernel %s, ", pluginkit_cpu::kernelName());
        words += format("block (%u, %u, %u)", blockIdx.x, blockIdx.y, blockIdx.z);
        words += finding.ofBlock ? "\n" : format(", thread (%u, %u, %u)\n", threadIdx.x, threadIdx.y, threadIdx.z);
    }
    if (finding.place.file != nullptr)
    {
        words += format("  at %s:%d\n", finding.place.file, finding.place.line);
    }
    for (void const* each : {finding.code, finding.otherCode})
    {
        if (Code const code = locate(each); code.library != nullptr)
        {
            words += "  in " + placeOf(code) + "\n";
        }
    }
    return words;
}

} // namespace

void pluginkit_cpu::report(Finding const& finding)
{
    char const* const path = std::getenv("PLUGINKIT_CPU_FINDINGS");
    std::string const text = path == nullptr ? asWords(finding) : asJson(finding);
    int const file = path == nullptr ? STDERR_FILENO : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    // One write: lines of several threads and processes don't mix.
    if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    {
        std::fprintf(stderr, "%s", asWords(finding).c_str());
    }
    if (path != nullptr && file >= 0)
    {
        ::close(file);
    }
}
