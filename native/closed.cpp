#include "closed.h"

#include "call_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <new>
#include <string>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace pluginkit
{

//! Pages for one use at a time. It is never freed: a handler may look at it at any time.
struct ClosedSlot
{
    ClosedSlot* next; // of all
    std::uint8_t* first{nullptr};
    std::size_t room{0}; // bytes that can be accessed, from `first` on; 0: it has no pages now
    std::uint8_t* data{nullptr};
    std::size_t size{0};
    std::size_t item{0};
    std::array<char, 128> what{};
};

namespace
{

//! Closed bytes behind: an index that is wrong by some elements doesn't jump over them.
constexpr std::size_t kCLOSED{1U << 16};
//! Larger ones are given back to the system.
constexpr std::size_t kPOOLED{1U << 16};

std::atomic<ClosedSlot*> gAll{nullptr};
std::mutex gMutex;
//! Never destroyed: a plugin's static destructor may end something that has such memory.
std::vector<ClosedSlot*>& unused()
{
    static auto* const slots = new std::vector<ClosedSlot*>;
    return *slots;
}

void map(ClosedSlot& slot, std::size_t room)
{
    void* const pages = mmap(nullptr, room + kCLOSED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
    {
        throw std::bad_alloc{};
    }
    if (mprotect(pages, room, PROT_READ | PROT_WRITE) != 0)
    {
        munmap(pages, room + kCLOSED);
        throw std::bad_alloc{};
    }
    slot.first = static_cast<std::uint8_t*>(pages);
    slot.room = room;
}

//! One of that room, without anybody's else.
ClosedSlot& take(std::size_t room)
{
    std::lock_guard<std::mutex> const lock{gMutex};
    auto found = std::find_if(unused().rbegin(), unused().rend(),
                              [room](ClosedSlot const* one) { return one->room == room || one->room == 0; });
    if (found != unused().rend())
    {
        ClosedSlot& slot = **found;
        if (slot.room == 0)
        {
            map(slot, room);
        }
        unused().erase(std::next(found).base());
        return slot;
    }
    auto* const slot = new ClosedSlot{gAll.load()};
    gAll = slot;
    unused().reserve(unused().size() + 1);
    map(*slot, room);
    return *slot;
}

} // namespace

ClosedBytes::ClosedBytes(std::size_t size, std::size_t item, char const* what, std::string_view name) : mSize{size}
{
    static std::size_t const page = static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
    mSlot = &take(std::max(page, (size + page - 1) / page * page));
    mData = mSlot->first + mSlot->room - size;
    mSlot->size = size;
    mSlot->item = item;
    std::string const text = name.empty() ? what : std::string{what} + " '" + std::string{name.substr(0, 64)} + "'";
    std::snprintf(mSlot->what.data(), mSlot->what.size(), "%s", text.c_str());
    mSlot->data = mData;
}

ClosedBytes::~ClosedBytes()
{
    wipe();
    std::lock_guard<std::mutex> const lock{gMutex};
    if (mSlot->room > kPOOLED)
    {
        munmap(mSlot->first, mSlot->room + kCLOSED);
        mSlot->first = mSlot->data = nullptr;
        mSlot->room = 0;
    }
    unused().push_back(mSlot);
}

void ClosedBytes::wipe(std::uint8_t with)
{
    std::memset(mData, with, mSize);
}

void noteBeyond(siginfo_t const* info, [[maybe_unused]] void const* context) noexcept
{
    if (info->si_code <= 0) // sent by somebody
    {
        return;
    }
    auto const address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (ClosedSlot const* slot = gAll; slot != nullptr; slot = slot->next)
    {
        auto const end = reinterpret_cast<std::uintptr_t>(slot->first) + slot->room;
        if (slot->data == nullptr || address < end || address >= end + kCLOSED)
        {
            continue;
        }
        char const* verb = "reads or writes";
#ifdef REG_ERR
        // The second bit of x86's error code of a page fault is that of a write.
        auto const& registers = static_cast<ucontext_t const*>(context)->uc_mcontext.gregs;
        verb = (registers[REG_ERR] & 2) != 0 ? "writes" : "reads";
#endif
        std::size_t const at = address - reinterpret_cast<std::uintptr_t>(slot->data);
        std::array<char, 256> text{};
        if (slot->item == 0)
        {
            std::snprintf(text.data(), text.size(), "%s byte %zu of %s, which has %zu", verb, at, slot->what.data(),
                          slot->size);
        }
        else
        {
            std::snprintf(text.data(), text.size(), "%s %s[%zu], which has %zu", verb, slot->what.data(),
                          at / slot->item, slot->size / slot->item);
        }
        noteBeyond(text.data());
        return;
    }
}

} // namespace pluginkit
