"""The reference.py of a project that is made from a module or an operator of PyTorch."""

from __future__ import annotations

from pluginkit.torch.facts import FieldFound, TorchFound
from pluginkit.torch.target import TorchTarget


def computed(found: TorchFound, target: TorchTarget, above: str) -> str:
    """A reference that calls it.

    Args:
        found: what it is called with.
        target: where it is.
        above: the way from the project's folder to the one that has to be searched for it; empty if none has.
    """
    path = ["import sys", "from pathlib import Path", ""] if above else []
    search = [f'sys.path.insert(0, str(Path(__file__).resolve().parent / "{above}"))', ""] if above else []
    late = "  # noqa: E402" if above else ""
    arguments = [one.name for one in found.inputs] + (["*"] * bool(found.fields)) + [one.name for one in found.fields]
    lines = [
        '"""The layer in NumPy. Every test compares the plugin with this function."""',
        "",
        "from __future__ import annotations",
        "",
        *path,
        "import torch",
        "",
        *search,
        _import(target) + late,
        "",
        "",
        f"def reference({', '.join(arguments)}):",
        f'    """{target.text}, computed by PyTorch in {"float64" if found.wide else "float32"}."""',
        *_body(found, target),
    ]
    return "\n".join(lines) + "\n"


def _import(target: TorchTarget) -> str:
    if target.is_operator:
        return f"import {target.module}"
    return f"from {target.module} import {target.name.partition('.')[0]}"


def _body(found: TorchFound, target: TorchTarget) -> list[str]:
    given = [one for one in found.inputs if not one.parameter]
    weights = [one for one in found.inputs if one.parameter]
    calls = [f"torch.from_numpy({one.name}.copy()).to(torch.{_kind(one.kind, found)})" for one in given]
    values = [*found.fixed, *(f"{one.name}={_value(one)}" for one in found.fields)]
    if not found.is_module:
        # By name: a field may stand between two tensors.
        named = [f"{one.name}={call}" for one, call in zip(given, calls, strict=True)]
        called = f"torch.ops.{target.name.replace('::', '.')}" if target.is_operator else target.name
        return [
            *_listed("    made = " + called + "(", [*named, *values], "    )"),
            *_returned(),
        ]
    make = f"{target.name}({', '.join(values)})" if found.is_class else target.name
    pairs = [
        f'"{one.parameter}": torch.from_numpy({one.name}.copy()).to(torch.{_kind(one.kind, found)})' for one in weights
    ]
    wide = ".double()" if found.wide else ".float()"
    call = "torch.func.functional_call(module, weights, inputs)" if weights else "module(*inputs)"
    return [
        f"    module = {make}{wide}.eval()",
        *(_listed("    weights = {", pairs, "    }") if weights else []),
        *_listed("    inputs = (", [f"{one}," for one in calls] if len(calls) == 1 else calls, "    )"),
        "    with torch.no_grad():",
        f"        made = {call}",
        *_returned(),
    ]


def _kind(kind: str, found: TorchFound) -> str:
    """The type in which PyTorch computes: one for every floating type, an integer's own."""
    return kind if kind.startswith("int") else "float64" if found.wide else "float32"


def _value(field: FieldFound) -> str:
    if field.boolean:
        return f"bool({field.name})"
    if isinstance(field.value, tuple):
        return (
            f"[{'float' if any(isinstance(one, float) for one in field.value) else 'int'}(one) for one in {field.name}]"
        )
    return field.name


def _returned() -> list[str]:
    return [
        "    several = made if isinstance(made, (tuple, list)) else (made,)",
        "    return tuple(one.detach().numpy() for one in several)",
    ]


def _listed(begin: str, items: list[str], end: str) -> list[str]:
    line = f"{begin}{', '.join(items)}{end.strip()}"
    if len(line) <= 88:
        return [line.replace(",,", ",")]
    return [begin, *(f"        {one.rstrip(',')}," for one in items), end]
