//! The device functions that CUDA's headers leave to nvcc.
#pragma once

// Sources that include CUDA's own declarations of them (`device_functions.h`, `sm_61_intrinsics.h`) get none: they are
// for a compiler that knows the functions.
#define __COMMON_FUNCTIONS_H__
#define __DEVICE_ATOMIC_FUNCTIONS_H__
#define __DEVICE_DOUBLE_FUNCTIONS_H__
#define __DEVICE_FUNCTIONS_H__
#define __MATH_FUNCTIONS_H__
#define __MATH_FUNCTIONS_HPP__
#define __SM_20_ATOMIC_FUNCTIONS_H__
#define __SM_20_INTRINSICS_H__
#define __SM_30_INTRINSICS_H__
#define __SM_32_ATOMIC_FUNCTIONS_H__
#define __SM_32_INTRINSICS_H__
#define __SM_35_ATOMIC_FUNCTIONS_H__
#define __SM_35_INTRINSICS_H__
#define __SM_60_ATOMIC_FUNCTIONS_H__
#define __SM_61_INTRINSICS_H__
#define __SM_70_RT_H__
#define __SM_80_RT_H__

#include <pluginkit/cpu/atomics.h>
#include <pluginkit/cpu/cached.h>
#include <pluginkit/cpu/conversions.h>
#include <pluginkit/cpu/dot.h>
#include <pluginkit/cpu/floating.h>
#include <pluginkit/cpu/half.h>
#include <pluginkit/cpu/integer.h>
#include <pluginkit/cpu/minmax.h>
#include <pluginkit/cpu/rounding.h>
#include <pluginkit/cpu/simd.h>
#include <pluginkit/cpu/simd_three.h>
#include <pluginkit/cpu/textures.h>
