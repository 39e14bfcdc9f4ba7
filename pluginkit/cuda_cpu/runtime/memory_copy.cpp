//! How copies and fills are checked, and who waits for them.
//!
//! CUDA's promises (Runtime API, "API synchronization behavior"): a blocking copy waits, unless it is from device to
//! device; an asynchronous copy to pageable host memory returns when it is done; one from pageable host memory has read
//! that memory when it returns; a fill doesn't wait.

#include "memory_copy.h"

#include "findings.h"
#include "streams.h"

#include <cstring>
#include <memory>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

//! One end of a copy.
struct End
{
    void const* memory;
    std::optional<Allocation> known;
    bool strict; // what isn't known can't be device memory

    bool device() const noexcept
    {
        return known && !known->isHostsToo();
    }
    bool host() const noexcept
    {
        return known ? known->isHost() : strict;
    }
    //! Host memory that the system may move: CUDA copies it by the hand of the host.
    bool pageable(bool saysHost) const noexcept
    {
        return !known && (strict || saysHost);
    }
};

End endAt(void const* memory)
{
    return {memory, gMemory.find(reinterpret_cast<uintptr_t>(memory)), gMemory.deviceMemoryIsKnown()};
}

cudaError_t bad(Caller const& caller, std::string const& text)
{
    report({"bad-copy", std::string{caller.function} + " " + text, {nullptr, 0}, caller.code});
    return cudaErrorInvalidValue;
}

size_t span(size_t pitch, Rows const& rows) noexcept
{
    return pitch * (rows.height - 1) + rows.width;
}

//! Whether `size` bytes from there on are memory that can be used.
cudaError_t checkRange(End const& end, size_t size, bool written, Caller const& caller)
{
    auto const address = reinterpret_cast<uintptr_t>(end.memory);
    std::string const does = (written ? "writes " : "reads ") + std::to_string(size) + " bytes ";
    if (!end.known)
    {
        bool const freed = gMemory.findFreed(address).has_value();
        return freed ? bad(caller, does + "at " + describeAddress(end.memory)) : cudaSuccess;
    }
    Allocation const& known = *end.known;
    if (known.leaving)
    {
        return bad(caller, does + "at " + describeAddress(end.memory));
    }
    // Of an area that was registered, or is a variable of unknown size, only the beginning is known.
    bool const open = known.origin == Origin::kRegistered || known.size == 0;
    bool const inside =
        address >= known.begin && address - known.begin <= known.size && size <= known.size - (address - known.begin);
    return inside || open ? cudaSuccess : bad(caller, does + "from " + describeAddress(end.memory) + " on");
}

bool fromDevice(cudaMemcpyKind kind) noexcept
{
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
}

bool toDevice(cudaMemcpyKind kind) noexcept
{
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
}

cudaError_t checkDirection(End const& end, bool saysDevice, bool written, Caller const& caller)
{
    std::string const place = describeAddress(end.memory);
    std::string const what = place.empty() ? "memory that is not the device's" : place;
    if (saysDevice && end.host())
    {
        return bad(caller,
                   (written ? "to the device writes to host memory: " : "from the device reads host memory: ") + what);
    }
    if (!saysDevice && end.device())
    {
        return bad(caller,
                   (written ? "to the host writes to device memory: " : "from the host reads device memory: ") + what);
    }
    return cudaSuccess;
}

cudaError_t check(Copy const& copy, End const& to, End const& from, Caller const& caller)
{
    if (copy.to == nullptr || copy.from == nullptr)
    {
        return cudaErrorInvalidValue;
    }
    if (copy.toPitch < copy.rows.width || copy.fromPitch < copy.rows.width)
    {
        return cudaErrorInvalidPitchValue;
    }
    cudaError_t error = checkRange(to, span(copy.toPitch, copy.rows), true, caller);
    if (error == cudaSuccess)
    {
        error = checkRange(from, span(copy.fromPitch, copy.rows), false, caller);
    }
    if (error != cudaSuccess || copy.kind == cudaMemcpyDefault)
    {
        return error;
    }
    error = checkDirection(to, toDevice(copy.kind), true, caller);
    return error == cudaSuccess ? checkDirection(from, fromDevice(copy.kind), false, caller) : error;
}

void copyNow(Copy const& copy, bool toHost, Caller const& caller)
{
    for (size_t row = 0; row < copy.rows.height; ++row)
    {
        auto* const to = static_cast<char*>(copy.to) + row * copy.toPitch;
        auto const* const from = static_cast<char const*>(copy.from) + row * copy.fromPitch;
        observeCopy(to, from, copy.rows.width, toHost, caller);
        std::memmove(to, from, copy.rows.width);
    }
}

