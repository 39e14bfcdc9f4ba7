"""Mutants of pluginkit/layer/*.h: what nobody can get wrong in a layer, because those headers do it.

`DYNAMIC` are planted in the layer of `layers.py`; `IOEXT` and `V3` in a layer with what those have besides; `RANKS` in one
of any rank that has tactics. They are at least one for most methods. None is there of the texts of `layer/fields.h`
(tests/unit/test_layer_fields.py asks them), of say() and restoreV2() (tests/integration/test_layers_page.py and
test_convert.py call them), of terminate() and unload(), and of the two about broadcasts, which TensorRT 10 alone has:
these libraries are of layout 11.
"""

# ruff: noqa: E501 (a row a mutant: what is wrong, right code, wrong code, cases, what is said)

from __future__ import annotations

from pathlib import Path

from pluginkit import scaffold
from tests.planted import CRASH, FIRST, Fault

_ALPHA = "plain/float32-field-alpha/opt"
_INT8 = "plain/int8/opt"
_V2, _DYNAMIC, _IOEXT, _V3, _CORE, _STATE, _SIZES, _MEMORY = (
    f"pluginkit/layer/{name}.h" for name in ("v2", "dynamic", "ioext", "v3", "core", "state", "sizes", "memory")
)


def _faults(file: str, *rows: tuple[str, str, str, str, str]) -> dict[str, Fault]:
    """Of rows with what is wrong, the right code, the wrong one, the cases that show it and what is said then."""
    return {name: Fault(file, right, wrong, only, says=says) for name, right, wrong, only, says in rows}


