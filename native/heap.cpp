#include "heap.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace pluginkit
{

namespace
{

constexpr std::size_t kROOM = std::size_t{1} << 16; // of blocks at once; further ones aren't counted
constexpr int kFRAMES = 24;
constexpr std::size_t kKEPT = 8;

//! Where a library's code and data lie.
struct Range
{
    std::uintptr_t base{0};
    std::uintptr_t begin{UINTPTR_MAX};
    std::uintptr_t end{0};

    bool has(void const* address) const noexcept
    {
        auto const at = reinterpret_cast<std::uintptr_t>(address);
        return begin <= at && at < end;
    }
};

struct Entry
{
    void* memory;
    std::uint64_t number;
    std::size_t size;
    std::array<std::size_t, kKEPT> offsets;
};

//! What is counted. It takes no memory itself, so that it can be filled from within malloc.
struct Heap
{
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
    Range library;
    Range standard; // libstdc++
    std::array<Entry, kROOM>* entries{nullptr};
    std::uint64_t last{0};
};

Heap gHeap;
thread_local bool tInside = false; // backtrace() may take memory

class Lock
{
public:
    Lock() noexcept
    {
        while (gHeap.busy.test_and_set(std::memory_order_acquire))
        {
        }
    }
    ~Lock()
    {
        gHeap.busy.clear(std::memory_order_release);
    }
    Lock(Lock const&) = delete;
    Lock& operator=(Lock const&) = delete;
};

std::size_t home(void const* memory) noexcept
{
    return reinterpret_cast<std::uintptr_t>(memory) / 16 * 0x9E3779B97F4A7C15U % kROOM;
}

//! The memory's entry, or the free one that it would have; null if there is none.
Entry* find(void const* memory) noexcept
{
    for (std::size_t step = 0; step < kROOM; ++step)
    {
        Entry& entry = (*gHeap.entries)[(home(memory) + step) % kROOM];
        if (entry.memory == memory || entry.memory == nullptr)
        {
            return &entry;
        }
    }
    return nullptr;
}

//! Notes memory that the library took: `new` of libstdc++ may stand between.
__attribute__((noinline)) void* took(void* memory, std::size_t size) noexcept
{
    if (memory == nullptr || tInside)
    {
        return memory;
    }
    tInside = true;
    std::array<void*, kFRAMES> frames{};
    int const count = backtrace(frames.data(), kFRAMES);
    tInside = false;
    Entry made{memory, 0, size, {}};
    std::size_t kept = 0;
    bool outside = true; // still in this file or in libstdc++
    for (int i = 0; i < count && kept < kKEPT; ++i)
    {
        void const* const frame = frames[static_cast<std::size_t>(i)];
        if (gHeap.library.has(frame))
        {
            outside = false;
            made.offsets[kept++] = reinterpret_cast<std::uintptr_t>(frame) - gHeap.library.base;
        }
        else if (outside && i > 1 && !gHeap.standard.has(frame))
        {
            return memory; // another library's, called by ours or not
        }
    }
    if (kept == 0)
    {
        return memory;
    }
    Lock const lock;
    Entry* const entry = gHeap.entries == nullptr ? nullptr : find(memory);
    if (entry != nullptr)
    {
        made.number = ++gHeap.last;
        *entry = made;
    }
    return memory;
}

//! Takes the memory's entry out and returns it; one without memory if there was none.
Entry gaveBack(void* memory) noexcept
{
    if (memory == nullptr)
    {
        return {};
    }
    Lock const lock;
    Entry* entry = gHeap.entries == nullptr ? nullptr : find(memory);
    if (entry == nullptr || entry->memory == nullptr)
    {
        return {};
    }
    Entry const found = *entry;
    // What follows moves up, so that it is found without this one.
    std::size_t hole = static_cast<std::size_t>(entry - gHeap.entries->data());
    for (std::size_t next = (hole + 1) % kROOM; (*gHeap.entries)[next].memory != nullptr; next = (next + 1) % kROOM)
    {
        Entry& each = (*gHeap.entries)[next];
        std::size_t const wanted = home(each.memory);
        if ((next - wanted) % kROOM >= (next - hole) % kROOM)
        {
            (*gHeap.entries)[hole] = each;
            hole = next;
        }
    }
    (*gHeap.entries)[hole].memory = nullptr;
    return found;
}

void putBack(Entry const& entry) noexcept
{
    if (entry.memory == nullptr)
    {
        return;
    }
    Lock const lock;
    Entry* const place = gHeap.entries == nullptr ? nullptr : find(entry.memory);
    if (place != nullptr)
    {
        *place = entry;
    }
}

void* countedMalloc(std::size_t size) noexcept
{
    return took(std::malloc(size), size);
}

void* countedCalloc(std::size_t count, std::size_t size) noexcept
{
    return took(std::calloc(count, size), count * size);
}

void* countedRealloc(void* memory, std::size_t size) noexcept
{
    // Before: another thread may get the same address as soon as it is free.
    Entry const before = gaveBack(memory);
    void* const moved = std::realloc(memory, size);
    if (moved == nullptr && size != 0)
    {
        putBack(before);
    }
    return took(moved, size);
}

void* countedAlignedAlloc(std::size_t alignment, std::size_t size) noexcept
{
    return took(std::aligned_alloc(alignment, size), size);
}

int countedPosixMemalign(void** memory, std::size_t alignment, std::size_t size) noexcept
{
    int const error = posix_memalign(memory, alignment, size);
    if (error == 0)
    {
        took(*memory, size);
    }
    return error;
}

char* countedStrdup(char const* text) noexcept
{
    char* const copy = strdup(text);
    took(copy, std::strlen(text) + 1);
    return copy;
}

void countedFree(void* memory) noexcept
{
    gaveBack(memory); // before another thread can get the same address
    std::free(memory);
}

//! What another library calls.
void* movedRealloc(void* memory, std::size_t size) noexcept
{
    gaveBack(memory);
    return std::realloc(memory, size);
}

struct Function
{
    std::string_view name;
    void* counted;
    void* elsewhere{nullptr}; //!< In libraries that aren't counted.
};

Function const kFUNCTIONS[] = {
    {"malloc", reinterpret_cast<void*>(&countedMalloc)},
    {"calloc", reinterpret_cast<void*>(&countedCalloc)},
    {"realloc", reinterpret_cast<void*>(&countedRealloc), reinterpret_cast<void*>(&movedRealloc)},
    {"aligned_alloc", reinterpret_cast<void*>(&countedAlignedAlloc)},
    {"posix_memalign", reinterpret_cast<void*>(&countedPosixMemalign)},
    {"strdup", reinterpret_cast<void*>(&countedStrdup)},
    {"free", reinterpret_cast<void*>(&countedFree), reinterpret_cast<void*>(&countedFree)},
};

Range rangeOf(dl_phdr_info const& info) noexcept
{
    Range range;
    range.base = info.dlpi_addr;
    for (int i = 0; i < info.dlpi_phnum; ++i)
    {
        if (info.dlpi_phdr[i].p_type == PT_LOAD)
        {
            auto const begin = info.dlpi_addr + info.dlpi_phdr[i].p_vaddr;
            range.begin = std::min(range.begin, begin);
            range.end = std::max(range.end, begin + info.dlpi_phdr[i].p_memsz);
        }
    }
    return range;
}

//! A library's relocations, and what they are of.
struct Dynamic
{
    std::uintptr_t base{0};
    ElfW(Sym) const* symbols { nullptr };
    char const* names{nullptr};
    std::array<std::pair<ElfW(Rela) const*, std::size_t>, 2> relocations{};

    explicit Dynamic(dl_phdr_info const& info) : base(info.dlpi_addr)
    {
        ElfW(Dyn) const* entry = nullptr;
        for (int i = 0; i < info.dlpi_phnum; ++i)
        {
            if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
            {
                entry = reinterpret_cast<ElfW(Dyn) const*>(base + info.dlpi_phdr[i].p_vaddr);
            }
        }
        for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry)
        {
            // The loader has made addresses of these.
            auto const at = entry->d_un.d_ptr;
            switch (entry->d_tag)
            {
            case DT_SYMTAB:
                symbols = reinterpret_cast<ElfW(Sym) const*>(at);
                break;
            case DT_STRTAB:
                names = reinterpret_cast<char const*>(at);
                break;
            case DT_JMPREL:
                relocations[0].first = reinterpret_cast<ElfW(Rela) const*>(at);
                break;
            case DT_PLTRELSZ:
                relocations[0].second = entry->d_un.d_val / sizeof(ElfW(Rela));
                break;
            case DT_RELA:
                relocations[1].first = reinterpret_cast<ElfW(Rela) const*>(at);
                break;
            case DT_RELASZ:
                relocations[1].second = entry->d_un.d_val / sizeof(ElfW(Rela));
                break;
            default:
                break;
            }
        }
    }
};

bool isSlot(ElfW(Xword) type) noexcept
{
#if defined(__x86_64__)
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
#else
    return false;
#endif
}

void write(void** place, void* value) noexcept
{
    // The slots of a library are closed for writing once it is loaded.
    auto const page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    auto const at = reinterpret_cast<std::uintptr_t>(place);
    mprotect(reinterpret_cast<void*>(at / page * page), page, PROT_READ | PROT_WRITE);
    *place = value;
}

} // namespace

