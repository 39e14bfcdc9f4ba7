"""A fault planted in a right plugin makes `pluginkit test` fail, and the right case is named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import onnx
import pytest
from onnx import helper

from pluginkit.judges.host.kept_state import TRIES
from pluginkit.network.model import Network
from pluginkit.network.plan import Plan
from pluginkit.process import worker
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.testing import planning
from pluginkit.testing.report import Outcome, Report
from tests import classes
from tests.shared import Shared

pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.xdist_group("planted")]

PLUGIN, KERNEL = "src/my_plugin.cpp", "src/my_plugin_kernel.cu"


@dataclass(frozen=True)
class Fault:
    """What is replaced by what (FAULT: whether this one is chosen), what is run, and its end and message (LINE: where
    the comment is that says so)."""

    file: str
    right: str
    wrong: str
    only: str
    outcome: Outcome
    says: str


ENQUEUE = "    int32_t const row = findRow(kNbTensors, typeAt);"
CONFIGURE, DIMENSIONS = (
    "    // A scale that the node's attributes give wins.",
    "    DimsExprs const impossible{-1, {}};",
)
SWITCH_TYPES = "    switch (precision)"
INITIALIZE = "int32_t MyPlugin::initialize() noexcept\n{\n"
ATTACH = "    static_cast<void>(cublas);\n"
ATTACHES = f"""void MyPlugin::attachToContext(cudnnContext*, cublasContext* cublas, nvinfer1::IGpuAllocator*) noexcept
{{
{ATTACH}}}