_CLONE = "return new Derived{static_cast<Derived const&>(*this)};"
_LOST = "auto* lost = new Derived{{static_cast<Derived const&>(*this)}};\n            if (FAULT)\n            {{\n                {}\n            }}\n            return lost;"
_MAKE = "            layer->setPluginNamespace(mNamespace.c_str());\n            return fill"
DYNAMIC = {
    **_faults(
        _V2,
        ("v2: a namespace that a clone loses", _CLONE, _LOST.format('lost->setPluginNamespace("");'), FIRST, "the clone's getPluginNamespace answers ''"),
        ("v2: a clone that loses a field", "            return lost;", "            if (FAULT)\n            {\n                lost->mFields = {};\n            }\n            return lost;", _ALPHA, "the field 'alpha' is 0.5 in the clone, 0.7"),
        ("v2: a namespace that is not restored", _MAKE, _MAKE.replace("mNamespace.c_str()", 'FAULT ? "" : mNamespace.c_str()'), FIRST, "a plugin in namespace ''; its creator is in 'pluginkit.host'"),
        ("v2: serialized bytes that are read whatever their number", "&& reader.finished();", "&& (FAULT || reader.finished());", FIRST, "[S5] IPluginCreator::deserializePlugin: made a plugin of its"),
        ("v2: a segmentation fault by cut bytes", "        Reader reader{data, length, Signature::kSerialVersion};", f"        if (FAULT && length < 5)\n        {{\n            {CRASH}\n        }}\n        Reader reader{{data, length, Signature::kSerialVersion}};", FIRST, "[S5] IPluginCreator::deserializePlugin: ended the process with SIGSEGV of 0 of its"),
        ("v2: a field that is not listed", "{one.name, nullptr,", '{FAULT ? "alfa" : one.name, nullptr,', FIRST, "getFieldNames: does not list the field 'alpha'"),
        ("v2: a field that is listed with another type", "static_cast<nvinfer1::PluginFieldType>(one.type), one.length}", "FAULT ? nvinfer1::PluginFieldType::kINT32 : static_cast<nvinfer1::PluginFieldType>(one.type), one.length}", FIRST, "[F9] IPluginCreator::getFieldNames: lists the field"),
        ("v2: fields of which one is not counted", "mCollection.nbFields = static_cast<int32_t>(mFields.size());", "mCollection.nbFields = static_cast<int32_t>(mFields.size()) - (FAULT ? 1 : 0);", FIRST, "does not list the field"),
        ("v2: a namespace cut short", ".substr(0, kMaxNamespace)", ".substr(0, FAULT ? 3 : kMaxNamespace)", FIRST, "amespace"),
        ("v2: another type", "    char const* getPluginType() const noexcept override\n    {\n        return Signature::kName;", '    char const* getPluginType() const noexcept override\n    {\n        return FAULT ? "Other" : Signature::kName;', FIRST, "getPluginType"),
        ("v2: another version", "return Signature::kVersion;", 'return FAULT ? "9" : Signature::kVersion;', FIRST, "getPluginVersion"),
        ("v2: a plugin's namespace that is not taken", "    {\n        detail::setNamespace(mNamespace, pluginNamespace);", '    {\n        detail::setNamespace(mNamespace, FAULT ? "" : pluginNamespace);', FIRST, "amespace"),
        ("v2: outputs that are not counted", "return Core::kOutputs;", "return Core::kOutputs + (FAULT ? 1 : 0);", FIRST, "getNbOutputs"),
        ("v2: an output's type of the first row always", "return asked ? this->outputType(index, inputTypes)", "return asked && !(FAULT) ? this->outputType(index, inputTypes)", "plain/float16/opt", "kFLOAT"),
        ("v2: a size that is not that of the bytes", "return this->keptBytes();", "return this->keptBytes() + (FAULT ? 4 : 0);", FIRST, "erializ"),
        ("v2: bytes that nobody writes", "        this->put(writer);", "        if (!(FAULT))\n        {\n            this->put(writer);\n        }", FIRST, "erializ"),
        ("v2: an object that destroy leaves", "delete this;", "if (!(FAULT))\n        {\n            delete this;\n        }", FIRST, "[L7]"),
        ("v2: initialize that fails", "return this->upload() ? 0 : detail::kFailed;", "return this->upload() && !(FAULT) ? 0 : detail::kFailed;", FIRST, "initialize"),
        ("v2: no plugin of serialized bytes", "return layer.restore(data, length); });", "return !(FAULT) && layer.restore(data, length); });", FIRST, "deserializePlugin: answered null"),
    ),
    **_faults(
        _DYNAMIC,
        ("dynamic: no shape", "return expressions.good() ? output : impossible;", "return expressions.good() && !(FAULT) ? output : impossible;", FIRST, "getOutputDimensions"),
        ("dynamic: the shape of another output", "&output, outputIndex, 1};", "&output, FAULT ? 1 : outputIndex, 1};", FIRST, "getOutputDimensions"),
        ("dynamic: formats of the first tensor for each", "auto& { return inOut[i]; });", "auto& { return inOut[FAULT ? 0 : i]; });", FIRST, "upportsFormat"),
        ("dynamic: scales of the outputs that are the inputs'", "out[i - nbInputs].desc);", "FAULT ? in[0].desc : out[i - nbInputs].desc);", "plain/int8-*/opt", "steps"),
        ("dynamic: no workspace", "return this->workspaceFor(shapes);", "return FAULT ? 0 : this->workspaceFor(shapes);", FIRST, "orkspace"),
        ("dynamic: an enqueue that never runs", "return this->run(inputDesc, outputDesc, inputs, outputs, workspace, 0, stream);", "return FAULT ? 0 : this->run(inputDesc, outputDesc, inputs, outputs, workspace, 0, stream);", FIRST, "unwritten"),
        ("dynamic: the default stream", "workspace, 0, stream);\n    }", "workspace, 0, FAULT ? nullptr : stream);\n    }", FIRST, "stream"),
    ),
    **_faults(
        _CORE,
        ("core: shapes that fit whatever they are", "bool good = Signature::fits(sizes, mFields);", "bool good = !(FAULT) && Signature::fits(sizes, mFields);", FIRST, "answered 1"),
        ("core: workspace of half the bytes", "Signature::workspace(Sizes<kOutputs>{inputs}, mFields).value();", "Signature::workspace(Sizes<kOutputs>{inputs}, mFields).value() / (FAULT ? 2 : 1);", "plain/float32/max", "orkspace"),
        ("core: the row behind the right one", "            ++row;", "            row += FAULT ? 2 : 1;", "plain/float16/opt", ""),
        ("core: the type of the next row", "row == detail::kNoRow ? 0 : row]", "row == detail::kNoRow ? 0 : FAULT ? 1 : row]", FIRST, ""),
        ("core: formats of another tensor", "static_cast<int32_t>(desc.format) == row[1 + i];", "static_cast<int32_t>(desc.format) == row[1 + i] + (FAULT ? 1 : 0);", FIRST, "supportsFormatCombination"),
        ("core: a type that is not looked at", "for (int32_t i = 0; i <= pos && same; ++i)", "for (int32_t i = FAULT ? pos + 1 : 0; i <= pos && same; ++i)", FIRST, "supportsFormatCombination"),
        ("core: ranks that are refused", ": beyond == 0);", ": beyond == (FAULT ? 1 : 0));", FIRST, "getOutputDimensions"),
        ("core: a workspace that is not a number", "return static_cast<size_t>(bytes < 0 ?", "return static_cast<size_t>(bytes < 0 || FAULT ?", FIRST, "orkspace"),
        ("core: a scale of another tensor", "tensor.scale = mScales[at];", "tensor.scale = mScales[FAULT ? 0 : at];", _INT8, "steps"),
        ("core: a scale that nobody has", "!detail::isScale(tensor.scale))", "(FAULT || !detail::isScale(tensor.scale)))", _INT8, "answered 1"),
        ("core: an output without memory", "made[at - kInputs].data = outputs[i - kInputs];", "made[at - kInputs].data = FAULT ? nullptr : outputs[i - kInputs];", FIRST, "null"),
        ("core: a count of nothing", "launch.count = std::max(launch.count, tensor.count);", "launch.count = FAULT ? 0 : std::max(launch.count, tensor.count);", FIRST, "unwritten"),
        ("core: what a launch answers is not asked", "in.data(), made.data()) == cudaSuccess;".replace("in.data()", "given.data()"), "given.data(), made.data()) == cudaSuccess && !(FAULT);", FIRST, "answered 1"),
    ),
    **_faults(
        _STATE,
        ("state: a field that is not serialized", "each([&](auto const& one) { writer.put(mFields.*(one.member)); });", "each([&](auto const& one) { writer.put(FAULT ? Fields{}.*(one.member) : mFields.*(one.member)); });", _ALPHA, ""),
        ("state: a field that is not restored", "read = read && reader.get(value);", "auto lost = value;\n                    read = read && reader.get(FAULT ? lost : value);", _ALPHA, "the field 'alpha' is 0.5 after deserialize, 0.7"),
        ("state: a field that createPlugin loses", "if (wrong.empty() && !read(reader, one, one.required))", "if (!(FAULT) && wrong.empty() && !read(reader, one, one.required))", _ALPHA, "These are the outputs for alpha = 0.5, and the node has"),
        ("state: a default that reading loses", "        auto& value = mFields.*(one.member);\n        using Value = std::decay_t<decltype(value)>;\n        [[maybe_unused]] auto const also", "        auto& value = mFields.*(one.member);\n        using Value = std::decay_t<decltype(value)>;\n        value = FAULT ? Value{} : value;\n        [[maybe_unused]] auto const also", "plain/float32-no-fields/opt", "the plugin's own defaults must be those of pluginkit.toml"),
        ("state: a segmentation fault by a field without data", "        FieldReader const reader{&given};\n        std::string wrong;", "        for (int32_t i = 0; FAULT && i < given.nbFields; ++i)\n        {\n            static_cast<void>(*static_cast<volatile char const*>(given.fields[i].data));\n        }\n        FieldReader const reader{&given};\n        std::string wrong;", FIRST, "[F7] IPluginCreator::createPlugin: ended the process with SIGSEGV of the field 'alpha' without data"),
        ("state: fields that problem() is not asked about", "wrong = wrong.empty() ? problem() : wrong;", 'wrong = wrong.empty() && !(FAULT) ? problem() : "no";', FIRST, "createPlugin: answered null"),
        ("state: scales of the fields that are lost", "Signature::scales(mFields, mScales.data());\n            return true;", "if (!(FAULT))\n            {\n                Signature::scales(mFields, mScales.data());\n            }\n            return true;", _INT8, ""),
        ("state: scales of descriptors that are not taken", "mScales[at] = desc.scale;", "mScales[at] = FAULT ? 0.0F : desc.scale;", "plain/int8-implicit-max/opt", ""),
        ("state: scales that no engine keeps", "            writer.put(mScales);", "            auto const none = decltype(mScales){};\n            writer.put(FAULT ? none : mScales);", _INT8, ""),
        ("state: scales that no engine gives back", "read = read && reader.get(mScales);", "auto lost = mScales;\n            read = read && reader.get(FAULT ? lost : mScales);", _INT8, ""),
        ("state: the own state, which no engine gives back", "read = read && reader.get(mState);", "auto lost = mState;\n            read = read && reader.get(FAULT ? lost : mState);", FIRST, ""),
        ("state: bytes that are not counted", "bytes += sizeof value;", "bytes += FAULT ? 0 : sizeof value;", FIRST, "erializ"),
        ("state: a layer of damaged bytes", "return wrong.empty();", "return wrong.empty() && !(FAULT);", FIRST, "deserializePlugin: answered null"),
        ("state: a layer of bytes that were not read", "if (!read)", "if (!read && !(FAULT))", FIRST, "[S5]"),
    ),
    **_faults(
        _SIZES,
        ("sizes: a dimension of another place", "dim < 0 ? shape.rank + dim : dim;", "dim < 0 ? shape.rank + dim : (FAULT ? 3 - dim : dim);", "plain/float32/random-1", "answered 1"),
        ("sizes: another output's shape", "return mOutputs[static_cast<size_t>(index)];", "return mOutputs[static_cast<size_t>(FAULT ? 1 - index : index)];", FIRST, ""),
        ("sizes: a dimension that is not added", "shape.dims[shape.rank++] = dim.value();", "shape.dims[FAULT ? shape.rank : shape.rank++] = dim.value();", FIRST, "answered 1"),
        ("sizes: an output that is not begun", "mOutputs[static_cast<size_t>(output)] = Shape{0, {}};", "mOutputs[static_cast<size_t>(output)] = Shape{FAULT ? -1 : 0, {}};", FIRST, "answered 1"),
    ),
    **_faults(
        _MEMORY,
        ("memory: a shape without its last dimension", "    Shape shape{dims.nbDims, {}};", "    Shape shape{dims.nbDims - (FAULT ? 1 : 0), {}};", FIRST, "answered 1"),
        ("memory: shapes that are never the same", "bool same = one.rank == other.rank;", "bool same = one.rank == other.rank && !(FAULT);", FIRST, "answered 1"),
        ("memory: a count without the last dimension", "tensor.count *= size;", "tensor.count *= FAULT && i == 3 ? 1 : size;", FIRST, "unwritten"),
    ),
}  # fmt: skip


