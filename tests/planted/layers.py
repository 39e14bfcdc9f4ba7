"""Faults that the user can make in a layer: in its kernel and launch, and in what it overrides."""

from __future__ import annotations

from pathlib import Path

from pluginkit import scaffold
from pluginkit.testing.report import Outcome
from tests.planted import CRASH, FIRST, PAGES, Fault, before

CLASS, KERNEL = "src/my_plugin.cpp", "src/my_plugin.cu"
BASE_CLASS = "class MyPlugin final : public pluginkit::Layer<MyPlugin, Signature>\n{\n};\n"
OVERRIDES = """\
//! What the faults know that keep the first dimensions, or take the profile's largest: elements.
struct Kept
{
    int64_t first;
    int64_t most;
};

//! What becomes of memory of initialize() in a clone.
enum class InClones
{
    kNONE,   // There is no such memory.
    kABSENT, // It isn't there.
    kSHARED, // It is the original's, and both free it.
    kMADE,   // The clone makes its own, which terminate() alone frees.
};

InClones inClones()
{
    // MEMORY
    return InClones::kNONE;
}

struct Memory
{
    Memory() = default;
    Memory(Memory const& other) : data{inClones() == InClones::kSHARED ? other.data : nullptr}
    {
        if (inClones() == InClones::kMADE && other.data != nullptr)
        {
            make();
        }
    }
    ~Memory()
    {
        if (inClones() == InClones::kSHARED)
        {
            static_cast<void>(cudaFree(data));
        }
    }
    void make()
    {
        if (inClones() != InClones::kNONE)
        {
            static_cast<void>(cudaMalloc(&data, 4096)); // MADE
        }
    }
    void end()
    {
        static_cast<void>(cudaFree(data));
        data = nullptr;
    }
    void* data{nullptr};
};

int64_t elements(nvinfer1::Dims const& dims)
{
    return dims.d[0] * dims.d[1] * dims.d[2] * dims.d[3];
}

class MyPlugin final : public pluginkit::Layer<MyPlugin, Signature, Kept>
{
public:
    std::string problem() const override
    {
        return DynamicLayer::problem();
    }

    bool fits(pluginkit::Shape const* inputs, pluginkit::Shape const* outputs) const override
    {
        return DynamicLayer::fits(inputs, outputs);
    }

    int64_t workspaceBytes(pluginkit::Shape const* inputs) const override
    {
        return DynamicLayer::workspaceBytes(inputs);
    }

    nvinfer1::IPluginV2DynamicExt* clone() const noexcept override
    {
        // CLONE
        return DynamicLayer::clone();
    }

    int32_t initialize() noexcept override
    {
        // INITIALIZE
        mMemory.make();
        return DynamicLayer::initialize();
    }

    void terminate() noexcept override
    {
        mMemory.end();
        DynamicLayer::terminate();
    }

    void attachToContext(cudnnContext*, cublasContext* cublas, nvinfer1::IGpuAllocator*) noexcept override
    {
        // ATTACH
        static_cast<void>(cublas);
    }

    nvinfer1::DataType getOutputDataType(int32_t index, nvinfer1::DataType const* types,
                                         int32_t count) const noexcept override
    {
        return DynamicLayer::getOutputDataType(index, types, count);
    }

    nvinfer1::DimsExprs getOutputDimensions(int32_t index, nvinfer1::DimsExprs const* inputs, int32_t count,
                                            nvinfer1::IExprBuilder& builder) noexcept override
    {
        auto output = DynamicLayer::getOutputDimensions(index, inputs, count, builder);
        // DIMENSIONS
        return output;
    }

    bool supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override
    {
        return DynamicLayer::supportsFormatCombination(pos, inOut, nbInputs, nbOutputs);
    }

    void configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs,
                         nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept override
    {
        // CONFIGURE
        DynamicLayer::configurePlugin(in, nbInputs, out, nbOutputs);
        state().first = state().first == 0 ? elements(in[0].desc.dims) : state().first;
        state().most = elements(in[0].max);
    }

    int32_t enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
                    void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override
    {
        auto in = *inputDesc;
        auto out = *outputDesc;
        int64_t const count = elements(in.dims);
        auto const flat = [&](int64_t chosen) { in.dims = out.dims = {4, {chosen, 1, 1, 1}}; };
        // ENQUEUE
        static_cast<void>(count);
        static_cast<void>(flat);
        if (inClones() == InClones::kABSENT)
        {
            static_cast<void>(cudaMemsetAsync(mMemory.data, 0, 4096, stream));
        }
        return DynamicLayer::enqueue(&in, &out, inputs, outputs, workspace, stream);
    }

private:
    using DynamicLayer::configurePlugin;

    int64_t mKept{0};
    Memory mMemory;
};
"""
CLONE, INITIALIZE, ATTACH, DIMENSIONS, CONFIGURE, ENQUEUE = (
    f"        // {name}\n" for name in ("CLONE", "INITIALIZE", "ATTACH", "DIMENSIONS", "CONFIGURE", "ENQUEUE")
)
MEMORY = "    // MEMORY\n"
READY = "[L2] clone() of an initialized plugin gives one that isn't ready"
SWITCH = "    switch (run.precision)"
STARTED = "<<<blocks, kThreads, 0, run.stream>>>"
BENT = "fields.alpha * sum"
LOOP = "        float sum = 0.0F;\n"
LOAD = "        sum += load<T>(in.x, i);"
STORE = "        store<T>(out.y, i, result);"
ELEMENT = "    if (i < output.count)"
BEHIND = "which is 0 bytes behind the 65536 bytes of an {} that the plugin was given.\n  in kernel"
ALPHA = "plain/float32-field-alpha/opt"
IN_ENQUEUE = "in IPluginV2DynamicExt::enqueue"

