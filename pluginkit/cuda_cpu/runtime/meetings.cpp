//! What threads wait in: barriers of the block, meetings of a warp's lanes.

#include "accesses.h"
#include "findings.h"
#include "switching.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

std::string at(Place const& place)
{
    return std::string{place.file} + ":" + std::to_string(place.line);
}

[[noreturn, gnu::cold, gnu::noinline]] void reportOutside(char const* operation, Place place)
{
    report({"trap", std::string{operation} + " is called outside of a kernel.", place});
    std::abort();
}

PLUGINKIT_CPU_INLINE Worker& worker(char const* operation, Place place)
{
    Worker* const current = Worker::current();
    if (current == nullptr)
    {
        reportOutside(operation, place);
    }
    return *current;
}

//! Those that came before keep their own place, for the report of a deadlock.
[[gnu::cold, gnu::noinline]] void reportOtherBarrier(Block& block, Barrier& barrier, Place place)
{
    report({"divergent-barrier",
            "threads of one block wait at different __syncthreads(): " + at(barrier.here.place) + " and " + at(place) +
                ". All threads of a block must come to the same one.",
            place});
    block.elsewhere.push_front(barrier.here);
    for (unsigned int i = 0; i < barrier.arrived; ++i)
    {
        Waiting const*& in = barrier.waiting[i]->waiting;
        in = in == nullptr ? &block.elsewhere.front() : in;
    }
    barrier.here.place = place;
}

//! Reports it, if it is another operation than the meeting's: the same name may stand at two addresses.
[[gnu::cold, gnu::noinline]] void reportOtherOperation(Meeting const& meeting, char const* operation, Place place)
{
    if (std::string_view{meeting.operation} == operation)
    {
        return;
    }
    report({"divergent-warp",
            std::string{"lanes of one warp meet in different operations: "} + meeting.operation + " at " +
                at(meeting.place) + " and " + operation + " at " + at(place) + ".",
            place});
}

[[gnu::cold, gnu::noinline]] void reportLaneLeftOut(char const* operation, unsigned int lane, Place place)
{
    report({"divergent-warp",
            std::string{operation} + " by lane " + std::to_string(lane) + ", which its own mask leaves out.", place});
}

//! All threads have arrived; so many of them wait.
void complete(Worker& worker, Block& block, Barrier& barrier, unsigned int waiting)
{
    barrier.result = barrier.predicates;
    barrier.predicates = 0;
    barrier.arrived = 0;
    --block.gathering;
    if (!block.elsewhere.empty())
    {
        std::for_each_n(barrier.waiting.begin(), waiting, [](Fiber* each) { each->waiting = nullptr; });
        if (block.gathering == 0)
        {
            block.elsewhere.clear(); // nobody waits in it
        }
    }
    worker.ready().push(barrier.waiting.data(), waiting);
    accesses::barrierPassed();
}

//! All lanes have arrived.
void complete(Worker& worker, Meeting& meeting)
{
    meeting.open = 1 - meeting.open;
    meeting.in().arrived = 0;
    meeting.in().predicates = 0;
    meeting.readers += meeting.arrivals;
    worker.ready().push(meeting.waiting, meeting.arrivals);
    meeting.arrivals = 0;
}

} // namespace

//! A thread of the warp has ended: those that wait wait for one less.
void Worker::release(Block& block, Warp& warp)
{
    for (auto& meeting : warp.meetings)
    {
        if (meeting->arrivals != 0 && meeting->in().arrived == (meeting->mask & warp.alive))
        {
            complete(*this, *meeting);
        }
    }
    for (unsigned int id = 0; block.gathering != 0 && id < Block::kBARRIERS; ++id)
    {
        Barrier& barrier = block.barriers[id];
        if (barrier.arrived > 0 && barrier.arrived == block.left)
        {
            complete(*this, block, barrier, barrier.arrived);
        }
    }
}

