//! The TensorRT version whose plugin interfaces these headers declare.
//!
//! These are pluginkit's own headers, written from the facts of the binary interface (names, order, types, values) and
//! checked against the recorded layouts of the real ones. PLUGINKIT_TRT_LAYOUT chooses how the classes that differ
//! between the majors lie: 8 (TensorRT 8.5 and 8.6), 10 (TensorRT 10.0 to 10.16) or 11 (TensorRT 11.x; the default).
//! Layout 10 declares 10.16; PLUGINKIT_TRT_MINOR chooses an earlier minor of it, from 3 on, without what came later.
//! Layout 8 declares 8.5, or 8.6 with PLUGINKIT_TRT_MINOR=6, and the enumerators of later versions as well, so that one
//! source compiles for all layouts.
#ifndef PLUGINKIT_NV_INFER_VERSION_H
#define PLUGINKIT_NV_INFER_VERSION_H

//! Tells these headers from a TensorRT SDK's.
#define PLUGINKIT_NV_INFER 1

#ifndef PLUGINKIT_TRT_LAYOUT
#define PLUGINKIT_TRT_LAYOUT 11
#endif

#if PLUGINKIT_TRT_LAYOUT == 8
#ifndef PLUGINKIT_TRT_MINOR
#define PLUGINKIT_TRT_MINOR 5
#endif
#if PLUGINKIT_TRT_MINOR == 5
#define NV_TENSORRT_PATCH 3
#elif PLUGINKIT_TRT_MINOR == 6
#define NV_TENSORRT_PATCH 1
#else
#error "PLUGINKIT_TRT_MINOR must be 5 or 6 in layout 8."
#endif
#define NV_TENSORRT_MAJOR 8
#define NV_TENSORRT_MINOR PLUGINKIT_TRT_MINOR
#elif PLUGINKIT_TRT_LAYOUT == 10
#ifndef PLUGINKIT_TRT_MINOR
#define PLUGINKIT_TRT_MINOR 16
#endif
#if PLUGINKIT_TRT_MINOR < 3 || PLUGINKIT_TRT_MINOR > 16
#error "PLUGINKIT_TRT_MINOR must be from 3 to 16 in layout 10."
#endif
#define NV_TENSORRT_MAJOR 10
#define NV_TENSORRT_MINOR PLUGINKIT_TRT_MINOR
#define NV_TENSORRT_PATCH 0
#elif PLUGINKIT_TRT_LAYOUT == 11
#ifdef PLUGINKIT_TRT_MINOR
#error "PLUGINKIT_TRT_MINOR chooses a minor of TensorRT 8 or 10 only."
#endif
#define NV_TENSORRT_MAJOR 11
#define NV_TENSORRT_MINOR 1
#define NV_TENSORRT_PATCH 0
#else
#error "PLUGINKIT_TRT_LAYOUT must be 8 (TensorRT 8.5, 8.6), 10 (TensorRT 10.x) or 11 (TensorRT 11.x)."
#endif
#define NV_TENSORRT_BUILD 0

#if PLUGINKIT_TRT_LAYOUT == 8
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major) * 1000L + (minor) * 100L + (patch) * 1L)
#else
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major) * 10000L + (minor) * 100L + (patch) * 1L)
#endif
#define NV_TENSORRT_VERSION NV_TENSORRT_VERSION_INT(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)

//! Whether the declared version has what came with TensorRT 10.`minor`.
#define PLUGINKIT_TRT_SINCE_10(minor)                                                                                  \
    (NV_TENSORRT_MAJOR > 10 || (NV_TENSORRT_MAJOR == 10 && NV_TENSORRT_MINOR >= (minor)))
//! Whether the enumerators that came with TensorRT 10.`minor` are declared.
#define PLUGINKIT_TRT_NAMES_10(minor) (NV_TENSORRT_MAJOR < 10 || PLUGINKIT_TRT_SINCE_10(minor))

#endif