//! Host memory that a deferred copy uses, marked while this object lives.
class Passenger
{
public:
    Passenger(End const& end, size_t size, bool written)
    {
        if (end.known && !end.device())
        {
            mNumber = gMemory.takeOff({reinterpret_cast<uintptr_t>(end.memory), size, written});
        }
    }
    ~Passenger()
    {
        if (mNumber != 0)
        {
            gMemory.land(mNumber);
        }
    }
    Passenger(Passenger const&) = delete;
    Passenger& operator=(Passenger const&) = delete;

private:
    int mNumber{0};
};

//! What a deferred copy keeps until it is done.
struct Baggage
{
    std::unique_ptr<char[]> bytes; // the source, where CUDA reads it at the call
    std::unique_ptr<Passenger> to;
    std::unique_ptr<Passenger> from;
};

//! Gives the copy to the stream, to be done later.
cudaError_t defer(Copy copy, End const& to, End const& from, cudaStream_t stream, Caller const& caller, bool toHost)
{
    std::shared_ptr<Baggage> baggage{new Baggage}; // make_shared would leave a mark in the process
    bool const saysHost = copy.kind == cudaMemcpyHostToDevice || copy.kind == cudaMemcpyHostToHost;
    if (from.pageable(saysHost))
    {
        size_t const size = span(copy.fromPitch, copy.rows);
        baggage->bytes.reset(new char[size]);
        std::memcpy(baggage->bytes.get(), copy.from, size);
        copy.from = baggage->bytes.get();
    }
    baggage->from.reset(new Passenger{from, span(copy.fromPitch, copy.rows), false});
    baggage->to.reset(new Passenger{to, span(copy.toPitch, copy.rows), true});
    auto work = [copy, toHost, caller, baggage]() mutable
    {
        copyNow(copy, toHost, caller);
        baggage.reset();
    };
    cudaError_t const error = gStreams.enqueue(stream, std::move(work), caller, Side::kDevice);
    updateGuard();
    return error;
}

} // namespace

cudaError_t copyRows(Copy const& copy, cudaStream_t stream, bool blocking, Caller const& caller)
{
    if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault)
    {
        return cudaErrorInvalidMemcpyDirection;
    }
    if (!isStream(stream))
    {
        return cudaErrorInvalidResourceHandle;
    }
    if (copy.rows.width == 0 || copy.rows.height == 0)
    {
        return cudaSuccess;
    }
    End const to = endAt(copy.to);
    End const from = endAt(copy.from);
    cudaError_t const error = check(copy, to, from, caller);
    if (error != cudaSuccess)
    {
        return error;
    }
    bool const any = copy.kind == cudaMemcpyDefault;
    bool const saysToHost = copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyHostToHost;
    bool const deviceOnly = copy.kind == cudaMemcpyDeviceToDevice || (any && to.device() && from.device());
    bool const toHost = saysToHost || (any && to.host());
    bool const unclear = any && ((!to.known && !to.strict) || (!from.known && !from.strict));
    bool const waits = blocking ? !deviceOnly : to.pageable(saysToHost);
    if (waits)
    {
        checkNoSynchronization(caller, blocking ? "waits for the copy"
                                                : "waits for the copy, because the host memory is not pinned");
    }
    if (!waits && !unclear && deferred())
    {
        return defer(copy, to, from, stream, caller, toHost);
    }
    cudaError_t const given =
        gStreams.enqueue(stream, [copy, toHost, caller] { copyNow(copy, toHost, caller); }, caller, Side::kDevice);
    return given == cudaSuccess && (waits || unclear) ? gStreams.synchronize(stream) : given;
}

cudaError_t fillRows(void* to, size_t pitch, int value, Rows const& rows, cudaStream_t stream, Caller const& caller)
{
    if (!isStream(stream))
    {
        return cudaErrorInvalidResourceHandle;
    }
    if (rows.width == 0 || rows.height == 0)
    {
        return cudaSuccess;
    }
    if (to == nullptr)
    {
        return cudaErrorInvalidValue;
    }
    if (pitch < rows.width)
    {
        return cudaErrorInvalidPitchValue;
    }
    End const end = endAt(to);
    cudaError_t error = checkRange(end, span(pitch, rows), true, caller);
    if (error == cudaSuccess && !end.known && end.strict)
    {
        error = bad(caller, "fills memory that is not the device's");
    }
    if (error != cudaSuccess)
    {
        return error;
    }
    auto work = [to, pitch, value, rows]
    {
        for (size_t row = 0; row < rows.height; ++row)
        {
            auto* const start = static_cast<char*>(to) + row * pitch;
            std::memset(start, value, rows.width);
            observeFill(start, rows.width);
        }
    };
    return gStreams.enqueue(stream, std::move(work), caller, Side::kDevice);
}

} // namespace v2

} // namespace pluginkit_cpu