HeapCount::HeapCount(std::string const& library)
{
    struct Search
    {
        HeapCount& self;
        std::string library;
    } search{*this, library};
    std::array<char, PATH_MAX> real{};
    if (realpath(library.c_str(), real.data()) != nullptr)
    {
        search.library = real.data();
    }
    std::array<void*, 4> warm{};
    backtrace(warm.data(), static_cast<int>(warm.size())); // takes memory the first time
    {
        Lock const lock;
        gHeap.library = gHeap.standard = {};
        gHeap.entries = new std::array<Entry, kROOM>{};
    }
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* given)
        {
            auto& asked = *static_cast<Search*>(given);
            std::array<char, PATH_MAX> path{};
            std::string_view const name{realpath(info->dlpi_name, path.data()) != nullptr ? path.data() : ""};
            bool const standard = name.find("/libstdc++.so") != std::string_view::npos;
            bool const counted = name == asked.library || standard;
            if (counted)
            {
                (standard ? gHeap.standard : gHeap.library) = rangeOf(*info);
            }
            // This file calls what it stands for, and so does the C library.
            bool const own = rangeOf(*info).has(reinterpret_cast<void const*>(&countedFree));
            bool const libc =
                name.find("/libc.so") != std::string_view::npos || name.find("/ld-linux") != std::string_view::npos;
            if (counted || (!own && !libc && !name.empty()))
            {
                asked.self.redirect(info, counted);
            }
            return 0;
        },
        &search);
}

