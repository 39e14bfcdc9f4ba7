//! The names and meanings of the errors that target cpu gives, and of those that sources ask about.

#include "state.h"

namespace
{

struct Named
{
    cudaError_t error;
    char const* name;
    char const* meaning;
};

constexpr Named kNAMES[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "an argument has a value that the function does not take"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "the runtime could not be started"},
    {cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "the runtime is being unloaded"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "a launch whose configuration no device takes"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "a pitch that is smaller than its rows, or too large"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "not a variable of the device"},
    {cudaErrorInvalidHostPointer, "cudaErrorInvalidHostPointer", "not a pointer into host memory"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "not a pointer into device memory"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "a direction of copying that does not exist"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "the driver is older than the runtime"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", "all devices are busy or unavailable"},
    {cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration", "a launch without a configuration"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "not a kernel of this library"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no device of CUDA is there"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "a device number that does not exist"},
    {cudaErrorInvalidKernelImage, "cudaErrorInvalidKernelImage", "the kernel's machine code can't be loaded"},
    {cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "no context of the device is current"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", "no machine code for this device"},
    {cudaErrorUnsupportedLimit, "cudaErrorUnsupportedLimit", "a limit that this device does not have"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported", "these devices can't see each other's memory"},
    {cudaErrorInvalidPtx, "cudaErrorInvalidPtx", "PTX that can't be compiled"},
    {cudaErrorOperatingSystem, "cudaErrorOperatingSystem", "a call of the operating system failed"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
     "a stream, event or other handle that was destroyed, or never was one"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "the resource is not in a state in which this can be done"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "no symbol of that name"},
    {cudaErrorNotReady, "cudaErrorNotReady", "the work asked about is not done yet"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "a kernel used memory that it must not use"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "the launch needs more registers or shared memory than a block can have"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "a kernel ran for too long and was ended"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "access to that device is enabled already"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "access to that device was never enabled"},
    {cudaErrorSetOnActiveProcess, "cudaErrorSetOnActiveProcess", "too late to set this: the device is in use"},
    {cudaErrorContextIsDestroyed, "cudaErrorContextIsDestroyed", "the device's context was destroyed"},
    {cudaErrorAssert, "cudaErrorAssert", "an assertion in a kernel failed"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "this host memory, or a part of it, is registered already"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered", "this host memory is not registered"},
    {cudaErrorHardwareStackError, "cudaErrorHardwareStackError", "a kernel's stack overflowed or was destroyed"},
    {cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction", "a kernel came to an instruction that does not exist"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "a kernel used an address without the type's alignment"},
    {cudaErrorInvalidAddressSpace, "cudaErrorInvalidAddressSpace", "an instruction for another kind of memory"},
    {cudaErrorInvalidPc, "cudaErrorInvalidPc", "a kernel jumped to where no code is"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "a kernel failed"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "a cooperative launch with more blocks than can run at the same time"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "not allowed here: a function that a stream calls can't use CUDA"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "this device, or target cpu, does not have this"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", "not possible while a stream is captured"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated", "the capture failed because of an error"},
    {cudaErrorTimeout, "cudaErrorTimeout", "a wait took too long"},
    {cudaErrorUnknown, "cudaErrorUnknown", "an unknown error"},
};

Named const* find(cudaError_t error) noexcept
{
    for (Named const& row : kNAMES)
    {
        if (row.error == error)
        {
            return &row;
        }
    }
    return nullptr;
}

} // namespace

extern "C"
{

    PLUGINKIT_CPU_HIDDEN char const* pluginkit_cpu_v2_cudaGetErrorName(cudaError_t error)
    {
        Named const* const row = find(error);
        return row == nullptr ? "a CUDA error that target cpu never gives" : row->name;
    }

    PLUGINKIT_CPU_HIDDEN char const* pluginkit_cpu_v2_cudaGetErrorString(cudaError_t error)
    {
        Named const* const row = find(error);
        return row == nullptr ? "a CUDA error that target cpu never gives" : row->meaning;
    }

} // extern "C"
