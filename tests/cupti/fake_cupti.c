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