void HeapCount::redirect(void* info, bool counted)
{
    Dynamic const dynamic{*static_cast<dl_phdr_info*>(info)};
    for (auto const& [first, count] : dynamic.relocations)
    {
        for (std::size_t i = 0; first != nullptr && i < count; ++i)
        {
            auto const& relocation = first[i];
            std::string_view const name{dynamic.names + dynamic.symbols[ELF64_R_SYM(relocation.r_info)].st_name};
            auto const* const found = std::find_if(std::begin(kFUNCTIONS), std::end(kFUNCTIONS),
                                                   [&](Function const& each) { return each.name == name; });
            bool const known = found != std::end(kFUNCTIONS) && (counted || found->elsewhere != nullptr);
            if (known && isSlot(ELF64_R_TYPE(relocation.r_info)))
            {
                auto** const place = reinterpret_cast<void**>(dynamic.base + relocation.r_offset);
                mSlots.push_back({place, *place});
                write(place, counted ? found->counted : found->elsewhere);
            }
        }
    }
}

HeapCount::~HeapCount()
{
    stop();
}

void HeapCount::stop()
{
    for (auto const& slot : mSlots)
    {
        write(slot.place, slot.before);
    }
    mSlots.clear();
    Lock const lock;
    delete gHeap.entries;
    gHeap.entries = nullptr;
}

std::uint64_t HeapCount::last() const
{
    Lock const lock;
    return gHeap.last;
}

std::vector<HeapBlock> HeapCount::left(std::uint64_t after) const
{
    std::vector<Entry> entries;
    entries.reserve(kROOM); // while the lock is held nothing may be taken or freed
    {
        Lock const lock;
        for (std::size_t i = 0; gHeap.entries != nullptr && i < kROOM; ++i)
        {
            Entry const& entry = (*gHeap.entries)[i];
            if (entry.memory != nullptr && entry.number > after)
            {
                entries.push_back(entry);
            }
        }
    }
    std::sort(entries.begin(), entries.end(),
              [](Entry const& one, Entry const& other) { return one.number < other.number; });
    std::vector<HeapBlock> found;
    for (Entry const& entry : entries)
    {
        auto const end = std::find(entry.offsets.begin(), entry.offsets.end(), 0U);
        found.push_back({entry.number, entry.size, {entry.offsets.begin(), end}});
    }
    return found;
}

} // namespace pluginkit