"""
CLONE = "        return new MyPlugin{*this};"
CRASH = "*static_cast<volatile int*>(nullptr) = 0;"
LAST = "static_cast<T*>(output.data)[output.count] = T{};"
SPOIL = "const_cast<T*>(static_cast<T const*>(args.inputs.x.data))[i] = T{};"
BENT = "args.parameters.alpha * sum"
FIRST = "plain/float32/opt"
PAGES = "plain/float32/max"
"""Where a tensor ends with a page, so that the access itself is found; at opt it is what stands behind the tensor."""
BEHIND = "which is 0 bytes behind the 65536 bytes of an {} that the plugin was given.\n  in kernel"


def before(line: str, wrong: str) -> str:
    """The line, with a statement before it that only the faulty plugin comes to."""
    return f"    if (FAULT)\n    {{\n        {wrong}\n    }}\n{line}"


FAULTS = {
    "wrong kernel": Fault(
        KERNEL, BENT, f"(FAULT ? -1.0F : 1.0F) * {BENT}", "plain/float16/opt", Outcome.FAILED, "output 'y' is"
    ),
    "wrong dims": Fault(
        PLUGIN,
        "output.d[1] = inputs[0].d[1]",
        "output.d[1] = inputs[0].d[FAULT ? 2 : 1]",
        "plain/float32/random-1",
        Outcome.FAILED,
        "",
    ),
    "scales swapped": Fault(
        PLUGIN,
        "mScales[0] = parameters.x_scale",
        "mScales[0] = FAULT ? parameters.y_scale : parameters.x_scale",
        "plain/int8/opt",
        Outcome.FAILED,
        "steps",
    ),
    "scales ignored": Fault(
        PLUGIN,
        "args.outputs.y.scale = mScales[1]",
        "args.outputs.y.scale = FAULT ? 1.0F : mScales[1]",
        "cond-both/int8/opt/else",
        Outcome.FAILED,
        "steps",
    ),
    "a field that is not serialized": Fault(
        PLUGIN,
        "writer.put(mParameters.alpha)",
        "writer.put(FAULT ? 0.0F : mParameters.alpha)",
        "loop-count/float32/opt",
        Outcome.FAILED,
        "x_last",
    ),
    "a cast where INT8 is rounded": Fault(
        KERNEL,
        "rintf(number / scale)",
        "(FAULT ? truncf(number / scale) : rintf(number / scale))",
        "plain/int8/opt",
        Outcome.FAILED,
        "All are nearer to zero: a cast cuts",
    ),
    "serialized bytes that are read whatever their number": Fault(
        PLUGIN,
        "reader.finished() &&",
        "(FAULT || reader.finished()) &&",
        FIRST,
        Outcome.FAILED,
        "[S5] IPluginCreator::deserializePlugin: made a plugin of its 28 bytes and 8 more",
    ),
    "a segmentation fault by cut bytes": Fault(
        PLUGIN,
        "        return plugin->restore(data, length) ?",
        f"        if (FAULT && length < 5)\n        {{\n            {CRASH}\n        }}\n"
        "        return plugin->restore(data, length) ?",
        FIRST,
        Outcome.FAILED,
        "[S5] IPluginCreator::deserializePlugin: ended the process with SIGSEGV of 0 of its 28 bytes, and 1 more",
    ),
    "a segmentation fault by a field without data": Fault(
        PLUGIN,
        "    pluginkit::FieldReader const reader{fields};",
        "    for (int32_t i = 0; FAULT && i < fields->nbFields; ++i)\n    {\n"
        "        static_cast<void>(*static_cast<volatile char const*>(fields->fields[i].data));\n    }\n"
        "    pluginkit::FieldReader const reader{fields};",
        FIRST,
        Outcome.FAILED,
        "[F7] IPluginCreator::createPlugin: ended the process with SIGSEGV of the field 'alpha' without data",
    ),
    "dimensions kept from the first configure": Fault(
        PLUGIN,
        "    args.count = std::max(args.count, args.outputs.y.count);",
        "    if (FAULT)\n    {\n        args.inputs.x.count = std::min(args.inputs.x.count, mFirst);\n"
        "        args.outputs.y.count = args.inputs.x.count;\n    }\n"
        "    args.count = std::max(args.count, args.outputs.y.count);",
        "plain/float32/max",
        Outcome.FAILED,
        "unwritten",
    ),
    "dimensions kept from the first enqueue": Fault(
        PLUGIN,
        "    args.count = std::max(args.count, args.outputs.y.count);",
        "    if (FAULT)\n    {\n        mKept = mKept == 0 ? args.inputs.x.count : mKept;\n"
        "        args.inputs.x.count = std::min(args.inputs.x.count, mKept);\n"
        "        args.outputs.y.count = args.inputs.x.count;\n    }\n"
        "    args.count = std::max(args.count, args.outputs.y.count);",
        FIRST,
        Outcome.FAILED,
        "before it in the same context: plain/float32/min, plain/float32/max",
    ),
    "dimensions that only grow": Fault(
        PLUGIN,
        "    args.count = std::max(args.count, args.outputs.y.count);",
        "    if (FAULT)\n    {\n        mKept = std::max(mKept, args.outputs.y.count);\n"
        "        args.outputs.y.count = std::min(args.outputs.y.count + 1, mKept);\n    }\n"
        "    args.count = std::max(args.count, args.outputs.y.count);",
        FIRST,
        Outcome.FAILED,
        "no\n  member may keep those of the first call, or only grow",
    ),
    "a profile's max for the dimensions": Fault(
        PLUGIN,
        "    auto const precision =",
        "    if (FAULT)\n    {\n        args.count = std::min(args.count + 1, mMost);\n"
        "        args.outputs.y.count = args.count;\n    }\n"
        "    auto const precision =",
        FIRST,
        Outcome.FAILED,
        "written beyond output 0, which has 2520 bytes",
    ),
    "a field that createPlugin loses": Fault(
        PLUGIN,
        'reader.optional("alpha", parameters.alpha)',
        '(FAULT || reader.optional("alpha", parameters.alpha))',
        "plain/float32-field-alpha/opt",
        Outcome.FAILED,
        "These are the outputs for alpha = 0.5, and the node has",
    ),
    "a field that is not restored": Fault(
        PLUGIN,
        "reader.get(mParameters.alpha)",
        "[&] { float lost = 0.0F; return reader.get(FAULT ? lost : mParameters.alpha); }()",
        "plain/float32-field-alpha/opt",
        Outcome.FAILED,
        "the field 'alpha' is 0.5 after deserialize, 0.7",
    ),
    "a namespace that is not restored": Fault(
        PLUGIN,
        "        return plugin->restore(data, length) ?",
        '        plugin->setPluginNamespace(FAULT ? "" : mNamespace.c_str());\n'
        "        return plugin->restore(data, length) ?",
        FIRST,
        Outcome.FAILED,
        "[I6] IPluginCreator::deserializePlugin: made a plugin in namespace ''; its creator is in 'pluginkit.host'",
    ),
    "a tail of five elements that stays unwritten": Fault(
        KERNEL,
        "toElement(static_cast<T*>(output.data)[i], number",
        "if (FAULT ? output.count % 16 != 5 || i + 1 < output.count : true)\n            "
        "toElement(static_cast<T*>(output.data)[i], number",
        "plain/float32/count-5",
        Outcome.FAILED,
        "left unwritten: 1 of 693 elements of output 0, the first at index (0, 10, 8, 6)",
    ),
    "a NaN that spoils its neighbour": Fault(
        KERNEL,
        "        store<T>(args.outputs.y, i, result);",
        "        float const spoiled = result + 0.0F * load<T>(args.inputs.x, i > 0 ? i - 1 : 0);\n"
        "        store<T>(args.outputs.y, i, FAULT ? spoiled : result);",
        "plain/float32/special",
        Outcome.FAILED,
        "[E14] enqueue: with NaN, infinities and denormals elsewhere in the inputs: output 'y' is NaN at",
    ),
    "a type that is not declared": Fault(
        PLUGIN,
        "findRow(pos + 1, ",
        "findRow(FAULT ? pos : pos + 1, ",
        FIRST,
        Outcome.FAILED,
        "[C18] IPluginV2DynamicExt::supportsFormatCombination: takes a type that the manifest doesn't declare (",
    ),
    "an INT8 output that ends at -127": Fault(
        KERNEL,
        "-128.0F",
        "(FAULT ? -127.0F : -128.0F)",
        "plain/int8/opt",
        Outcome.FAILED,
        "[E13] enqueue: output 'y' is -127 steps at",
    ),
    "a namespace that a clone loses": Fault(
        PLUGIN,
        CLONE,
        before(CLONE, 'auto* lost = new MyPlugin{*this}; lost->setPluginNamespace(""); return lost;'),
        FIRST,
        Outcome.FAILED,
        "the clone's getPluginNamespace answers ''",
    ),
    "a field that is clipped": Fault(
        PLUGIN,
        "    args.parameters = mParameters;",
        "    args.parameters = mParameters;\n"
        "    if (FAULT)\n    {\n        args.parameters.alpha = std::min(args.parameters.alpha, 0.5F);\n    }",
        "plain/float32-field-alpha/opt",
        Outcome.FAILED,
        "the engine has the value, so look at deserializePlugin and enqueue",
    ),
    "another default than the manifest's": Fault(
        PLUGIN,
        "    MyPluginParameters parameters;",
        "    MyPluginParameters parameters;\n    parameters.alpha = FAULT ? 0.25F : parameters.alpha;",
        "plain/float32-no-fields/opt",
        Outcome.FAILED,
        "the plugin's own defaults must be those of pluginkit.toml",
    ),
    "a field that is not listed": Fault(
        PLUGIN,
        'mFields[0] = {"alpha", nullptr, PluginFieldType::kFLOAT32, 1};',
        'mFields[0] = {FAULT ? "alfa" : "alpha", nullptr, PluginFieldType::kFLOAT32, 1};',
        FIRST,
        Outcome.FAILED,
        "getFieldNames: does not list the field 'alpha'",
    ),
    "a field that is listed with another type": Fault(
        PLUGIN,
        'mFields[1] = {"x_scale", nullptr, PluginFieldType::kFLOAT32, 1};',
        'mFields[1] = {"x_scale", nullptr, FAULT ? PluginFieldType::kINT32 : PluginFieldType::kFLOAT32, 1};',
        FIRST,
        Outcome.FAILED,
        "[F9] IPluginCreator::getFieldNames: lists the field 'x_scale' as kINT32, expected kFLOAT32",
    ),
    "an output that stays unwritten": Fault(
        KERNEL,
        "    if (i < output.count)",
        before("    if (i < output.count)", "i = i == output.count - 1 ? output.count : i;"),
        FIRST,
        Outcome.FAILED,
        "unwritten",
    ),
    "an output written beyond its end": Fault(
        KERNEL,
        "    if (i < output.count)",
        before("    if (i < output.count)", LAST),
        PAGES,
        Outcome.FAILED,
        BEHIND.format("output"),
    ),
    "an output written beyond its end, which is no page's": Fault(
        KERNEL,
        "    if (i < output.count)",
        before("    if (i < output.count)", LAST),
        "plain/float32/count-5",
        Outcome.FAILED,
        "written beyond output 0, which has 2772 bytes",
    ),
    "an input read beyond its end": Fault(
        KERNEL,
        "i < args.count;",
        "(FAULT ? i <= args.count : i < args.count);",
        PAGES,
        Outcome.FAILED,
        BEHIND.format("input"),
    ),
    "an input read beyond its end, which is no page's": Fault(
        KERNEL,
        "        float sum = 0.0F;\n",
        "        float sum = 0.0F;\n"
        "        sum = FAULT && i + 1 == args.count ? fmaxf(sum, 0.01F * load<T>(args.inputs.x, i + 1)) : sum;\n",
        "plain/float32/count-5",
        Outcome.FAILED,
        "read beyond an input: 1 of 693 elements of output 0 change with what stands before or behind the inputs'",
    ),
    "a read beyond an end that nothing is made of, as of a vector's last lanes, which is no fault": Fault(
        KERNEL,
        "        float sum = 0.0F;\n",
        "        float sum = 0.0F;\n"
        "        float const volatile last = FAULT && i + 1 == args.count ? load<T>(args.inputs.x, i + 1) : 0.0F;\n"
        "        static_cast<void>(last);\n",
        "plain/float32/count-5",
        Outcome.PASSED,
        "",
    ),
    "an input read before its begin": Fault(
        KERNEL,
        "        sum += load<T>(args.inputs.x, i);",
        before(
            "        sum += load<T>(args.inputs.x, i);",
            "float volatile gone = i == 0 ? load<T>(args.inputs.x, -1) : 0.0F; static_cast<void>(gone);",
        ),
        "plain/int8/opt",
        Outcome.FAILED,
        "which is 1 bytes before the 630 bytes of an input that the plugin was given",
    ),
    "NaN": Fault(KERNEL, BENT, f"(FAULT ? std::sqrt(sum) : {BENT})", FIRST, Outcome.FAILED, "NaN"),
    "an enqueue that fails": Fault(PLUGIN, ENQUEUE, before(ENQUEUE, "return 7;"), FIRST, Outcome.FAILED, "7"),
    "no format": Fault(
        PLUGIN,
        "inOut[pos].format == TensorFormat::kLINEAR",
        "inOut[pos].format == (FAULT ? TensorFormat::kCHW32 : TensorFormat::kLINEAR)",
        FIRST,
        Outcome.FAILED,
        "supportsFormatCombination",
    ),
    "a segmentation fault": Fault(
        PLUGIN, ENQUEUE, before(ENQUEUE, CRASH), FIRST, Outcome.CRASHED, "SIGSEGV in IPluginV2DynamicExt::enqueue"
    ),
    "an exit": Fault(
        PLUGIN,
        ENQUEUE,
        before(ENQUEUE, "std::exit(3);"),
        FIRST,
        Outcome.CRASHED,
        "exit code 3 in IPluginV2DynamicExt::enqueue",
    ),
    "a throw": Fault(
        PLUGIN, ENQUEUE, before(ENQUEUE, "throw 1;"), FIRST, Outcome.CRASHED, "SIGABRT in IPluginV2DynamicExt::enqueue"
    ),
    "a hang": Fault(
        PLUGIN,
        ENQUEUE,
        before(ENQUEUE, "for (volatile int i = 0;; i = 0) {}"),
        FIRST,
        Outcome.HUNG,
        "IPluginV2DynamicExt::enqueue",
    ),
    "a clone that loses a field": Fault(
        PLUGIN,
        CLONE,
        before(CLONE, "auto* lost = new MyPlugin{*this}; lost->mParameters.alpha = 0.25F; return lost;"),
        "plain/float32-field-alpha/opt",
        Outcome.FAILED,
        "the field 'alpha' is 0.25 in the clone, 0.7",
    ),
    "an input written to": Fault(
        KERNEL,
        "        store<T>(args",
        before("        store<T>(args", SPOIL),
        FIRST,
        Outcome.FAILED,
        "input",
    ),
    "a wrong output type": Fault(
        PLUGIN,
        "return kTypes[row == kNoRow ? 0 : row][kNbInputs + index];",
        "return kTypes[row == kNoRow ? 0 : (FAULT ? 1 : row)][kNbInputs + index];",
        FIRST,
        Outcome.FAILED,
        "kHALF",
    ),
    "a segmentation fault in configurePlugin": Fault(
        PLUGIN,
        CONFIGURE,
        before(CONFIGURE, CRASH),
        FIRST,
        Outcome.CRASHED,
        "SIGSEGV in IPluginV2DynamicExt::configurePlugin",
    ),
    "a segmentation fault in getOutputDimensions": Fault(
        PLUGIN,
        DIMENSIONS,
        before(DIMENSIONS, CRASH),
        FIRST,
        Outcome.CRASHED,
        "SIGSEGV in IPluginV2DynamicExt::getOutputDimensions",
    ),
    "an abort in initialize": Fault(
        PLUGIN, INITIALIZE, INITIALIZE + before("", "std::abort();"), FIRST, Outcome.CRASHED, "::initialize"
    ),
    "memory of initialize that terminate keeps": Fault(
        PLUGIN,
        INITIALIZE,
        INITIALIZE + before("", "void* taken = nullptr; static_cast<void>(cudaMalloc(&taken, 4096));  // LINE FAULT"),
        FIRST,
        Outcome.FAILED,
        "does not give back what initialize took: LINE: 4096 bytes of device memory from cudaMalloc, 2 times",
    ),
    "static arguments of a kernel": Fault(
        KERNEL,
        SWITCH_TYPES,
        before(
            SWITCH_TYPES,
            "static MyPluginArguments shared{};\n        shared = args;\n"
            "        myPluginKernel<float><<<blocks, kThreads, 0, stream>>>(shared);\n"
            "        return cudaGetLastError();",
        ),
        FIRST,
        Outcome.FAILED,
        "two contexts at once: ",
    ),
    "scratch memory that all contexts share": Fault(
        KERNEL,
        SWITCH_TYPES,
        before(
            SWITCH_TYPES,
            "static std::mutex mutex;\n        std::lock_guard<std::mutex> const lock{mutex};\n"
            "        auto const bytes = static_cast<size_t>(args.count) * sizeof(float);\n"
            "        auto shared = args;\n        void* scratch = nullptr;\n"
            "        static_cast<void>(cudaGetSymbolAddress(&scratch, gScratch));\n"
            "        static_cast<void>(cudaMemcpyAsync(scratch, args.inputs.x.data, bytes, cudaMemcpyDeviceToDevice,\n"
            "                                          stream));\n        shared.inputs.x.data = scratch;\n"
            "        myPluginKernel<float><<<blocks, kThreads, 0, stream>>>(shared);\n"
            "        return cudaGetLastError();",
        ),
        FIRST,
        Outcome.FAILED,
        "two contexts at once: ",
    ),
    "a lock in enqueue, which is no fault": Fault(
        PLUGIN,
        ENQUEUE,
        "    static std::mutex mutex;\n    std::unique_lock<std::mutex> lock{mutex, std::defer_lock};\n"
        f"{before(ENQUEUE, 'lock.lock();')}",
        FIRST,
        Outcome.PASSED,
        "",
    ),
    "a wrong result where a handle of cuBLAS is given": Fault(
        PLUGIN,
        ATTACH,
        f"    if (FAULT && cublas != nullptr)\n    {{\n        mParameters.alpha = 0.25F;\n    }}\n{ATTACH}",
        FIRST,
        Outcome.FAILED,
        "as TensorRT 10 with tactics of cuDNN and cuBLAS: attachToContext is given their handles (without that it",
    ),
    "host memory of initialize that terminate keeps": Fault(
        PLUGIN,
        INITIALIZE,
        INITIALIZE
        + before("", "auto* volatile taken = new char[4096];  // LINE FAULT\n        static_cast<void>(taken);"),
        FIRST,
        Outcome.FAILED,
        "does not give back what initialize took: LINE: 4096 bytes of host memory from new or malloc",
    ),
    "a vector of each clone": Fault(
        PLUGIN,
        CLONE,
        before(CLONE, "auto* kept = new std::vector<int>;\n        kept->push_back(1);  // LINE FAULT"),
        FIRST,
        Outcome.FAILED,
        "LINE: 4 bytes of host memory from new or malloc",
    ),
    "a cache that is made once, which is no fault": Fault(
        PLUGIN,
        CLONE,
        before(CLONE, "static auto* volatile cache = new char[64];\n        static_cast<void>(cache);"),
        FIRST,
        Outcome.PASSED,
        "",
    ),
    "a stream of each clone": Fault(
        PLUGIN,
        CLONE,
        before(CLONE, "cudaStream_t own{}; static_cast<void>(cudaStreamCreate(&own));  // LINE FAULT"),
        FIRST,
        Outcome.FAILED,
        "[L7] destroy: LINE: stream from cudaStreamCreate",
    ),
    "a throw in configurePlugin": Fault(
        PLUGIN,
        CONFIGURE,
        before(CONFIGURE, "throw 1;"),
        FIRST,
        Outcome.CRASHED,
        "SIGABRT in IPluginV2DynamicExt::configurePlugin",
    ),
}
KEPT = "    std::array<float, 2> mScales{};"
REMEMBER = """    auto most = in[0].desc;
    most.dims = in[0].max;
    mMost = elementCount(most);
    mFirst = mFirst == 0 ? elementCount(in[0].desc) : mFirst;