namespace
{

//! The running thread arrives; who goes on, if not this thread.
[[gnu::noinline]] Fiber& arrive(Worker& self, bool predicate, Barrier& barrier, Place place)
{
    Fiber& fiber = self.recorded();
    Block& block = *fiber.block;
    unsigned int const before = barrier.arrived;
    if (before == 0)
    {
        ++block.gathering;
        barrier.here = {"__syncthreads", place};
    }
    else if (barrier.here.place.line != place.line || barrier.here.place.file != place.file)
    {
        reportOtherBarrier(block, barrier, place);
    }
    barrier.predicates += predicate ? 1 : 0;
    barrier.arrived = before + 1;
    if (before + 1 == block.left)
    {
        complete(self, block, barrier, before);
        if (!self.launch().schedule.byNumber())
        {
            return fiber;
        }
        self.ready().push(&fiber);
        return self.next();
    }
    barrier.waiting[before] = &fiber;
    return self.next();
}

} // namespace

int blockBarrier(bool predicate, unsigned int id, Place place)
{
    Worker& self = worker("__syncthreads", place);
    Inside const guard{self};
    Fiber& fiber = self.fiber();
    Barrier& barrier = fiber.block->barriers[id % Block::kBARRIERS];
    if (Fiber& to = arrive(self, predicate, barrier, place); &to != &fiber)
    {
        self.hand(to);
    }
    return barrier.result;
}

void syncThreads(char const* file, int line)
{
    Worker& self = worker("__syncthreads", {file, line});
    self.goInside();
    Fiber& fiber = self.fiber();
    Block& block = *fiber.block;
    Barrier& barrier = block.barriers[0];
    unsigned int const before = barrier.arrived;
    // What most threads of a block do: neither the first one nor the last one, at the same place, and the next thread
    // that goes on is known.
    if (before != 0 && before + 1 != block.left && barrier.here.place.line == line && barrier.here.place.file == file &&
        self.knows())
    {
        barrier.arrived = before + 1;
        barrier.waiting[before] = &fiber;
        self.hand(self.first());
    }
    else if (Fiber& to = arrive(self, false, barrier, {file, line}); &to != &fiber)
    {
        self.hand(to);
    }
    self.goOutside();
}

Lanes const& warpMeet(uint32_t mask, uint64_t value, bool predicate, char const* operation, Place place)
{
    Worker& self = worker(operation, place);
    Inside const guard{self};
    Fiber& fiber = self.recorded();
    Warp& warp = fiber.block->warps[fiber.linear / warpSize];
    unsigned int const lane = fiber.linear % warpSize;
    if ((mask >> lane & 1U) == 0)
    {
        reportLaneLeftOut(operation, lane, place);
        mask |= 1U << lane;
    }
    Meeting& meeting = warp.meeting(mask);
    Lanes& in = meeting.in();
    if (in.arrived != 0 && meeting.operation != operation)
    {
        reportOtherOperation(meeting, operation, place);
    }
    meeting.operation = operation;
    meeting.place = place;
    in.values[lane] = value;
    in.arrived |= 1U << lane;
    in.predicates |= predicate ? 1U << lane : 0U;
    if (in.arrived == (mask & warp.alive))
    {
#ifdef PLUGINKIT_CPU_CHECKED
        if (std::string_view{operation} == "__syncwarp")
        {
            accesses::warpSynced(in.arrived);
        }
#endif
        complete(self, meeting);
        return in;
    }
    meeting.waiting[meeting.arrivals++] = &fiber;
    self.wait(fiber, operation, place);
    --meeting.readers;
    return in;
}

uint32_t activeMask(Place place)
{
    Worker& self = worker("__activemask", place);
    Inside const guard{self};
    Fiber& fiber = self.recorded();
    Record& record = *fiber.record;
    record.votes = true;
    self.wait(fiber, "__activemask", place);
    return record.active;
}

void readInactiveLane([[maybe_unused]] char const* operation, [[maybe_unused]] unsigned int lane,
                      [[maybe_unused]] Place place)
{
#ifdef PLUGINKIT_CPU_CHECKED
    report({"shuffle-inactive-lane",
            std::string{operation} + " reads lane " + std::to_string(lane) +
                ", which takes no part (it has ended, or the block is too small, or the mask leaves it out); the value "
                "is undefined.",
            place});
#endif
}

