"""What a failed compilation is told to lack of NVIDIA's."""

from __future__ import annotations

import pytest

from pluginkit.build.sources import first_error
from pluginkit.cuda_cpu.missing_names import find


@pytest.mark.parametrize(("layout", "error", "lacks"), [
    (11, "fatal error: NvOnnxParser.h: No such file or directory", "headers lack NvOnnxParser.h"),
    (None, "fatal error: 'NvInferSafe.h' file not found", "headers lack NvInferSafe.h"),
    (11, "fatal error: curand_kernel.h: No such file or directory", "a.cu includes curand_kernel.h: NVIDIA's library"),
    (11, "error: ‘IGatherLayer’ in namespace ‘nvinfer1’ does not name a type", "lack nvinfer1::IGatherLayer."),
    (11, "error: no type named 'IGatherLayer' in namespace 'nvinfer1'", "lack nvinfer1::IGatherLayer."),
    (10, "error: ‘kFOO’ is not a member of ‘nvinfer1::DataType’", "of TensorRT 10 lack nvinfer1::DataType::kFOO."),
    (11, "error: ‘class nvinfer1::IPluginRegistry’ has no member named ‘foo’", "lack nvinfer1::IPluginRegistry::foo."),
    (11, "error: no member named 'foo' in 'nvinfer1::IPluginRegistry'", "lack nvinfer1::IPluginRegistry::foo."),
    (11, "error: ‘class nvinfer1::IPluginRegistry’ has no member named ‘getPluginCreatorList’",
     "TensorRT 11 has no getPluginCreatorList: these sources may be written for TensorRT 10"),
    (11, "error: ‘IActivationLayer’ does not name a type", "lack IActivationLayer."),
    (11, "error: unknown type name 'IActivationLayer'; did you mean 'X'?", "lack IActivationLayer."),
    (11, "error: expected class-name before ‘{’ token\n    2 | class P : public nvinfer1::IFooLayer {", "IFooLayer."),
    (11, "error: ‘cudaFooCreate’ was not declared in this scope", "CUDA on the CPU (target cpu) lacks cudaFooCreate."),
    (11, "error: ‘bool P::isOutputBroadcastAcrossBatch(int) const’ marked ‘override’, but does not override",
     "isOutputBroadcastAcrossBatch overrides nothing: these sources may be written for TensorRT 10"),
    (11, "error: abstract class type ‘P’\nN.h: ‘virtual bool nvinfer1::A::canBroadcastInputAcrossBatch(int)’",
     "the class lacks canBroadcastInputAcrossBatch: these sources may be written for TensorRT 10"),
    (10, "error: looser exception specification on overriding virtual function ‘virtual int M::getNbOutputs() const’",
     "getNbOutputs is not noexcept: since TensorRT 8"),
    (10, "error: exception specification of overriding function is more lax than base version\n 18 | int enqueue(int",
     "enqueue is not noexcept: since TensorRT 8"),
    (10, "error: ‘DimsCHW’ does not name a type", "DimsCHW ended with TensorRT 7"),
    (10, "error: cannot convert ‘const int64_t*’ to ‘const int*’ in initialization\n 81 | int const* n = in.dims.d;",
     "Dims::d holds int64_t since TensorRT 10"),
])  # fmt: skip
def test_what_is_lacking_is_named(layout: int | None, error: str, lacks: str) -> None:
    found = find(f"In file included from b.h:1:\nsrc/a.cu:3:10: {error}\n", layout)
    assert found is not None
    assert lacks in found.message
    assert found.hint


@pytest.mark.parametrize(("layout", "error"), [
    (11, "error: ‘own’ was not declared in this scope"),
    (11, "fatal error: mine/own.h: No such file or directory"),
    (11, "fatal error: cuda_helper.h: No such file or directory"),
    (11, "error: ‘kFOO’ is not a member of ‘mine::Kind’"),
    (11, "error: ‘void P::own()’ marked ‘override’, but does not override"),
    (11, "error: expected ‘;’ before ‘}’ token"),
    (None, "error: ‘IGatherLayer’ in namespace ‘nvinfer1’ does not name a type"),
    (11, "warning: ‘IGatherLayer’ does not name a type"),
    (10, "error: cannot convert ‘const int64_t*’ to ‘const int*’ in initialization\n  8 |  const int *mine = own();"),
    (10, "error: looser exception specification on overriding virtual function ‘virtual int D::ownMethod() const’"),
    (10, "error: exception specification of overriding function is more lax than base version\n 4 | int own() const"),
])  # fmt: skip
def test_what_is_the_sources_own_mistake_is_not(layout: int | None, error: str) -> None:
    assert find(f"src/a.cu:3:10: {error}\n", layout) is None


def test_the_first_error_with_its_lines() -> None:
    output = """In file included from a.cpp:1:
b.h:3:5: error: ‘X’ does not name a type
    3 |     X x;
      |     ^
b.h:4:5: error: expected ‘;’
    4 |     y
a.cpp:9:1: note: here
error: pluginkit's headers lack X.
  fix: Do this."""
    assert first_error(output).splitlines() == [
        "In file included from a.cpp:1:",
        "b.h:3:5: error: ‘X’ does not name a type",
        "    3 |     X x;",
        "      |     ^",
        "(1 more error)",
        "error: pluginkit's headers lack X.",
        "  fix: Do this.",
    ]
    assert first_error("CMake Error: no") == "CMake Error: no"