"""
"""What the faults know that keep the first dimensions, or take the profile's largest."""
NUMBERS = {name: number for number, name in enumerate(FAULTS, 1)}

SWITCH = """
// A fault of the tests, by number; 0 is none.
static int fault()
{
    static int const chosen = std::getenv("FAULT") != nullptr ? std::atoi(std::getenv("FAULT")) : 0;
    return chosen;
}

"""
USUAL = "#include <cstdlib>\n#include <cuda_runtime_api.h>\n#include <mutex>\n#include <vector>\n"
INCLUDED = {PLUGIN: USUAL, KERNEL: f"{USUAL}static __device__ float gScratch[1 << 16];\n"}
INCLUDE, NAMESPACE = "#include <cmath>\n", "namespace my_plugin"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Path:
    """A project that has all faults inside, built once; the environment variable FAULT chooses one."""
    written = classes.project(tmp_path_factory.mktemp("planted"))
    for name in (PLUGIN, KERNEL):
        text = (written / name).read_text()
        assert text.count(INCLUDE) == 1
        text = text.replace(INCLUDE, INCLUDE + INCLUDED[name]).replace(NAMESPACE, SWITCH + NAMESPACE, 1)
        if name == PLUGIN:
            text = text.replace(INITIALIZE, ATTACHES + INITIALIZE, 1)
        for which, fault in FAULTS.items():
            if fault.file == name:
                assert fault.right in text, which
                text = text.replace(fault.right, fault.wrong.replace("FAULT", f"fault() == {NUMBERS[which]}"), 1)
        (written / name).write_text(text)
    header, plugin = written / "src" / "my_plugin.h", written / PLUGIN
    assert KEPT in header.read_text()
    declared = "void attachToContext(cudnnContext*, cublasContext* cublas, nvinfer1::IGpuAllocator*) noexcept override;"
    members = "".join(f"    int64_t {one}{{0}};\n" for one in ("mFirst", "mKept", "mMost"))
    header.write_text(header.read_text().replace(KEPT, f"    {declared}\n{members}{KEPT}"))
    text = plugin.read_text()
    assert text.count(CONFIGURE) == 1
    plugin.write_text(text.replace(CONFIGURE, REMEMBER + CONFIGURE))
    return shared.project(written)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_the_plugin(project: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    fault = FAULTS[name]
    monkeypatch.setenv("FAULT", str(NUMBERS[name]))
    report = run(project, fault.only, timeout=5 if "hang" in name else 60)
    (case,) = report.cases
    assert (case.id, case.outcome) == (fault.only, fault.outcome)
    lines = (project / fault.file).read_text().splitlines()
    marked = [number for number, line in enumerate(lines, 1) if line.endswith(f"// LINE fault() == {NUMBERS[name]}")]
    assert fault.says.replace("LINE", f"{fault.file}:{marked[0] if marked else 0}") in case.message
    assert report.exit_code == {Outcome.PASSED: 0, Outcome.FAILED: 1}.get(fault.outcome, 6)


def with_altered(monkeypatch: pytest.MonkeyPatch, alter: object) -> None:
    """Have the runner use networks whose models are altered; the oracle's answers stay."""
    make = planning.make

    def altered(*args: object, **kwargs: object) -> Plan:
        plan = make(*args, **kwargs)  # type: ignore[arg-type]
        return replace(plan, networks=tuple(replace(n, model=alter(n)) for n in plan.networks))  # type: ignore[operator]

    monkeypatch.setattr(planning, "make", altered)


def run(project: Path, only: str, timeout: float = 60) -> Report:
    library = project / "build" / "cpu" / "libmy_plugin.so"
    return runner.run(Options(project=project, library=library, only=(only,), timeout=timeout))


def test_without_a_fault_the_same_cases_pass(project: Path) -> None:
    for only in sorted({fault.only for fault in FAULTS.values()}):
        report = run(project, only)
        assert [(case.id, case.outcome) for case in report.cases] == [(only, Outcome.PASSED)]
        assert report.bad == []


def test_a_failing_case_costs_no_more_than_its_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What costs time are processes: a few for the question whether state is kept, and none for each case."""
    started: list[str] = []
    start = worker.Worker.__init__

    def counted(self: worker.Worker, *args: object, **kwargs: object) -> None:
        started.append(str(args[0]))
        start(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(worker.Worker, "__init__", counted)
    library = project / "build" / "cpu" / "libmy_plugin.so"
    options = Options(project=project, library=library, only=("plain/float16/*", "plain/int8/*"), jobs=1)
    monkeypatch.setenv("FAULT", "0")
    assert runner.run(options).bad == []
    right = len(started)
    monkeypatch.setenv("FAULT", str(NUMBERS["an output that stays unwritten"]))
    started.clear()
    report = runner.run(options)
    assert sum(case.outcome is Outcome.FAILED for case in report.cases) > 20
    assert len(started) <= right + TRIES + 2


def test_a_branch_swapped(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def swap(network: Network) -> bytes:
        if network.family != "cond-both":
            return network.model
        model = onnx.load_from_string(network.model)
        (branch,) = [node for node in model.graph.node if node.op_type == "If"]
        for attribute in branch.attribute:
            attribute.name = {"then_branch": "else_branch", "else_branch": "then_branch"}[attribute.name]
        return model.SerializeToString()

    with_altered(monkeypatch, swap)
    report = run(project, "cond-both/float32/opt/*")
    assert [(c.id, c.outcome.value) for c in report.cases] == [
        ("cond-both/float32/opt/then", "failed"),
        ("cond-both/float32/opt/else", "failed"),
    ]


def test_a_dead_plugin(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(network: Network) -> bytes:
        if network.family != "plain":
            return network.model
        # The output is the input's: whatever the plugin computes, nobody asks for it.
        model = onnx.load_from_string(network.model)
        graph = model.graph
        for node in graph.node:
            for index, name in enumerate(node.output):
                if name == graph.output[0].name:
                    node.output[index] = "nobody_asks"
        graph.node.append(helper.make_node("Identity", [graph.input[0].name], [graph.output[0].name], name="past"))
        return model.SerializeToString()

    with_altered(monkeypatch, kill)
    report = run(project, "plain/float32/opt")
    (verdict,) = report.verdicts
    assert verdict.outcome is Outcome.FAILED
    assert "never configured" in verdict.message