void yield() noexcept
{
    if (Worker* const self = Worker::current(); self != nullptr)
    {
        Inside const guard{*self};
        self->yield();
    }
}

void fence() noexcept
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    accesses::fenced();
}

void trap(char const* why, Place place)
{
    Worker& self = worker(why, place);
    self.inside = 1;
    bool const group = std::strstr(place.file, "/cooperative_groups") != nullptr;
    report(
        {"trap",
         std::string{why} + " ended the kernel." +
             (group ? " cooperative_groups calls it for a group that can't do what is asked: a grid's blocks wait for "
                      "one another only in a launch by cudaLaunchCooperativeKernel."
                    : ""),
         place});
    self.abandon(cudaErrorLaunchFailure);
}

void exitThread() noexcept
{
    worker("exit", {"inline PTX", 0}).leave();
}

void* staticShared(SharedArray const& array)
{
    Worker& self = worker("a __shared__ variable", array.place);
    Inside const guard{self};
    return self.fiber().block->shared.place(array);
}

void* dynamicShared(SharedArray const& array)
{
    Worker& self = worker("a __shared__ variable", array.place);
    Inside const guard{self};
    return self.fiber().block->shared.dynamic(array);
}

size_t dynamicSharedSize() noexcept
{
    Worker* const self = Worker::current();
    return self == nullptr ? 0 : self->fiber().block->shared.dynamicSize();
}

size_t totalSharedSize() noexcept
{
    Worker* const self = Worker::current();
    return self == nullptr ? 0 : self->fiber().block->shared.size();
}

void* gridWorkspace() noexcept
{
    Worker* const self = Worker::current();
    return self == nullptr || !self->launch().configuration.cooperative ? nullptr : self->launch().workspace;
}

uint32_t sharedOffset(void const* pointer) noexcept
{
    Worker* const self = Worker::current();
    return self == nullptr ? 0 : self->fiber().block->shared.offset(pointer);
}

void* sharedPointer(uint64_t address) noexcept
{
    Worker* const self = Worker::current();
    return self == nullptr ? reinterpret_cast<void*>(address) : self->fiber().block->shared.pointer(address);
}

bool isShared(void const* pointer) noexcept
{
    Worker* const self = Worker::current();
    return self != nullptr && self->fiber().block->shared.holds(pointer);
}

} // namespace v2

} // namespace pluginkit_cpu

//! What `assert` calls: objects of target cpu are renamed to call this one.
extern "C" [[noreturn]] PLUGINKIT_CPU_HIDDEN void
pluginkit_cpu_v2___assert_fail(char const* what, char const* file, unsigned int line, char const* function)
{
    using namespace pluginkit_cpu;
    Worker* const self = Worker::current();
    if (self == nullptr)
    {
        std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, what);
        std::abort();
    }
    self->inside = 1;
    report({"assert", std::string{"assert("} + what + ") failed in " + function + ".", {file, static_cast<int>(line)}});
    self->abandon(cudaErrorAssert);
}

//! std::chrono::system_clock::now() by its mangled name, renamed too: a thread that asks the host's clock waits for
//! others, as those of libcu++'s cuda::barrier do.
extern "C" PLUGINKIT_CPU_HIDDEN int64_t pluginkit_cpu_v2__ZNSt6chrono3_V212system_clock3nowEv() noexcept
{
    if (pluginkit_cpu::inKernel())
    {
        pluginkit_cpu::yield();
    }
    return std::chrono::system_clock::now().time_since_epoch().count();
}

extern "C"
{

    //! What nvcc has of its own, and cuda_pipeline.h and cuda_awbarrier.h call.
    PLUGINKIT_CPU_HIDDEN uint32_t pluginkit_cpu_v2___nvvm_get_smem_pointer(void* pointer)
    {
        return pluginkit_cpu::sharedOffset(pointer);
    }

} // extern "C"
