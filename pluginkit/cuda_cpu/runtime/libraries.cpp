#include "libraries.h"

#include "findings.h"
#include "memory.h"

#include <pluginkit/cpu/libraries/cublas_v2.h>

#include <string>

#ifdef PLUGINKIT_CPU_CHECKED
#include "accesses_checks.h"
#endif

namespace pluginkit_cpu
{

inline namespace v2
{

void notSupported(char const* function) noexcept
{
    libraries::reportNotSupported(function, __builtin_return_address(0));
}

namespace libraries
{

void reportNotSupported(std::string const& what, void const* code)
{
    report({"not-supported", what + " is what target cpu cannot do; it answers NOT_SUPPORTED", {nullptr, 0}, code});
}

namespace
{

class PLUGINKIT_CPU_HIDDEN Blocks final : public Work
{
public:
    explicit Blocks(std::function<void(size_t)> block) : mBlock(std::move(block)) {}

    void run(Threads& threads) const override
    {
        threads.each([this]
                     { mBlock(blockIdx.x + size_t{gridDim.x} * (blockIdx.y + size_t{gridDim.y} * blockIdx.z)); });
    }

private:
    std::function<void(size_t)> mBlock;
};

bool refuse(char const* kind, Caller const& caller, std::string const& text)
{
    report({kind, std::string{caller.function} + text, {nullptr, 0}, caller.code});
    stick(cudaErrorIllegalAddress);
    return false;
}

} // namespace

bool usable(Operand const& operand, Caller const& caller)
{
    auto const address = reinterpret_cast<uintptr_t>(operand.begin);
    std::string const does = std::string{operand.written ? " writes " : " reads "} + std::to_string(operand.size) +
                             " bytes of " + operand.name;
    if (operand.size == 0)
    {
        return true;
    }
    if (address < 65536)
    {
        return refuse("invalid-address", caller, does + " at a null pointer");
    }
    auto const known = gMemory.find(address);
    if (!known)
    {
        if (gMemory.findFreed(address) || gMemory.findInPages(address))
        {
            return refuse("invalid-address", caller, does + ": " + describeAddress(operand.begin));
        }
        return !gMemory.deviceMemoryIsKnown() ||
               refuse("host-pointer", caller,
                      does + ", which is neither memory of the device nor pinned memory of the host");
    }
    // Of an area that was registered, or a variable of unknown size, only the beginning is known.
    bool const open = known->origin == Origin::kRegistered || known->size == 0;
    bool const inside = address >= known->begin && address - known->begin <= known->size &&
                        operand.size <= known->size - (address - known->begin) && !known->leaving;
    return inside || open ||
           refuse("invalid-address", caller,
                  does + ", more than there are from " + describeAddress(operand.begin) + " on");
}

cudaError_t run(Caller const& caller, cudaStream_t stream, size_t blocks, std::function<void(size_t)> block)
{
    handOver();
    if (blocks == 0)
    {
        return cudaSuccess;
    }
    // More than a grid has along x are many more than memory has room for.
    dim3 const grid{static_cast<unsigned int>(blocks), 1, 1};
    return launch(caller.function, {grid, dim3{1, 1, 1}, 0, stream, false},
                  std::make_shared<Blocks const>(std::move(block)));
}

void access([[maybe_unused]] void const* begin, [[maybe_unused]] size_t size, [[maybe_unused]] bool writes,
            [[maybe_unused]] void const* code) noexcept
{
#ifdef PLUGINKIT_CPU_CHECKED
    accesses::gChecks.see({reinterpret_cast<uintptr_t>(begin), size, !writes, writes, false, code},
                          accesses::Strength::kPLAIN);
#endif
}

} // namespace libraries

} // namespace v2

} // namespace pluginkit_cpu
