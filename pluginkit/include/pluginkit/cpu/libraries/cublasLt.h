//! cuBLASLt by name: target cpu computes none of it. Every call answers CUBLAS_STATUS_NOT_SUPPORTED and is a finding
//! `not-supported`. The numbers are those of NVIDIA's "cuBLAS Library User Guide".
#pragma once
#pragma GCC system_header

#include <cublas_v2.h>

typedef struct cublasLtContext* cublasLtHandle_t;

struct cublasLtMatmulDescOpaque_t
{
    uint64_t data[32];
};
struct cublasLtMatrixLayoutOpaque_t
{
    uint64_t data[8];
};
struct cublasLtMatrixTransformDescOpaque_t
{
    uint64_t data[8];
};
struct cublasLtMatmulPreferenceOpaque_t
{
    uint64_t data[8];
};
struct cublasLtMatmulAlgo_t
{
    uint64_t data[8];
};
typedef cublasLtMatmulDescOpaque_t* cublasLtMatmulDesc_t;
typedef cublasLtMatrixLayoutOpaque_t* cublasLtMatrixLayout_t;
typedef cublasLtMatrixTransformDescOpaque_t* cublasLtMatrixTransformDesc_t;
typedef cublasLtMatmulPreferenceOpaque_t* cublasLtMatmulPreference_t;

struct cublasLtMatmulHeuristicResult_t
{
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
};

typedef enum
{
    CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
    CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,
    CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
    CUBLASLT_MATMUL_DESC_TRANSA = 3,
    CUBLASLT_MATMUL_DESC_TRANSB = 4,
    CUBLASLT_MATMUL_DESC_TRANSC = 5,
    CUBLASLT_MATMUL_DESC_FILL_MODE = 6,
    CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8
} cublasLtMatmulDescAttributes_t;

typedef enum
{
    CUBLASLT_MATRIX_LAYOUT_TYPE = 0,
    CUBLASLT_MATRIX_LAYOUT_ORDER = 1,
    CUBLASLT_MATRIX_LAYOUT_ROWS = 2,
    CUBLASLT_MATRIX_LAYOUT_COLS = 3,
    CUBLASLT_MATRIX_LAYOUT_LD = 4,
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6
} cublasLtMatrixLayoutAttribute_t;

typedef enum
{
    CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0,
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1
} cublasLtMatmulPreferenceAttributes_t;

typedef enum
{
    CUBLASLT_ORDER_COL = 0,
    CUBLASLT_ORDER_ROW = 1,
    CUBLASLT_ORDER_COL32 = 2,
    CUBLASLT_ORDER_COL4_4R2_8C = 3,
    CUBLASLT_ORDER_COL32_2R_4R4 = 4
} cublasLtOrder_t;

typedef enum
{
    CUBLASLT_EPILOGUE_DEFAULT = 1,
    CUBLASLT_EPILOGUE_RELU = 2,
    CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_RELU_BIAS = 6,
    CUBLASLT_EPILOGUE_GELU = 32,
    CUBLASLT_EPILOGUE_GELU_BIAS = 36
} cublasLtEpilogue_t;

PLUGINKIT_CPU_NO_CUBLAS(cublasLtCreate)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtDestroy)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmul)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatrixTransform)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulDescCreate)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulDescInit)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulDescDestroy)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulDescSetAttribute)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulDescGetAttribute)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatrixLayoutCreate)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatrixLayoutInit)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatrixLayoutDestroy)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatrixLayoutSetAttribute)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatrixLayoutGetAttribute)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatrixTransformDescCreate)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatrixTransformDescDestroy)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatrixTransformDescSetAttribute)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulPreferenceCreate)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulPreferenceInit)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulPreferenceDestroy)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulPreferenceSetAttribute)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulAlgoGetHeuristic)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulAlgoGetIds)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulAlgoInit)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulAlgoCheck)
PLUGINKIT_CPU_NO_CUBLAS(cublasLtMatmulAlgoConfigSetAttribute)