FAST = {
    "v2: a namespace that a clone loses",
    "v2: a clone that loses a field",
    "v2: a namespace that is not restored",
    "v2: serialized bytes that are read whatever their number",
    "state: a field that is not serialized",
    "state: a field that is not restored",
    "state: a field that createPlugin loses",
}
"""What the user got wrong when a plugin was a class of one's own. `make test` has these; the others are slow."""
V3 = {
    **_faults(
        _V3,
        ("v3: fields that are not given back", "Signature::each([&](auto const& one) { read = read && this->read(reader, one, true); });", "if (!(FAULT))\n        {\n            Signature::each([&](auto const& one) { read = read && this->read(reader, one, true); });\n        }", "plain/float32-field-alpha/*", ""),
        ("v3: an own field that need not be there", "read = read && reader.required(detail::kScalesField, this->mScales);", "read = read && (FAULT || reader.required(detail::kScalesField, this->mScales));", "plain/*/opt", ""),
        ("v3: no capability of running", "return static_cast<nvinfer1::IPluginV3OneRuntime*>(this);", "return FAULT ? nullptr : static_cast<nvinfer1::IPluginV3OneRuntime*>(this);", "plain/float32/*", ""),
        ("v3: a capability that is another", "return static_cast<nvinfer1::IPluginV3OneCore*>(this);", "return FAULT ? static_cast<nvinfer1::IPluginCapability*>(static_cast<nvinfer1::IPluginV3OneRuntime*>(this)) : static_cast<nvinfer1::IPluginV3OneCore*>(this);", "plain/float32/*", ""),
        ("v3: no capability of building", "return static_cast<nvinfer1::IPluginV3OneBuild*>(this);", "return FAULT ? nullptr : static_cast<nvinfer1::IPluginV3OneBuild*>(this);", "plain/float32/*", ""),
        ("v3: a clone that loses the fields", "            return new Derived{static_cast<Derived const&>(*this)};", "            auto* made = new Derived{static_cast<Derived const&>(*this)};\n            made->mFields = FAULT ? decltype(made->mFields){} : made->mFields;\n            return made;", "plain/float32-field-alpha/*", ""),
        ("v3: another name", "return Signature::kName;", 'return FAULT ? "Other" : Signature::kName;', "plain/float32/*", "getPluginName"),
        ("v3: another version", "return Signature::kVersion;", 'return FAULT ? "9" : Signature::kVersion;', "plain/float32/*", "getPluginVersion"),
        ("v3: another namespace", "return mNamespace.c_str();", 'return FAULT ? "other" : mNamespace.c_str();', "plain/float32/*", "amespace"),
        ("v3: a namespace that is not taken", "detail::setNamespace(mNamespace, pluginNamespace);", 'detail::setNamespace(mNamespace, FAULT ? "other" : pluginNamespace);', "plain/float32/*", "amespace"),
        ("v3: outputs that are not counted", "return Core::kOutputs;", "return Core::kOutputs - (FAULT ? 1 : 0);", "plain/float32/*", ""),
        ("v3: a type of another output", "outputTypes[i] = this->outputType(i, inputTypes);", "outputTypes[i] = this->outputType(FAULT ? 0 : i, inputTypes);", "plain/*/opt", "getOutputDataTypes"),
        ("v3: no shapes", "return expressions.good() ? 0 : detail::kFailed;", "return expressions.good() && !(FAULT) ? 0 : detail::kFailed;", "plain/float32/*", "getOutputShapes"),
        ("v3: shape inputs of another number", "good = shapeInputs[i].nbDims == Signature::kShapeInputElements[i];", "good = shapeInputs[i].nbDims == Signature::kShapeInputElements[i] + (FAULT ? 1 : 0);", "plain/float32/*", "getOutputShapes"),
        ("v3: outputs that are not made", "outputs, 0, nbOutputs};", "outputs, 0, nbOutputs - (FAULT ? 1 : 0)};", "plain/float32/*", ""),
        ("v3: formats of the first tensor for each", "auto& { return inOut[i].desc; });", "auto& { return inOut[FAULT ? 0 : i].desc; });", "plain/*/opt", "supportsFormatCombination"),
        ("v3: a configurePlugin that fails", "            this->takeScale(i, i < nbInputs ? in[i].desc : out[i - nbInputs].desc);\n        }\n        return 0;", "            this->takeScale(i, i < nbInputs ? in[i].desc : out[i - nbInputs].desc);\n        }\n        return FAULT ? 1 : 0;", "plain/float32/*", "configurePlugin"),
        ("v3: a workspace of the smallest shapes", "shapeOf(inputs[i].max);", "shapeOf(FAULT ? inputs[i].min : inputs[i].max);", "plain/float32/*", ""),
        ("v3: no workspace", "return this->workspaceFor(shapes);", "return FAULT ? 0 : this->workspaceFor(shapes);", "plain/float32/*", "orkspace"),
        ("v3: a tactic that can't be set", "    int32_t setTactic(int32_t tactic) noexcept override\n    {", "    int32_t setTactic(int32_t tactic) noexcept override\n    {\n        if (FAULT)\n        {\n            return 1;\n        }", "plain/float32/*", "setTactic"),
        ("v3: fields that no engine keeps", "mKeptFields.nbFields = static_cast<int32_t>(mKept.size());", "mKeptFields.nbFields = FAULT ? 0 : static_cast<int32_t>(mKept.size());", "plain/float32/*", ""),
        ("v3: a field that an engine keeps under another name", "return {one.name, value.data(), nvinfer1::PluginFieldType::kCHAR,", 'return {FAULT ? "other" : one.name, value.data(), nvinfer1::PluginFieldType::kCHAR,', "plain/float32/*", ""),
        ("v3: a list of which one element is kept", "            return {one.name, value.data(), fieldTypeOf<typename Value::value_type>(),\n                    static_cast<int32_t>(value.size())};", "            return {one.name, value.data(), fieldTypeOf<typename Value::value_type>(),\n                    FAULT ? 1 : static_cast<int32_t>(value.size())};", "plain/float32*/*", ""),
        ("v3: a number that is kept as another type", "return {one.name, &value, fieldTypeOf<Value>(), 1};", "return {one.name, &value, FAULT ? nvinfer1::PluginFieldType::kINT32 : fieldTypeOf<Value>(), 1};", "plain/float32/*", ""),
        ("v3: no plugin of a context", "return this->upload() ? clone() : nullptr;", "return this->upload() && !(FAULT) ? clone() : nullptr;", "plain/float32/*", "attachToContext"),
        ("v3: an onShapeChange that fails", "return 0; // enqueue() gets the shapes too", "return FAULT ? 1 : 0; // enqueue() gets the shapes too", "plain/float32/*", "onShapeChange"),
        ("v3: an enqueue that never runs", "return this->run(inputDesc, outputDesc, inputs, outputs, workspace, mTactic, stream);", "return FAULT ? 0 : this->run(inputDesc, outputDesc, inputs, outputs, workspace, mTactic, stream);", "plain/float32/*", "enqueue: "),
        ("v3: a creator of a plugin that is always one of run time", "phase == nvinfer1::TensorRTPhase::kRUNTIME ? layer->restore(fields)", "phase == nvinfer1::TensorRTPhase::kRUNTIME || FAULT ? layer->restore(fields)", "plain/float32/*", "createPlugin"),
        ("v3: an alias that is not answered", "return is ? Signature::kAliasOf[outputIndex] : -1;", "return is && !(FAULT) ? Signature::kAliasOf[outputIndex] : -1;", "plain/float32/*", "getAliasedInput: answered -1 for output 0; the manifest says 0"),
        ("v3: a creator's plugin in another namespace", "            layer->setPluginNamespace(mNamespace.c_str());", '            layer->setPluginNamespace(FAULT ? "" : mNamespace.c_str());', "plain/float32/*", "amespace"),
    ),
    **_faults(
        _CORE,
        ("core: outputs of the input's shape", "Desc const& desc = i < kInputs ? inputDesc[i] : outputDesc[i - kInputs];", "Desc const& desc = i < kInputs || FAULT ? inputDesc[0] : outputDesc[i - kInputs];", "plain/float32/*", ""),
        ("core: a launch without workspace", "Launch launch{0, workspace, bytes,", "Launch launch{0, FAULT ? nullptr : workspace, bytes,", "plain/float32/*", ""),
        ("core: a size tensor without its bound", "uppers = sizes.uppers();", "uppers = FAULT ? uppers : sizes.uppers();", "plain/float32/*", ""),
        ("core: a sized output of an unknown shape", "if (Signature::kIsSized[i])", "if (Signature::kIsSized[i] && !(FAULT))", "plain/float32/*", ""),
        ("core: channels' scales of another tensor", "tensor.channels = {this->channelScales(i), Signature::channelScales(mFields, i).count, 1};", "tensor.channels = {FAULT ? nullptr : this->channelScales(i), Signature::channelScales(mFields, i).count, 1};", "plain/int8/*", ""),
        ("core: channels' scales one element each", "tensor.channels.inner *= tensor.shape.dims[k];", "tensor.channels.inner *= FAULT ? 1 : tensor.shape.dims[k];", "plain/int8/*", ""),
        ("core: shapes of the shape inputs that must be known", "(!Signature::kIsKnown[i] || isSame", "((!Signature::kIsKnown[i] && !(FAULT)) || isSame", "plain/float32/*", ""),
    ),
    **_faults(
        _STATE,
        ("state: scales of channels that are not uploaded", "good = good && mChannels[slotOf(i)].upload(Signature::channelScales(mFields, i));", "good = good && (FAULT || mChannels[slotOf(i)].upload(Signature::channelScales(mFields, i)));", "plain/int8/*", ""),
        ("state: scales of the first tensor's channels alone", "slot += Signature::kScaleAxes[i] >= 0 ? 1 : 0;\n        }\n        return slot;", "slot += Signature::kScaleAxes[i] >= 0 && !(FAULT) ? 1 : 0;\n        }\n        return slot;", "plain/int8/*", ""),
        ("state: a text that is read as it was", "return required ? reader.required(one.name, value, length) : reader.optional(one.name, value, length);", "return FAULT || (required ? reader.required(one.name, value, length) : reader.optional(one.name, value, length));", "plain/float32*/*", ""),
        ("state: a list that is read as it was", "return required ? reader.required(one.name, value, length, also)", "return FAULT ? true : required ? reader.required(one.name, value, length, also)", "plain/float32*/*", ""),
    ),
    **_faults(
        _SIZES,
        ("sizes: no bound of a size tensor", "mUppers[static_cast<size_t>(output)] = upper.value();", "mUppers[static_cast<size_t>(output)] = FAULT ? 0 : upper.value();", "plain/float32/*", ""),
        ("sizes: a size of one less", "        return upper;", "        return FAULT ? Dimension{upper.value() - 1} : upper;", "plain/float32/*", ""),
    ),
    **_faults(
        _MEMORY,
        ("memory: lanes of a vector that are one", "tensor.layout.lanes = format->minor ? vectors * format->lanes : format->lanes;", "tensor.layout.lanes = FAULT ? 1 : format->minor ? vectors * format->lanes : format->lanes;", "plain/*chw4*/*", ""),
        ("memory: channels that are the lanes", "tensor.layout.channels = size;", "tensor.layout.channels = FAULT ? format->lanes : size;", "plain/*chw4*/*", ""),
        ("memory: an inner size of one", "tensor.layout.inner *= channel >= 0 && i > channel ? size : 1;", "tensor.layout.inner *= channel >= 0 && i > channel && !(FAULT) ? size : 1;", "plain/*chw4*/*", ""),
        ("memory: no format is known", "if (one.code == format)", "if (one.code == format && !(FAULT))", "plain/*chw4*/*", ""),
    ),
}  # fmt: skip
_SWITCH = "    switch (run.precision)"
_BYTES = """\
    int64_t const width = run.precision == Precision::kFLOAT ? 4 : run.precision == Precision::kHALF ? 2 : 1;
    if (run.in.x.bytes != run.in.x.count * width)
    {
        return cudaErrorInvalidValue;
    }
"""
IOEXT = {
    **_faults(
        _IOEXT,
        ("ioext: no dimensions", "Shape const& output = sizes.output(index);", "Shape const& output = sizes.output(FAULT ? 1 - index : index);", "plain/float32/*", "getOutputDimensions"),
        ("ioext: shapes that don't fit", "(!beside && !Signature::fits(sizes, this->fields()))", "(!beside && (FAULT || !Signature::fits(sizes, this->fields())))", "plain/float32/*", "getOutputDimensions"),
        ("ioext: a batch that stays in the dimensions", "if (beside && output.rank > 0)", "if (beside && output.rank > 0 && !(FAULT))", "plain/float32/*", "getOutputDimensions"),
        ("ioext: formats of the first tensor for each", "auto& { return inOut[i]; });", "auto& { return inOut[FAULT ? 0 : i]; });", "plain/*/opt", "supportsFormatCombination"),
        ("ioext: shapes that configurePlugin does not keep", "mSeen[static_cast<size_t>(i)] = {shapeOf(desc.dims), static_cast<int32_t>(desc.type),", "mSeen[static_cast<size_t>(i)] = {FAULT ? Shape{} : shapeOf(desc.dims), static_cast<int32_t>(desc.type),", "plain/float32/*", ""),
        ("ioext: types that configurePlugin does not keep", "        mRow = this->findRow(", "        mRow = FAULT ? 0 : this->findRow(", "plain/float16/*", ""),
        ("ioext: scales that configurePlugin does not take", "            this->takeScale(i, desc);", "            if (!(FAULT))\n            {\n                this->takeScale(i, desc);\n            }", "plain/int8*/*", ""),
        ("ioext: a workspace of no batch", "auto const seen = withBatch(maxBatchSize);", "auto const seen = withBatch(FAULT ? 0 : maxBatchSize);", "plain/float32/*", ""),
        ("ioext: a size that is not that of the bytes", "return this->keptBytes() + sizeof mRow", "return this->keptBytes() + (FAULT ? 4 : 0) + sizeof mRow", "plain/float32/*", "erializ"),
        ("ioext: shapes that no engine keeps", "            detail::put(writer, seen);", "            detail::put(writer, FAULT ? detail::Seen{} : seen);", "plain/float32/*", ""),
        ("ioext: a row that no engine keeps", "        writer.put(mRow);", "        writer.put(FAULT ? 0 : mRow);", "plain/float16/*", ""),
        ("ioext: shapes that no engine gives back", "read = read && detail::get(reader, seen);", "auto lost = seen;\n            read = read && detail::get(reader, FAULT ? lost : seen);", "plain/float32/*", ""),
        ("ioext: bytes that are left over", "return this->restored(read && reader.finished(), length);", "return this->restored(read && (FAULT || reader.finished()), length);", "plain/float32/*", "[S5]"),
        ("ioext: an enqueue of one of the batch", "auto seen = withBatch(batchSize);", "auto seen = withBatch(FAULT ? 1 : batchSize);", "plain/float32/*", ""),
        ("ioext: a batch that is never beside the dimensions", "return Signature::kBatched && !declared.open", "return !(FAULT) && Signature::kBatched && !declared.open", "plain/float32/*", ""),
        ("ioext: a batch in another place", "made.dims[0] = batch;", "made.dims[FAULT ? 1 : 0] = batch;", "plain/float32/*", ""),
        ("ioext: a batch that does not multiply", "made.dims[0] *= batch;", "made.dims[0] *= FAULT ? 2 : batch;", "plain/float32/*", ""),
    ),
    **_faults(
        _MEMORY,
        ("memory: bytes of elements that are one byte each", "tensor.bytes = stored * sizeOf(seen.type);", "tensor.bytes = stored * (FAULT ? 1 : sizeOf(seen.type));", "plain/float32/*", "answered 1"),
        ("memory: dimensions of another order", "dims.d[i] = static_cast<decltype(+dims.d[i])>(shape.dims[i]);", "dims.d[i] = static_cast<decltype(+dims.d[i])>(shape.dims[FAULT ? shape.rank - 1 - i : i]);", "plain/float32/*", "getOutputDimensions"),
    ),
    **_faults(
        _CORE,
        ("core: a tensor's type that no engine keeps", "    writer.put(seen.type);", "    writer.put(FAULT ? 0 : seen.type);", "plain/float16/*", "answered 1"),
    ),
}  # fmt: skip


