    if (inputDesc == nullptr || outputDesc == nullptr || inputs == nullptr || outputs == nullptr)
    {
        return kFailed;
    }
    auto const typeAt = [inputDesc, outputDesc](int32_t i)
    { return i < kNbInputs ? inputDesc[i].type : outputDesc[i - kNbInputs].type; };
    int32_t const row = findRow(kNbTensors, typeAt);
    if (row == kNoRow)
    {
        return kFailed;
    }
@% if plugin.int8 %@
    for (int32_t i = 0; i < kNbTensors; ++i)
    {
        if (typeAt(i) == DataType::kINT8 && !isScale(mScales[static_cast<size_t>(i)]))
        {
            return kFailed; // nobody said what the INT8 values stand for
        }
    }
@% endif %@
@% for field in plugin.counted %@
    if (inputDesc[@{ field.input }@].dims.d[@{ field.axis }@] != static_cast<int64_t>(mParameters.@{ field.name }@.size()))
    {
        return kFailed; // @{ field.name }@ has an element for each @{ field.symbol }@
    }
@% endfor %@

    @{ plugin.name }@Arguments args{};
    args.parameters = @{ "numbersOf(mParameters)" if plugin.wide else "mParameters" }@;
@% for tensor in plugin.inputs %@
    args.inputs.@{ tensor.name }@.data = inputs[@{ loop.index0 }@];
    args.inputs.@{ tensor.name }@.count = elementCount(inputDesc[@{ loop.index0 }@]);
    pluginkit::setShape(args.inputs.@{ tensor.name }@, inputDesc[@{ loop.index0 }@].dims);
@% if plugin.vectorized %@
    args.inputs.@{ tensor.name }@.layout = layoutOf(inputDesc[@{ loop.index0 }@]);
@% endif %@
@% if tensor.int8 %@
    args.inputs.@{ tensor.name }@.scale = mScales[@{ tensor.index }@];
@% endif %@
@% endfor %@
@% for tensor in plugin.outputs %@
    args.outputs.@{ tensor.name }@.data = outputs[@{ loop.index0 }@];
    args.outputs.@{ tensor.name }@.count = elementCount(outputDesc[@{ loop.index0 }@]);
    pluginkit::setShape(args.outputs.@{ tensor.name }@, outputDesc[@{ loop.index0 }@].dims);
@% if plugin.vectorized %@
    args.outputs.@{ tensor.name }@.layout = layoutOf(outputDesc[@{ loop.index0 }@]);
@% endif %@
@% if tensor.int8 %@
    args.outputs.@{ tensor.name }@.scale = mScales[@{ tensor.index }@];
@% endif %@
    args.count = std::max(args.count, args.outputs.@{ tensor.name }@.count);
@% endfor %@
@% for tensor in plugin.inputs if tensor.load == "load" %@
    if (args.inputs.@{ tensor.name }@.count != args.count)
    {
        return kFailed; // the kernel would read beyond the tensor
    }
@% endfor %@
    auto const precision = static_cast<@{ plugin.name }@Precision>(row);
    cudaError_t const error = launch@{ plugin.name }@(args, precision, stream);
    return error == cudaSuccess ? 0 : kFailed;
