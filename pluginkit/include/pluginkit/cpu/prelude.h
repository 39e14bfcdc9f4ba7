//! Put in front of every source of target cpu: CUDA C++ as plain C++.
//!
//! CUDA's own headers give the types, the declarations of the runtime's functions and the host halves of the
//! half-precision arithmetic. What they leave to nvcc stands here.
#pragma once

//! Defined in every source of target cpu, and nowhere else.
#define PLUGINKIT_TARGET_CPU 1

// The declarations of threadIdx and its like are ours: CUDA's would make them constants of the linker.
#define __DEVICE_LAUNCH_PARAMETERS_H__

#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <pluginkit/cpu/kernel.h>
#include <pluginkit/cpu/kernel_address.h>
#include <pluginkit/cpu/launch_config.h>
#include <pluginkit/cpu/runtime_api.h>

// A .cpp has no device functions: it may have its own min, umin or atomicAdd.
#ifdef PLUGINKIT_CPU_CUDA_SOURCE
#include <pluginkit/cpu/functions.h>
#include <pluginkit/cpu/ptx.h>
#include <pluginkit/cpu/shared.h>
#include <pluginkit/cpu/sync.h>
#endif

// From here on the source sees itself compiled as by nvcc; CUDA's headers above must not, or they would use PTX.
#ifdef PLUGINKIT_CPU_CUDA_SOURCE
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
// The architecture of the device that target cpu shows. Host code sees it too: the source is compiled once for both.
#define __CUDA_ARCH__ 800
#define __CUDA_ARCH_LIST__ 800
// What the compiler of target cpu looks for: launches are refused in such a function (cuda_cpu/launches.py).
#undef __global__
#define __global__ __attribute__((, ))
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__
// So the runtime knows them: the only variables of the library that a kernel may be given a pointer to.
#undef __managed__
#define __managed__ __attribute__((section("pluginkit_cpu_managed")))
// What the compiler of target cpu refuses, with its line (cuda_cpu/compile.py): the device has no clusters.
#undef __cluster_dims__
#define __cluster_dims__(...) __attribute__((pluginkit_cpu_cluster_dims))
// What the compiler of target cpu looks for (cuda_cpu/shared.py).
#undef __shared__
#define __shared__ pluginkit_cpu_shared_memory
#endif
