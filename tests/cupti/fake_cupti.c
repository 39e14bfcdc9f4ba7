/* A library that calls back as CUPTI does, with structures that CUPTI's own headers lay out. */

#include <cupti_callbacks.h>
#include <cupti_result.h>
#include <stddef.h>
#include <string.h>

/* The arguments that are used here, from generated_cuda_meta.h, which can't be included whole. */
#include "parameters.h"

static CUpti_CallbackFunc gCallback;
static int gEnabled[8];
int gSubscribeAnswer;

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user)
{
    (void)user;
    *subscriber = (CUpti_SubscriberHandle)0x5eed;
    gCallback = callback;
    return (CUptiResult)gSubscribeAnswer;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    (void)subscriber;
    gCallback = NULL;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
    (void)subscriber;
    gEnabled[domain] = (int)enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t* version)
{
    *version = 130001;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, char const** text)
{
    (void)result;
    *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
    return CUPTI_SUCCESS;
}

static void tell(CUpti_CallbackDomain domain, CUpti_ApiCallbackSite site, char const* name, void const* parameters,
                 char const* symbol, int* answer)
{
    CUpti_CallbackData data;
    memset(&data, 0xee, sizeof data);
    data.callbackSite = site;
    data.functionName = name;
    data.functionParams = parameters;
    data.functionReturnValue = site == CUPTI_API_EXIT ? answer : (void*)(size_t)0xbad;
    data.symbolName = symbol;
    if (gCallback != NULL && gEnabled[domain])
    {
        gCallback(NULL, domain, 0, &data);
    }
}

static void call(char const* runtime, char const* driver, void const* parameters, char const* symbol, int answer)
{
    if (runtime != NULL)
    {
        tell(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_API_ENTER, runtime, NULL, NULL, NULL);
    }
    tell(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_API_ENTER, driver, parameters, symbol, NULL);
    tell(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_API_EXIT, driver, parameters, symbol, &answer);
    if (runtime != NULL)
    {
        tell(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_API_EXIT, runtime, NULL, NULL, &answer);
    }
}

/* What a plugin does that launches, copies, forks, allocates and is refused. */
void act(size_t stream, size_t other, size_t event)
{
    char const* const kernel = "_ZN2my6kernelIfEEvPT_";
    cuLaunchKernel_params launch = {.hStream = (CUstream)stream};
    call("cudaLaunchKernel_v7000", "cuLaunchKernel", &launch, kernel, 0);
    CUlaunchConfig config = {.hStream = (CUstream)other};
    cuLaunchKernelEx_params launchEx = {.config = &config};
    call("cudaLaunchKernelExC_v11060", "cuLaunchKernelEx", &launchEx, kernel, 0);
    cuEventRecord_params record = {.hEvent = (CUevent)event, .hStream = (CUstream)stream};
    call("cudaEventRecord_v3020", "cuEventRecord", &record, NULL, 0);
    cuStreamWaitEvent_params wait = {.hStream = (CUstream)other, .hEvent = (CUevent)event};
    call("cudaStreamWaitEvent_v3020", "cuStreamWaitEvent", &wait, NULL, 0);
    cuMemcpyDtoDAsync_v2_ptsz_params copy = {.hStream = NULL};
    call(NULL, "cuMemcpyDtoDAsync_v2_ptsz", &copy, NULL, 0);
    cuMemAlloc_v2_params allocate = {0};
    call("cudaMalloc_v3020", "cuMemAlloc_v2", &allocate, NULL, 900);
    call("cudaDeviceSynchronize_v3020", "cuCtxSynchronize", NULL, NULL, 0);
}

static void give(char const* runtime, char const* driver, void const* parameters, size_t* where, size_t object)
{
    int answer = 0;
    *where = 0xbad;
    tell(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_API_ENTER, runtime, NULL, NULL, NULL);
    tell(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_API_ENTER, driver, parameters, NULL, NULL);
    *where = object;
    tell(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_API_EXIT, driver, parameters, NULL, &answer);
    tell(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_API_EXIT, runtime, NULL, NULL, &answer);
}

/* A life of a plugin, which takes one object of each kind, and some that it isn't given. Those whose bits are in `kept`
   it doesn't give back. */
void live(size_t kept)
{
    size_t place = 0;
    cuMemAlloc_v2_params memory = {.dptr = (CUdeviceptr*)&place, .bytesize = 4096};
    give("cudaMalloc_v3020", "cuMemAlloc_v2", &memory, &place, 0x1000);
    cuMemAllocAsync_params ordered = {.dptr = (CUdeviceptr*)&place, .bytesize = 256};
    give("cudaMallocAsync_ptsz_v11020", "cuMemAllocAsync_ptsz", &ordered, &place, 0x2000);
    cuMemHostAlloc_params pinned = {.pp = (void**)&place, .bytesize = 512};
    give("cudaMallocHost_v3020", "cuMemHostAlloc", &pinned, &place, 0x3000);
    cuStreamCreate_params stream = {.phStream = (CUstream*)&place};
    give("cudaStreamCreate_v3020", "cuStreamCreate", &stream, &place, 0x1000);
    cuEventCreate_params event = {.phEvent = (CUevent*)&place};
    give("cudaEventCreate_v3020", "cuEventCreate", &event, &place, 0x5000);
    cuMemHostRegister_v2_params registered = {.p = (void*)0x6000, .bytesize = 64};
    call("cudaHostRegister_v4000", "cuMemHostRegister_v2", &registered, NULL, 0);
    /* Refused: nothing is taken. */
    memory.dptr = (CUdeviceptr*)(size_t)0xbad;
    call("cudaMalloc_v3020", "cuMemAlloc_v2", &memory, NULL, 2);

    cuMemFree_v2_params endMemory = {.dptr = 0x1000};
    cuMemFreeAsync_params endOrdered = {.dptr = 0x2000};
    cuMemFreeHost_params endPinned = {.p = (void*)0x3000};
    cuStreamDestroy_v2_params endStream = {.hStream = (CUstream)0x1000};
    cuEventDestroy_v2_params endEvent = {.hEvent = (CUevent)0x5000};
    cuMemHostUnregister_params endRegistered = {.p = (void*)0x6000};
    char const* const runtime[] = {"cudaFree_v3020", "cudaFreeAsync_ptsz_v11020", "cudaFreeHost_v3020",
                                   "cudaStreamDestroy_v5050", "cudaEventDestroy_v3020", "cudaHostUnregister_v4000"};
    char const* const driver[] = {"cuMemFree_v2", "cuMemFreeAsync_ptsz", "cuMemFreeHost",
                                  "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuMemHostUnregister"};
    void const* const ends[] = {&endMemory, &endOrdered, &endPinned, &endStream, &endEvent, &endRegistered};
    for (size_t i = 0; i < 6; ++i)
    {
        if ((kept >> i & 1) == 0)
        {
            call(runtime[i], driver[i], ends[i], NULL, 0);
        }
    }
}
