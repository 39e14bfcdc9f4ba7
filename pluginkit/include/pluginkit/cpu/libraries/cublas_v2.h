//! cuBLAS as far as target cpu has it: found before NVIDIA's header. Written from NVIDIA's "cuBLAS Library User Guide";
//! the numbers are those of its enumerations, as sources print and store them.
//!
//! What computes: gemm in its forms, gemv, axpy, scal. All else that is declared answers CUBLAS_STATUS_NOT_SUPPORTED,
//! and is a finding `not-supported`; it takes any arguments.
#pragma once
#pragma GCC system_header

#include <pluginkit/cpu/engine.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <library_types.h>

#include <cstddef>
#include <cstdint>

#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VER_BUILD 0
#define CUBLAS_VERSION (CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH)
#define CUBLASWINAPI

struct cublasContext;
typedef struct cublasContext* cublasHandle_t;

typedef enum
{
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;

typedef enum
{
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_OP_C = 2,
    CUBLAS_OP_HERMITAN = 2,
    CUBLAS_OP_CONJG = 3
} cublasOperation_t;

typedef enum
{
    CUBLAS_POINTER_MODE_HOST = 0,
    CUBLAS_POINTER_MODE_DEVICE = 1
} cublasPointerMode_t;

typedef enum
{
    CUBLAS_ATOMICS_NOT_ALLOWED = 0,
    CUBLAS_ATOMICS_ALLOWED = 1
} cublasAtomicsMode_t;

typedef enum
{
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;

typedef enum
{
    CUBLAS_FILL_MODE_LOWER = 0,
    CUBLAS_FILL_MODE_UPPER = 1,
    CUBLAS_FILL_MODE_FULL = 2
} cublasFillMode_t;

typedef enum
{
    CUBLAS_DIAG_NON_UNIT = 0,
    CUBLAS_DIAG_UNIT = 1
} cublasDiagType_t;

typedef enum
{
    CUBLAS_SIDE_LEFT = 0,
    CUBLAS_SIDE_RIGHT = 1
} cublasSideMode_t;

typedef enum
{
    CUBLAS_GEMM_DFALT = -1,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_GEMM_ALGO0 = 0,
    CUBLAS_GEMM_ALGO1 = 1,
    CUBLAS_GEMM_ALGO23 = 23,
    CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
    CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
    CUBLAS_GEMM_ALGO0_TENSOR_OP = 100,
    CUBLAS_GEMM_ALGO15_TENSOR_OP = 115
} cublasGemmAlgo_t;

typedef enum
{
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32I_PEDANTIC = 73,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;

typedef cudaDataType cublasDataType_t;

extern "C"
{
    cublasStatus_t cublasCreate(cublasHandle_t* handle);
    cublasStatus_t cublasDestroy(cublasHandle_t handle);
    cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version);
    cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
    cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
    cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t size);
    cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
    cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode);
    cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
    cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode);
    cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
    cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
    char const* cublasGetStatusName(cublasStatus_t status);
    char const* cublasGetStatusString(cublasStatus_t status);

#define PLUGINKIT_CPU_GEMMS(letter, T)                                                                                 \
    cublasStatus_t cublas##letter##gemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,     \
                                        int m, int n, int k, T const* alpha, T const* A, int lda, T const* B, int ldb, \
                                        T const* beta, T* C, int ldc);                                                 \
    cublasStatus_t cublas##letter##gemmBatched(cublasHandle_t handle, cublasOperation_t transa,                        \
                                               cublasOperation_t transb, int m, int n, int k, T const* alpha,          \
                                               T const* const A[], int lda, T const* const B[], int ldb,               \
                                               T const* beta, T* const C[], int ldc, int batchCount);                  \
    cublasStatus_t cublas##letter##gemmStridedBatched(                                                                 \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,                \
        T const* alpha, T const* A, int lda, long long int strideA, T const* B, int ldb, long long int strideB,        \
        T const* beta, T* C, int ldc, long long int strideC, int batchCount);

    PLUGINKIT_CPU_GEMMS(S, float)
    PLUGINKIT_CPU_GEMMS(D, double)
    PLUGINKIT_CPU_GEMMS(H, __half)