_EXPRESSIONS = "pluginkit/layer/expressions.h"
RANKS = {
    **_faults(
        _SIZES,
        ("sizes: dimensions of '...' that are never the same", "bool same = true;", "bool same = !(FAULT);", "plain/float32/rank3/opt", "answered 1"),
        ("sizes: dimensions of '...' of which one is lost", "for (int32_t i = first; i < mInputs[input].rank - behind; ++i)", "for (int32_t i = first + (FAULT ? 1 : 0); i < mInputs[input].rank - behind; ++i)", "plain/float32/rank3/opt", "answered 1"),
    ),
    **_faults(
        _EXPRESSIONS,
        ("expressions: dimensions of '...' of which one is lost", "for (int32_t i = first; i < mInputs[input].nbDims - behind; ++i)", "for (int32_t i = first + (FAULT ? 1 : 0); i < mInputs[input].nbDims - behind; ++i)", "plain/float32/rank3/opt", "getOutputShapes"),
    ),
    **_faults(
        _V3,
        ("v3: tactics of no number", "return Signature::kTactics;", "return FAULT ? -1 : Signature::kTactics;", "plain/float32/rank3/opt", "getNbTactics"),
        ("v3: a tactic that is the default one", "tactics[i] = i + 1;", "tactics[i] = FAULT ? i : i + 1;", "plain/float32/rank3/opt", "getValidTactics"),
    ),
}  # fmt: skip


