//! Fetches from textures: declared, so that headers that offer them compile. A kernel that calls one doesn't link.
#pragma once

#include <cuda_runtime.h>

template <typename T>
T tex1Dfetch(cudaTextureObject_t texture, int x);

template <typename T>
T tex1D(cudaTextureObject_t texture, float x);

template <typename T>
T tex2D(cudaTextureObject_t texture, float x, float y);

template <typename T>
T tex2DLayered(cudaTextureObject_t texture, float x, float y, int layer);

template <typename T>
T tex3D(cudaTextureObject_t texture, float x, float y, float z);