_KERNEL = {
    "wrong kernel": (BENT, f"(FAULT ? -1.0F : 1.0F) * {BENT}", "plain/float16/opt", "output 'y' is"),
    "scales swapped": (
        "output.scale);",
        "FAULT ? 2.0F * output.scale : output.scale);",
        "plain/int8/opt",
        "steps",
    ),
    "scales ignored": (
        "toNumber(static_cast<T const*>(input.data)[i], input.scale)",
        "toNumber(static_cast<T const*>(input.data)[i], FAULT ? 1.0F : input.scale)",
        "cond-both/int8/opt/else",
        "steps",
    ),
    "a cast where INT8 is rounded": (
        "rintf(number / scale)",
        "(FAULT ? truncf(number / scale) : rintf(number / scale))",
        "plain/int8/opt",
        "All are nearer to zero: a cast cuts",
    ),
    "a tail of five elements that stays unwritten": (
        "toElement(static_cast<T*>(output.data)[i], number",
        (
            "if (FAULT ? output.count % 16 != 5 || i + 1 < output.count : true)\n            "
            "toElement(static_cast<T*>(output.data)[i], number"
        ),
        "plain/float32/count-5",
        "left unwritten: 1 of 693 elements of output 0, the first at index (0, 10, 8, 6)",
    ),
    "a NaN that spoils its neighbour": (
        STORE,
        (
            "        float const spoiled = result + 0.0F * load<T>(in.x, i > 0 ? i - 1 : 0);\n"
            "        store<T>(out.y, i, FAULT ? spoiled : result);"
        ),
        "plain/float32/special",
        "[E14] enqueue: with NaN, infinities and denormals elsewhere in the inputs: output 'y' is NaN at",
    ),
    "an INT8 output that ends at -127": (
        "-128.0F",
        "(FAULT ? -127.0F : -128.0F)",
        "plain/int8/opt",
        "[E13] enqueue: output 'y' is -127 steps at",
    ),
    "a field that is clipped": (
        "    Fields const& fields = run.fields;",
        "    Fields fields = run.fields;\n    fields.alpha = FAULT ? std::min(fields.alpha, 0.5F) : fields.alpha;",
        ALPHA,
        "the engine has the value, so look at deserializePlugin and enqueue",
    ),
    "an output that stays unwritten": (
        ELEMENT,
        before(ELEMENT, "i = i == output.count - 1 ? output.count : i;"),
        FIRST,
        "unwritten",
    ),
    "an output written beyond its end": (
        ELEMENT,
        before(ELEMENT, "static_cast<T*>(output.data)[output.count] = T{};"),
        PAGES,
        BEHIND.format("output"),
    ),
    "an output written beyond its end, which is not a page's": (
        ELEMENT,
        before(ELEMENT, "static_cast<T*>(output.data)[output.count] = T{};"),
        "plain/float32/count-5",
        "written beyond output 0, which has 2772 bytes",
    ),
    "an input read beyond its end": (
        "i < count;",
        "(FAULT ? i <= count : i < count);",
        PAGES,
        BEHIND.format("input"),
    ),
    "an input read beyond its end, which is not a page's": (
        LOOP,
        f"{LOOP}        sum = FAULT && i + 1 == count ? fmaxf(sum, 0.01F * load<T>(in.x, i + 1)) : sum;\n",
        "plain/float32/count-5",
        "read beyond an input: 1 of 693 elements of output 0 change with what stands before or behind the inputs'",
    ),
    "an input read before its begin": (
        LOAD,
        before(LOAD, "float volatile gone = i == 0 ? load<T>(in.x, -1) : 0.0F;\n        static_cast<void>(gone);"),
        "plain/int8/opt",
        "which is 1 bytes before the 630 bytes of an input that the plugin was given",
    ),
    "NaN": (BENT, f"(FAULT ? std::sqrt(sum) : {BENT})", FIRST, "NaN"),
    "an input written to": (
        "        store<T>(out",
        before("        store<T>(out", "const_cast<T*>(static_cast<T const*>(in.x.data))[i] = T{};"),
        FIRST,
        "input",
    ),
    "a type that launch leaves out": (
        SWITCH,
        before(SWITCH, "if (run.precision == Precision::kHALF)\n        {\n            return cudaSuccess;\n        }"),
        "plain/float16/opt",
        "unwritten",
    ),
    "an enqueue that fails": (SWITCH, before(SWITCH, "return cudaErrorInvalidValue;"), FIRST, "answered 1"),
    "static arguments of a kernel": (
        SWITCH,
        before(
            SWITCH,
            "static Inputs in{};\n        static Outputs out{};\n        in = run.in;\n        out = run.out;\n"
            f"        myPluginKernel<float>{STARTED}(run.count, fields, in, out);\n"
            "        return cudaGetLastError();",
        ),
        FIRST,
        "two contexts at once: ",
    ),
    "scratch memory that all contexts share": (
        SWITCH,
        before(
            SWITCH,
            "static std::mutex mutex;\n        std::lock_guard<std::mutex> const lock{mutex};\n"
            "        auto shared = run.in;\n        void* scratch = nullptr;\n"
            "        static_cast<void>(cudaGetSymbolAddress(&scratch, gScratch));\n"
            "        static_cast<void>(cudaMemcpyAsync(scratch, run.in.x.data, static_cast<size_t>(run.in.x.bytes),\n"
            "                                          cudaMemcpyDeviceToDevice, run.stream));\n"
            "        shared.x.data = scratch;\n"
            f"        myPluginKernel<float>{STARTED}(run.count, fields, shared, run.out);\n"
            "        return cudaGetLastError();",
        ),
        FIRST,
        "two contexts at once: ",
    ),
    "more workspace than pluginkit.toml says": (
        SWITCH,
        before(
            SWITCH,
            "auto* const end = static_cast<char*>(run.workspace) + run.workspaceBytes;\n"
            "        static_cast<void>(cudaMemsetAsync(end, 1, 64, run.stream));",
        ),
        PAGES,
        "cudaMemsetAsync fills memory that is not the device's",
    ),
}
_KEPT = "        if (FAULT)\n        {{\n            {}\n        }}\n" + ENQUEUE.replace("{", "{{")
_CLASS = {
    "wrong dims": (
        DIMENSIONS,
        f"        output.d[1] = inputs[0].d[FAULT ? 2 : 1];\n{DIMENSIONS}",
        "plain/float32/random-1",
        "",
    ),
    "a wrong output type": (
        "return DynamicLayer::getOutputDataType(",
        "return FAULT ? nvinfer1::DataType::kHALF : DynamicLayer::getOutputDataType(",
        FIRST,
        "kHALF",
    ),
    "no format": (
        "return DynamicLayer::supportsFormatCombination(",
        "return !(FAULT) && DynamicLayer::supportsFormatCombination(",
        FIRST,
        "supportsFormatCombination",
    ),
    "a type that is not declared": (
        "DynamicLayer::supportsFormatCombination(pos, inOut, nbInputs, nbOutputs);",
        (
            "((FAULT && inOut[pos].format == nvinfer1::TensorFormat::kLINEAR) ||\n"
            "                DynamicLayer::supportsFormatCombination(pos, inOut, nbInputs, nbOutputs));"
        ),
        FIRST,
        "[C18] IPluginV2DynamicExt::supportsFormatCombination: takes types that the manifest doesn't declare (",
    ),
    "fields that problem() refuses though pluginkit.toml has them": (
        "return DynamicLayer::problem();",
        'return FAULT ? "no" : DynamicLayer::problem();',
        FIRST,
        "createPlugin: answered null",
    ),
    "shapes that fits() refuses though the profile has them": (
        "return DynamicLayer::fits(inputs, outputs);",
        "return !(FAULT) && DynamicLayer::fits(inputs, outputs);",
        FIRST,
        "answered 1",
    ),
    "a workspace that smaller shapes need more of": (
        "return DynamicLayer::workspaceBytes(inputs);",
        "return DynamicLayer::workspaceBytes(inputs) + (FAULT ? 4096 / inputs[0].dims[0] : 0);",
        FIRST,
        "getWorkspaceSize: answered 1088 bytes for the profile's max and more, 2112, for its opt",
    ),
    "dimensions kept from the first configure": (
        ENQUEUE,
        _KEPT.format("flat(std::min(count, state().first));"),
        PAGES,
        "unwritten",
    ),
    "dimensions kept from the first enqueue": (
        ENQUEUE,
        _KEPT.format("mKept = mKept == 0 ? count : mKept;\n            flat(std::min(count, mKept));"),
        FIRST,
        "before it in the same context: plain/float32/min, plain/float32/max",
    ),
    "dimensions that only grow": (
        ENQUEUE,
        _KEPT.format("mKept = std::max(mKept, count);\n            flat(std::min(count + 1, mKept));"),
        FIRST,
        "no\n  member may keep those of the first call, or only grow",
    ),
    "a profile's max for the dimensions": (
        ENQUEUE,
        _KEPT.format("flat(std::min(count + 1, state().most));"),
        FIRST,
        "written beyond output 0, which has 2520 bytes",
    ),
    "a wrong result where a handle of cuBLAS is given": (
        ATTACH,
        f"        mFields.alpha = FAULT && cublas != nullptr ? 0.25F : mFields.alpha;\n{ATTACH}",
        FIRST,
        "as TensorRT 10 with tactics of cuDNN and cuBLAS: attachToContext is given their handles (without that it",
    ),
    "memory of initialize that terminate keeps": (
        INITIALIZE,
        before(
            INITIALIZE, "void* taken = nullptr;\n        static_cast<void>(cudaMalloc(&taken, 4096));  // LINE FAULT"
        ),
        FIRST,
        "does not give back what initialize took: LINE: 4096 bytes of device memory from cudaMalloc, 2 times",
    ),
    "host memory of initialize that terminate keeps": (
        INITIALIZE,
        before(INITIALIZE, "auto* volatile taken = new char[4096];  // LINE FAULT\n        static_cast<void>(taken);"),
        FIRST,
        "does not give back what initialize took: LINE: 4096 bytes of host memory from new or malloc",
    ),
    "memory of initialize that a clone doesn't have": (
        MEMORY,
        before(MEMORY, "return InClones::kABSENT;"),
        FIRST,
        READY,
    ),
    "memory of initialize that its clone frees": (MEMORY, before(MEMORY, "return InClones::kSHARED;"), FIRST, READY),
    "memory of a clone that terminate alone frees": (
        MEMORY,
        before(MEMORY, "return InClones::kMADE;"),
        FIRST,
        "[L7] destroy: of a clone, which TensorRT never terminates, leaves what terminate gives back: src/my_plugin",
    ),
    "a vector of each clone": (
        CLONE,
        before(CLONE, "auto* kept = new std::vector<int>;\n        kept->push_back(1);  // LINE FAULT"),
        FIRST,
        "LINE: 4 bytes of host memory from new or malloc",
    ),
    "a stream of each clone": (
        CLONE,
        before(CLONE, "cudaStream_t own{};\n        static_cast<void>(cudaStreamCreate(&own));  // LINE FAULT"),
        FIRST,
        "[L7] destroy: LINE: stream from cudaStreamCreate",
    ),
}
_ENDS = {
    "a segmentation fault": (KERNEL, SWITCH, CRASH, Outcome.CRASHED, f"SIGSEGV {IN_ENQUEUE}"),
    "an exit": (KERNEL, SWITCH, "std::exit(3);", Outcome.CRASHED, f"exit code 3 {IN_ENQUEUE}"),
    "a throw": (KERNEL, SWITCH, "throw 1;", Outcome.CRASHED, f"SIGABRT {IN_ENQUEUE}"),
    "a hang": (KERNEL, SWITCH, "for (volatile int i = 0;; i = 0)\n        {\n        }", Outcome.HUNG, IN_ENQUEUE[3:]),
    "a throw in configurePlugin": (CLASS, CONFIGURE, "throw 1;", Outcome.CRASHED, "SIGABRT in IPluginV2Dyn"),
    "a segmentation fault in configurePlugin": (
        CLASS, CONFIGURE, CRASH, Outcome.CRASHED, "SIGSEGV in IPluginV2DynamicExt::configurePlugin",
    ),
    "a segmentation fault in getOutputDimensions": (
        CLASS, DIMENSIONS, CRASH, Outcome.CRASHED, "SIGSEGV in IPluginV2DynamicExt::getOutputDimensions",
    ),
    "an abort in initialize": (CLASS, INITIALIZE, "std::abort();", Outcome.CRASHED, "::initialize"),
}  # fmt: skip
_NONE = {
    "a read beyond an end that nothing is made of, as of a vector's last lanes, which is not a fault": Fault(
        KERNEL,
        LOOP,
        f"{LOOP}        float const volatile last = FAULT && i + 1 == count ? load<T>(in.x, i + 1) : 0.0F;\n"
        "        static_cast<void>(last);\n",
        "plain/float32/count-5",
        Outcome.PASSED,
    ),
    "a lock in launch, which is not a fault": Fault(
        KERNEL,
        SWITCH,
        "    static std::mutex mutex;\n    std::unique_lock<std::mutex> lock{mutex, std::defer_lock};\n"
        + before(SWITCH, "lock.lock();"),
        outcome=Outcome.PASSED,
    ),
    "a cache that is made once, which is not a fault": Fault(
        CLASS,
        CLONE,
        before(CLONE, "static auto* volatile cache = new char[64];\n        static_cast<void>(cache);"),
        outcome=Outcome.PASSED,
    ),
}
FAULTS = {
    **{name: Fault(KERNEL, right, wrong, only, says=says) for name, (right, wrong, only, says) in _KERNEL.items()},
    **{name: Fault(CLASS, right, wrong, only, says=says) for name, (right, wrong, only, says) in _CLASS.items()},
    **{
        name: Fault(file, line, before(line, wrong), FIRST, end, says)
        for name, (file, line, wrong, end, says) in _ENDS.items()
    },
    **_NONE,
}
_INCLUDES = "#include <algorithm>\n#include <cstdlib>\n#include <mutex>\n#include <vector>\n"


def write(folder: Path) -> Path:
    """A layer that overrides what its faults are in, without them."""
    made = scaffold.new("MyPlugin", directory=folder, kernel="loop")
    manifest = made / "pluginkit.toml"
    manifest.write_text(manifest.read_text().replace('base = "dynamic"\n', 'base = "dynamic"\nworkspace = "64"\n'))
    texts = {file: (made / file).read_text() for file in (CLASS, KERNEL)}
    assert BASE_CLASS in texts[CLASS]
    texts[CLASS] = texts[CLASS].replace(BASE_CLASS, OVERRIDES)
    texts[KERNEL] = texts[KERNEL].replace(
        "namespace my_plugin", "static __device__ float gScratch[1 << 16];\nnamespace my_plugin", 1
    )
    for file, text in texts.items():
        (made / file).write_text(text.replace("#include <", f"{_INCLUDES}#include <", 1))
    return made