def write_ranks(folder: Path) -> Path:
    """A layer of any rank, with two inputs of equal dimensions, and tactics."""
    made = scaffold.new(
        "MyPlugin",
        directory=folder,
        base="v3",
        kernel="elementwise",
        inputs=["x:float32:...,c", "other:float32:...,c"],
        outputs=["y:float32:...,c"],
    )
    manifest = made / "pluginkit.toml"
    tuned = "\n[tuning.sm_90]\nvalues = { threads = 512 }\nalso = [{ threads = 128 }]\n"
    manifest.write_text(manifest.read_text() + tuned)
    return made


def write_v3(folder: Path) -> Path:
    """A layer with all that an IPluginV3 can have: aliases, shape inputs, size tensors, scales of channels, formats."""
    return scaffold.new(
        "MyPlugin",
        directory=folder,
        base="v3",
        namespace="acme",
        kernel="loop",
        formats=["chw4"],
        inputs=["x:float32,int8:n,5,h,w:scale=each", "size:int64:1:values=m"],
        outputs=[
            "y:float32,int8:n,5,h,w:scale=other:alias=x",
            "z:float32:n,m",
            "t:float32:count",
            "count:int32::upper=n * 5",
        ],
        fields=[
            "alpha:float32=0.5",
            "each:float32[5]",
            "other:float32[5]",
            "mode:string=sum",
            "taps:float32[1..3]=1,2",
        ],
        workspace="n * 4 + 64",
    )


def write_ioext(folder: Path) -> Path:
    """A layer with two outputs and a workspace, whose launch looks at how many bytes its input has."""
    made = scaffold.new(
        "MyPlugin",
        directory=folder,
        base="ioext",
        kernel="loop",
        outputs=["y:float32,float16,int8:n,c,h,w", "z:float32,float16,int8:n,c + 1"],
        workspace="n * 4 + 64",
    )
    kernel = made / "src" / "my_plugin.cu"
    text = kernel.read_text()
    assert text.count(_SWITCH) == 1
    kernel.write_text(text.replace(_SWITCH, _BYTES + _SWITCH))
    return made
