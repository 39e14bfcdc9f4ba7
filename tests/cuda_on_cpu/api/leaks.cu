// Lives of a plugin that take things and give back all but what `forgotten` names.
#include "check.h"

#include <cublas_v2.h>

#include <cstdlib>

enum Forgotten
{
    kNOTHING = 0,
    kMEMORY = 1,
    kPINNED = 2,
    kSTREAM = 4,
    kEVENT = 8,
    kHANDLE = 16,
    kASYNC = 32,
    kREGISTERED = 64,
};

static float registered[64];

EXPORT void* takeHost(size_t size)
{
    void* volatile memory = std::malloc(size); // or the call would be a jump, and no frame of this function's
    return memory;
}

EXPORT void giveHostBack(void* memory)
{
    std::free(memory);
}

EXPORT int giveBackLater()
{
    OK(cudaHostUnregister(registered));
    return 0;
}

EXPORT int live(int forgotten)
{
    static void* cache = nullptr; // made once, and kept
    void* memory = nullptr;
    void* pinned = nullptr;
    void* later = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    cublasHandle_t handle = nullptr;
    if (cache == nullptr)
    {
        OK(cudaMalloc(&cache, 1000));
    }
    OK(cudaMalloc(&memory, 1 << 20));                             // TAKEN 1
    OK(cudaMallocHost(&pinned, 4096));                            // TAKEN 2
    OK(cudaStreamCreate(&stream));                                // TAKEN 4
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); // TAKEN 8
    CHECK(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);        // TAKEN 16
    OK(cudaMallocAsync(&later, 256, stream));                     // TAKEN 32
    OK(cudaHostRegister(registered, sizeof(registered), 0));      // TAKEN 64
    OK((forgotten & kREGISTERED) != 0 ? cudaSuccess : cudaHostUnregister(registered));
    OK((forgotten & kASYNC) != 0 ? cudaSuccess : cudaFreeAsync(later, stream));
    CHECK((forgotten & kHANDLE) != 0 || cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
    OK((forgotten & kEVENT) != 0 ? cudaSuccess : cudaEventDestroy(event));
    OK((forgotten & kSTREAM) != 0 ? cudaSuccess : cudaStreamDestroy(stream));
    OK((forgotten & kPINNED) != 0 ? cudaSuccess : cudaFreeHost(pinned));
    OK((forgotten & kMEMORY) != 0 ? cudaSuccess : cudaFree(memory));
    return 0;
}