#undef PLUGINKIT_CPU_GEMMS

    cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                                int k, void const* alpha, void const* A, cudaDataType Atype, int lda, void const* B,
                                cudaDataType Btype, int ldb, void const* beta, void* C, cudaDataType Ctype, int ldc,
                                cublasComputeType_t computeType, cublasGemmAlgo_t algo);
    cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                       int n, int k, void const* alpha, void const* const A[], cudaDataType Atype,
                                       int lda, void const* const B[], cudaDataType Btype, int ldb, void const* beta,
                                       void* const C[], cudaDataType Ctype, int ldc, int batchCount,
                                       cublasComputeType_t computeType, cublasGemmAlgo_t algo);
    cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                              int m, int n, int k, void const* alpha, void const* A, cudaDataType Atype,
                                              int lda, long long int strideA, void const* B, cudaDataType Btype,
                                              int ldb, long long int strideB, void const* beta, void* C,
                                              cudaDataType Ctype, int ldc, long long int strideC, int batchCount,
                                              cublasComputeType_t computeType, cublasGemmAlgo_t algo);
    cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                 int n, int k, float const* alpha, void const* A, cudaDataType Atype, int lda,
                                 void const* B, cudaDataType Btype, int ldb, float const* beta, void* C,
                                 cudaDataType Ctype, int ldc);

#define PLUGINKIT_CPU_VECTORS(letter, T)                                                                               \
    cublasStatus_t cublas##letter##gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, T const* alpha,  \
                                        T const* A, int lda, T const* x, int incx, T const* beta, T* y, int incy);     \
    cublasStatus_t cublas##letter##axpy(cublasHandle_t handle, int n, T const* alpha, T const* x, int incx, T* y,      \
                                        int incy);                                                                     \
    cublasStatus_t cublas##letter##scal(cublasHandle_t handle, int n, T const* alpha, T* x, int incx);

    PLUGINKIT_CPU_VECTORS(S, float)
    PLUGINKIT_CPU_VECTORS(D, double)
#undef PLUGINKIT_CPU_VECTORS
}

#ifdef __cplusplus
// Of CUDA 10's times, when a data type named how it is computed.
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                   int n, int k, void const* alpha, void const* A, cudaDataType Atype, int lda,
                                   void const* B, cudaDataType Btype, int ldb, void const* beta, void* C,
                                   cudaDataType Ctype, int ldc, cudaDataType computeType, cublasGemmAlgo_t algo)
{
    cublasComputeType_t const how = computeType == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
                                    : computeType == CUDA_R_64F ? CUBLAS_COMPUTE_64F
                                    : computeType == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                                                                : CUBLAS_COMPUTE_32F;
    return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc, how,
                        algo);
}
#endif

// The names that NVIDIA's library exports.
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasGetVersion_v2 cublasGetVersion
#define cublasSetStream_v2 cublasSetStream
#define cublasGetStream_v2 cublasGetStream
#define cublasSetWorkspace_v2 cublasSetWorkspace
#define cublasSetPointerMode_v2 cublasSetPointerMode
#define cublasGetPointerMode_v2 cublasGetPointerMode
#define cublasSgemm_v2 cublasSgemm
#define cublasDgemm_v2 cublasDgemm
#define cublasSgemv_v2 cublasSgemv
#define cublasDgemv_v2 cublasDgemv
#define cublasSaxpy_v2 cublasSaxpy
#define cublasDaxpy_v2 cublasDaxpy
#define cublasSscal_v2 cublasSscal
#define cublasDscal_v2 cublasDscal

namespace pluginkit_cpu
{

inline namespace v2
{

//! Reports a call of what target cpu has only the name of.
PLUGINKIT_CPU_HIDDEN void notSupported(char const* function) noexcept;

} // namespace v2

} // namespace pluginkit_cpu

