"""A library's plugins as PyTorch's operators, and as nodes of the ONNX models that PyTorch exports.

`pluginkit build` copies this file into the library's Python module, which runs it where PyTorch is and pluginkit need
not be: so it imports nothing of pluginkit, and PyTorch and onnxscript only in its functions.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

TORCH_TYPES = {"float": "float", "int": "int", "text": "str"}
"""What a field's kind is in an operator's schema."""
ALIGNMENT = {"cpu": 16, "gpu": 256}
"""What the module asks of an address, in bytes: TensorRT's tensors have it, and a view of a tensor may not."""
KEPT = 64
"""So many layers of an operator stay ready, one for each set of fields' values."""
REST = "..."
"""In a shape: any number of dimensions, the same ones in each tensor."""

_registered: dict[str, PluginOperator] = {}


def schema(plugin: Mapping[str, Any]) -> str:
    """A plugin's schema, without its name: `(Tensor x, *, float alpha=0.5) -> Tensor`.

    Args:
        plugin: what `pluginkit.build.python_signature` writes of it.
    """
    arguments = [f"Tensor {one['name']}" for one in plugin["inputs"]]
    fields = [_argument(field) for field in plugin["fields"]]
    made = [f"Tensor {one['name']}" for one in plugin["outputs"]]
    returned = "Tensor" if len(made) == 1 else f"({', '.join(made)})"
    return f"({', '.join([*arguments, *(['*', *fields] if fields else [])])}) -> {returned}"


def _argument(field: Mapping[str, Any]) -> str:
    written = f"{TORCH_TYPES[field['kind']]}{'[]' if field['is_list'] else ''} {field['name']}"
    default = field["default"]
    if default is None:
        return written
    if field["is_list"]:
        return f"{written}=[{', '.join(_number(field, one) for one in default)}]"
    return f"{written}={_text(default) if field['kind'] == 'text' else _number(field, default)}"


def _number(field: Mapping[str, Any], value: float) -> str:
    return repr(float(value)) if field["kind"] == "float" else str(int(value))


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


