"""Write, build, test and ship NVIDIA TensorRT plugins.

    import pluginkit

    project = pluginkit.new("MyPlugin")                    # a project: kernel, layer, reference, tests
    pluginkit.build(project)                               # BuildReport
    report = pluginkit.test(project, precisions=["int8"])  # TestReport: report.ok, report.cases, report.to_json()

new       write a plugin project
build     compile it                                                 BuildReport
test      run it in networks                                         TestReport
check     check a library against TensorRT's plugin contract         ContractReport
inspect   read what a library exports, needs and contains            LibraryReport
doctor    find what keeps TensorRT from taking a model               ModelReport
load      register a plugin with this process's TensorRT
Registry  bundles of built plugins: add, resolve, load

These names (`pluginkit.__all__`) are the API. Other modules and packages, which pydoc lists below, are internal and
may change in any release. docs/python-api.md has the reference.
"""

from __future__ import annotations

from pluginkit.installation import foreign as _foreign

TYPE_CHECKING = False  # as in pluginkit/installation
if TYPE_CHECKING:
    from pluginkit.api.builds import BuildReport, build
    from pluginkit.api.checks import ContractReport, check
    from pluginkit.api.libraries import LibraryReport, inspect
    from pluginkit.api.models import ModelReport, doctor
    from pluginkit.api.registries import Registry
    from pluginkit.api.tests import TestReport, test
    from pluginkit.paths import __version__, built_dir, cmake_dir, include_dir
    from pluginkit.registry.registration import load
    from pluginkit.scaffold import new

_PLACES = {
    "BuildReport": "api.builds",
    "ContractReport": "api.checks",
    "LibraryReport": "api.libraries",
    "ModelReport": "api.models",
    "Registry": "api.registries",
    "TestReport": "api.tests",
    "__version__": "paths",
    "build": "api.builds",
    "built_dir": "paths",
    "check": "api.checks",
    "cmake_dir": "paths",
    "doctor": "api.models",
    "include_dir": "paths",
    "inspect": "api.libraries",
    "load": "registry.registration",
    "new": "scaffold",
    "test": "api.tests",
}
"""Each public name's module, imported when the name is first asked for: `import pluginkit` needs none of them."""


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'pluginkit' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"pluginkit.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})


_foreign.warn()

__all__ = [
    "BuildReport",
    "ContractReport",
    "LibraryReport",
    "ModelReport",
    "Registry",
    "TestReport",
    "__version__",
    "build",
    "built_dir",
    "check",
    "cmake_dir",
    "doctor",
    "include_dir",
    "inspect",
    "load",
    "new",
    "test",
]
