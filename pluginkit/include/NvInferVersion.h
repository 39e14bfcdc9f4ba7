//! The TensorRT version whose plugin interfaces these headers declare.
//!
//! These are pluginkit's own headers, written from the facts of the binary interface (names, order, types, values) and
//! checked against the recorded layouts of the real ones. PLUGINKIT_TRT_LAYOUT chooses how the classes that differ
//! between the majors lie: 10 (TensorRT 10.0 to 10.16) or 11 (TensorRT 11.x; the default).
#ifndef PLUGINKIT_NV_INFER_VERSION_H
#define PLUGINKIT_NV_INFER_VERSION_H

//! Tells these headers from a TensorRT SDK's.
#define PLUGINKIT_NV_INFER 1

#ifndef PLUGINKIT_TRT_LAYOUT
#define PLUGINKIT_TRT_LAYOUT 11
#endif

#if PLUGINKIT_TRT_LAYOUT == 10
#define NV_TENSORRT_MAJOR 10
#define NV_TENSORRT_MINOR 16
#elif PLUGINKIT_TRT_LAYOUT == 11
#define NV_TENSORRT_MAJOR 11
#define NV_TENSORRT_MINOR 1
#else
#error "PLUGINKIT_TRT_LAYOUT must be 10 (TensorRT 10.x) or 11 (TensorRT 11.x)."
#endif
#define NV_TENSORRT_PATCH 0
#define NV_TENSORRT_BUILD 0

#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major) * 10000L + (minor) * 100L + (patch) * 1L)
#define NV_TENSORRT_VERSION NV_TENSORRT_VERSION_INT(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)

#endif