class PluginOperator:
    """A plugin as `torch.ops.<namespace>.<name>`.

    Args:
        module: the library's Python module.
        plugin: what the build wrote of the plugin.
    """

    def __init__(self, module: Any, plugin: Mapping[str, Any]) -> None:
        self.name = str(plugin["name"])
        self.qualified = f"{plugin['domain']}::{self.name}"
        self._plugin = plugin
        self._make: Callable[..., Any] = getattr(module, self.name)
        self._alignment = ALIGNMENT[module.target]
        self._layers: dict[str, Any] = {}
        outputs = plugin["outputs"]
        self._aliased = {one["alias"] for one in outputs} & {one["name"] for one in plugin["inputs"]}

    def register(self) -> None:
        """Define the operator, and what computes it.

        Raises:
            RuntimeError: there is an operator of that name, or PyTorch has the namespace for itself.
        """
        import torch

        namespace = self._plugin["domain"]
        packet = getattr(torch.ops, namespace)
        if hasattr(packet, self.name):
            raise RuntimeError(
                f"torch.ops.{namespace}.{self.name} is there already, from another library: one process has one "
                "operator of a name."
            )
        try:
            self._library = torch.library.Library(namespace, "FRAGMENT")
            self._library.define(self.name + schema(self._plugin), tags=(torch.Tag.pt2_compliant_tag,))
        except (RuntimeError, ValueError) as error:
            raise RuntimeError(f"PyTorch makes no operator {self.qualified}: {error}") from None
        # The same for both: of a tensor that lies elsewhere the layer says which library to take.
        for device in ("CPU", "CUDA"):
            self._library.impl(self.name, self.run, device)
        torch.library.register_fake(self.qualified, self.fake, lib=self._library)

    @property
    def overload(self) -> Any:
        """`torch.ops.<namespace>.<name>.default`."""
        import torch

        return getattr(getattr(torch.ops, self._plugin["domain"]), self.name).default

    def run(self, *inputs: Any, **fields: Any) -> Any:
        """The plugin's kernel on tensors; what it can't read as it lies is copied."""
        self._check_types(inputs)
        ready = []
        for tensor, one in zip(inputs, self._plugin["inputs"], strict=True):
            given = tensor.detach().contiguous()
            # An operator leaves its inputs alone: of one that the plugin writes into, it gets a copy.
            shared = one["name"] in self._aliased and given.data_ptr() == tensor.data_ptr()
            odd = given.numel() > 0 and given.data_ptr() % self._alignment != 0
            ready.append(given.clone() if shared or odd else given)
        return self._layer(fields)(*ready)

    def _layer(self, fields: Mapping[str, Any]) -> Any:
        """The plugin with these fields: those that the caller leaves out have their defaults from the plugin."""
        given = {
            field["name"]: fields.get(field["name"], field["default"])
            for field in self._plugin["fields"]
            if fields.get(field["name"], field["default"]) is not None
        }
        key = repr(given)
        layer = self._layers.pop(key, None)
        if layer is None:
            layer = self._make(**given)
        self._layers[key] = layer
        if len(self._layers) > KEPT:
            self._layers.pop(next(iter(self._layers)))
        return layer

    def fake(self, *inputs: Any, **fields: Any) -> Any:
        """The outputs' shapes and types: those of the manifest's expressions, of sizes that may be symbols."""
        import torch

        types = self._check_types(inputs)
        sizes = self._sizes(inputs)
        values = {field["name"]: fields.get(field["name"], field["default"]) for field in self._plugin["fields"]}
        for name in self._plugin["unknown"]:
            sizes[name] = torch.library.get_ctx().new_dynamic_size()
        env = {**values, **sizes, **_functions()}
        made = []
        for output, kind in zip(self._plugin["outputs"], types, strict=True):
            shape: list[Any] = []
            for dim in output["dims"]:
                size = sizes[REST] if dim == REST else [eval(dim, {"__builtins__": {}}, env)]
                shape += [one for one in size if one is not None]
            made.append(inputs[0].new_empty(shape, dtype=getattr(torch, kind)))
        return made[0] if len(made) == 1 else tuple(made)

    def _check_types(self, inputs: Sequence[Any]) -> list[str]:
        """The outputs' types; TypeError where the plugin has none for the inputs' types."""
        given = [str(one.dtype).removeprefix("torch.") for one in inputs]
        for index, (kind, tensor) in enumerate(zip(given, self._plugin["inputs"], strict=True)):
            if kind not in tensor["types"].split(", "):
                raise TypeError(
                    f"{self.name} takes no {kind} as input {index} ({tensor['name']}); it takes {tensor['types']}."
                )
        for combination in self._plugin["combinations"]:
            if combination["inputs"] == given:
                return list(combination["outputs"])
        shown = "; ".join(", ".join(one["inputs"]) for one in self._plugin["combinations"])
        raise TypeError(f"{self.name} takes no inputs of the types {', '.join(given)} together; it takes {shown}.")

    def _sizes(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """What each symbol is; ValueError where the inputs have other shapes than the manifest's."""
        import torch

        sizes: dict[str, Any] = {}
        for index, (tensor, one) in enumerate(zip(inputs, self._plugin["inputs"], strict=True)):
            shape, dims = list(tensor.shape), list(one["shape"])
            what = f"{self.name}: input {index} ({one['name']})"
            if REST in dims:
                at, count = dims.index(REST), len(shape) - len(dims) + 1
                fits = count >= 0
                dims[at : at + 1] = [f"{REST}[{i}]" for i in range(count)]
                sizes[REST] = shape[at : at + max(count, 0)]
            else:
                fits = len(shape) == len(dims)
            if not fits:
                raise ValueError(f"{what} has {len(shape)} dimensions; its shape is [{', '.join(one['shape'])}].")
            for size, dim in zip(shape, dims, strict=True):
                known = int(dim) if dim.isdigit() else sizes.setdefault(dim, size)
                torch._check_value(
                    size == known, lambda what=what, dim=dim: f"{what} has another size than {dim} where {dim} stands."
                )
        return sizes

    def to_onnx(self) -> Callable[..., Any]:
        """What PyTorch's exporter calls for the operator: it adds the plugin's node."""
        import onnx
        from onnxscript import values

        define, plugin = onnx.defs.OpSchema, self._plugin
        kinds = onnx.defs.OpSchema.AttrType
        own = {"plugin_version": plugin["version"], "plugin_namespace": plugin["namespace"]}
        if plugin["shape_inputs"]:
            own["tensorrt_plugin_shape_input_indices"] = plugin["shape_inputs"]
        types = {"float": kinds.FLOAT, "int": kinds.INT, "text": kinds.STRING}
        lists = {"float": kinds.FLOATS, "int": kinds.INTS}
        attributes = {
            **{one["name"]: (lists if one["is_list"] else types)[one["kind"]] for one in plugin["fields"]},
            **{name: kinds.STRING if isinstance(value, str) else kinds.INTS for name, value in own.items()},
        }
        tensors = [(one, f"T{index}") for index, one in enumerate((*plugin["inputs"], *plugin["outputs"]))]
        split = len(plugin["inputs"])
        node = values.Op(
            values.Opset(plugin["domain"], 1),
            self.name,
            define(
                self.name,
                plugin["domain"],
                1,
                inputs=[define.FormalParameter(one["name"], kind) for one, kind in tensors[:split]],
                outputs=[define.FormalParameter(one["name"], kind) for one, kind in tensors[split:]],
                type_constraints=[(kind, define.all_tensor_types(), "") for _, kind in tensors]
                if hasattr(define, "all_tensor_types")
                else [(kind, sorted(_tensor_types()), "") for _, kind in tensors],
                attributes=[define.Attribute(name, kind, "") for name, kind in attributes.items()],
            ),
        )

        def translate(*inputs: Any, **fields: Any) -> Any:
            given = {one["name"]: fields.get(one["name"], one["default"]) for one in plugin["fields"]}
            made = {
                one["name"]: _attribute(one, given[one["name"]])
                for one in plugin["fields"]
                if given[one["name"]] is not None
            }
            return node(*inputs, **made, **own)

        return _signed(translate, plugin)


def _attribute(field: Mapping[str, Any], value: Any) -> Any:
    """A field's value as an attribute of its type. The exporter would else guess it from the value: integers of whole
    numbers, and of an empty list."""
    if field["kind"] != "float":
        return value
    if not field["is_list"]:
        return float(value)
    from onnxscript import ir

    return ir.AttrFloat32s(field["name"], [float(one) for one in value])


def _tensor_types() -> set[str]:
    import onnx

    return set(onnx.defs.get_schema("Identity").type_constraints[0].allowed_type_strs)


def _signed(function: Any, plugin: Mapping[str, Any]) -> Callable[..., Any]:
    """The function with the plugin's signature: by it the exporter tells inputs from attributes."""
    numbers: dict[str, Any] = {"float": float, "int": int, "text": str}
    lists: dict[str, Any] = {"float": Sequence[float], "int": Sequence[int]}
    kinds = {one["name"]: (lists if one["is_list"] else numbers)[one["kind"]] for one in plugin["fields"]}
    parameter, plain = inspect.Parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__name__ = plugin["name"]
    function.__annotations__ = kinds
    function.__signature__ = inspect.Signature(
        [parameter(one["name"], plain) for one in plugin["inputs"]]
        + [
            parameter(
                field["name"],
                parameter.KEYWORD_ONLY,
                default=parameter.empty if field["default"] is None else field["default"],
                annotation=kinds[field["name"]],
            )
            for field in plugin["fields"]
        ]
    )
    made: Callable[..., Any] = function
    return made


def _functions() -> dict[str, Any]:
    """What shape expressions call, on numbers and on symbols."""
    import torch

    return {
        "min": torch.sym_min,
        "max": torch.sym_max,
        "len": len,
        "ceil_div": lambda a, b: -(-a // b),
        "broadcast": _broadcast,
    }


def _broadcast(a: Any, b: Any) -> Any:
    # Newer versions of PyTorch have it; who needs no broadcast needs none of them.
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    return b if guard_or_false(a == 1) else a


def register(module: Any, signature: str) -> tuple[Any, ...]:
    """Register the operators of all plugins of a module that its pluginkit.toml knows, once.

    Args:
        module: the library's Python module.
        signature: what the build wrote of its plugins, as JSON.

    Returns:
        The operators, `torch.ops.<namespace>.<name>.default`.

    Raises:
        ImportError: PyTorch isn't installed.
        RuntimeError: there is no such plugin, or PyTorch makes no operator of one.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{module.__name__}.register_torch() needs PyTorch: pip install torch ({error})") from None
    known = [one for one in json.loads(signature) if one["name"] in module.plugins]
    if not known:
        raise RuntimeError(f"{module.__name__} was built without pluginkit.toml, which says what its operators are.")
    for plugin in known:
        if plugin["name"] not in _registered:
            operator = PluginOperator(module, plugin)
            operator.register()
            _registered[plugin["name"]] = operator
    return tuple(_registered[one["name"]].overload for one in known)


def custom_translation_table(module: Any, signature: str) -> dict[Any, Callable[..., Any]]:
    """What `torch.onnx.export(dynamo=True)` takes by that name: each operator becomes the plugin's node.

    Raises:
        ImportError, RuntimeError: as `register`; onnxscript isn't installed.
    """
    register(module, signature)
    try:
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"torch.onnx.export(dynamo=True) needs onnxscript: pip install onnxscript ({error})"
        ) from None
    return {one.overload: one.to_onnx() for one in _registered.values()}
