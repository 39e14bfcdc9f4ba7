"""CUDA on the CPU: compiles the same `.cu` sources with the host compiler, and runs kernels as loops over threads.

A source is preprocessed with `pluginkit/cpu/prelude.h` in front; launches (`kernel<<<grid, block>>>(args)`), which are
no C++, are rewritten; the result is compiled; and the CUDA functions that the object calls are renamed, so that they
are answered by the runtime that is linked into the same library, never by a real CUDA runtime of the process.
"""

from __future__ import annotations

from pathlib import Path

RUNTIME_DIR = Path(__file__).resolve().parent / "runtime"
"""The runtime's C++ sources, compiled into every library of target cpu."""

PREFIX = "pluginkit_cpu_v2_"
"""What a CUDA function's name gets in front. The number changes when objects and runtime no longer fit together."""