#define PLUGINKIT_CPU_NO_CUBLAS(name)                                                                                  \
    template <typename... Any>                                                                                         \
    PLUGINKIT_CPU_INLINE cublasStatus_t name(Any const&... /*any*/)                                                    \
    {                                                                                                                  \
        pluginkit_cpu::notSupported(#name);                                                                            \
        return CUBLAS_STATUS_NOT_SUPPORTED;                                                                            \
    }

PLUGINKIT_CPU_NO_CUBLAS(cublasCgemm)
PLUGINKIT_CPU_NO_CUBLAS(cublasZgemm)
PLUGINKIT_CPU_NO_CUBLAS(cublasCgemmStridedBatched)
PLUGINKIT_CPU_NO_CUBLAS(cublasZgemmStridedBatched)
PLUGINKIT_CPU_NO_CUBLAS(cublasSgemmGroupedBatched)
PLUGINKIT_CPU_NO_CUBLAS(cublasSgeam)
PLUGINKIT_CPU_NO_CUBLAS(cublasDgeam)
PLUGINKIT_CPU_NO_CUBLAS(cublasSdgmm)
PLUGINKIT_CPU_NO_CUBLAS(cublasDdgmm)
PLUGINKIT_CPU_NO_CUBLAS(cublasSsymm)
PLUGINKIT_CPU_NO_CUBLAS(cublasDsymm)
PLUGINKIT_CPU_NO_CUBLAS(cublasSsyrk)
PLUGINKIT_CPU_NO_CUBLAS(cublasDsyrk)
PLUGINKIT_CPU_NO_CUBLAS(cublasStrmm)
PLUGINKIT_CPU_NO_CUBLAS(cublasStrsm)
PLUGINKIT_CPU_NO_CUBLAS(cublasDtrsm)
PLUGINKIT_CPU_NO_CUBLAS(cublasStrsmBatched)
PLUGINKIT_CPU_NO_CUBLAS(cublasSgetrfBatched)
PLUGINKIT_CPU_NO_CUBLAS(cublasSgetriBatched)
PLUGINKIT_CPU_NO_CUBLAS(cublasSgetrsBatched)
PLUGINKIT_CPU_NO_CUBLAS(cublasSmatinvBatched)
PLUGINKIT_CPU_NO_CUBLAS(cublasSger)
PLUGINKIT_CPU_NO_CUBLAS(cublasDger)
PLUGINKIT_CPU_NO_CUBLAS(cublasSgemvBatched)
PLUGINKIT_CPU_NO_CUBLAS(cublasSgemvStridedBatched)
PLUGINKIT_CPU_NO_CUBLAS(cublasSsymv)
PLUGINKIT_CPU_NO_CUBLAS(cublasScopy)
PLUGINKIT_CPU_NO_CUBLAS(cublasDcopy)
PLUGINKIT_CPU_NO_CUBLAS(cublasSswap)
PLUGINKIT_CPU_NO_CUBLAS(cublasSdot)
PLUGINKIT_CPU_NO_CUBLAS(cublasDdot)
PLUGINKIT_CPU_NO_CUBLAS(cublasSnrm2)
PLUGINKIT_CPU_NO_CUBLAS(cublasDnrm2)
PLUGINKIT_CPU_NO_CUBLAS(cublasSasum)
PLUGINKIT_CPU_NO_CUBLAS(cublasDasum)
PLUGINKIT_CPU_NO_CUBLAS(cublasIsamax)
PLUGINKIT_CPU_NO_CUBLAS(cublasIsamin)
PLUGINKIT_CPU_NO_CUBLAS(cublasAxpyEx)
PLUGINKIT_CPU_NO_CUBLAS(cublasScalEx)
PLUGINKIT_CPU_NO_CUBLAS(cublasDotEx)
PLUGINKIT_CPU_NO_CUBLAS(cublasNrm2Ex)
PLUGINKIT_CPU_NO_CUBLAS(cublasSetVector)
PLUGINKIT_CPU_NO_CUBLAS(cublasGetVector)
PLUGINKIT_CPU_NO_CUBLAS(cublasSetMatrix)
PLUGINKIT_CPU_NO_CUBLAS(cublasGetMatrix)
