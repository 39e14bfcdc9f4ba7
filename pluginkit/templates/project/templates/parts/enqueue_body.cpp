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
@% if plugin.quantized %@
    for (int32_t i = 0; i < kNbTensors; ++i)
    {
        if (@{ "typeAt(i) == DataType::" ~ plugin.one_quantized if plugin.one_quantized else "isQuantized(typeAt(i))" }@ && !isScale(mScales[static_cast<size_t>(i)]))
        {
            return kFailed; // nobody said what the @{ plugin.quantized }@ values stand for
        }
    }
@% endif %@
@% for field in plugin.counted %@
    if (inputDesc[@{ field.input }@].dims.d[@{ field.axis }@] != static_cast<int64_t>(mParameters.@{ field.name }@.size()))
    {
        return kFailed; // @{ field.name }@ has an element for each @{ field.symbol }@
    }
@% endfor %@

@% if plugin.workspace %@
    std::array<nvinfer1::Dims, kNbInputs> dims{};
    std::transform(inputDesc, inputDesc + kNbInputs, dims.begin(), [](auto const& desc) { return desc.dims; });
    int64_t const workspaceSize = workspaceBytes(mParameters, dims).value();
    if (workspaceSize < 0 || (workspaceSize > 0 && workspace == nullptr))
    {
        return kFailed; // -1: the bytes are no number
    }
@% endif %@
    @{ plugin.name }@Arguments args{};
@% if plugin.workspace %@
    args.workspace = workspace;
    args.workspaceBytes = workspaceSize;
@% endif %@
    args.parameters = @{ "numbersOf(mParameters)" if plugin.wide else "mParameters" }@;
@% if plugin.enqueue_at and not plugin.static %@
    auto const at = [inputDesc](int32_t input, int32_t dim) { return inputDesc[input].dims.d[dim]; };
@% endif %@
@% for tensor in plugin.inputs %@
    args.inputs.@{ tensor.name }@.data = inputs[@{ loop.index0 }@];
    args.inputs.@{ tensor.name }@.count = elementCount(inputDesc[@{ loop.index0 }@]);
    pluginkit::setShape(args.inputs.@{ tensor.name }@, inputDesc[@{ loop.index0 }@].dims);
@% if plugin.vectorized %@
    args.inputs.@{ tensor.name }@.layout = layoutOf(inputDesc[@{ loop.index0 }@]);
@% endif %@
@% if tensor.quantized %@
    args.inputs.@{ tensor.name }@.scale = mScales[@{ tensor.index }@];
@% endif %@
@% if tensor.channel_slot is not none %@
    args.inputs.@{ tensor.name }@.channels = {mChannelScales[@{ tensor.channel_slot }@].data(), static_cast<int64_t>(mParameters.@{ tensor.scale }@.size()), innerCount(inputDesc[@{ loop.index0 }@], @{ tensor.scale_axis }@)};
@% endif %@
@% endfor %@
@% for tensor in plugin.outputs %@
    args.outputs.@{ tensor.name }@.data = outputs[@{ loop.index0 }@];
@% if tensor.most %@
    // Its size is what the kernel will find; here and in memory it is as large as it may be.
    nvinfer1::PluginTensorDesc most@{ loop.index0 }@ = outputDesc[@{ loop.index0 }@];
    most@{ loop.index0 }@.dims.nbDims = @{ tensor.rank }@;
@% for dim in tensor.most %@
    most@{ tensor.index - plugin.inputs|length }@.dims.d[@{ loop.index0 }@] = @{ dim }@;
@% endfor %@
    args.outputs.@{ tensor.name }@.count = elementCount(most@{ loop.index0 }@);
    pluginkit::setShape(args.outputs.@{ tensor.name }@, most@{ loop.index0 }@.dims);
@% else %@
    args.outputs.@{ tensor.name }@.count = elementCount(outputDesc[@{ loop.index0 }@]);
    pluginkit::setShape(args.outputs.@{ tensor.name }@, outputDesc[@{ loop.index0 }@].dims);
@% endif %@
@% if tensor.upper %@
    args.outputs.@{ tensor.name }@.upper = @{ tensor.upper }@;
@% endif %@
@% if plugin.vectorized %@
    args.outputs.@{ tensor.name }@.layout = layoutOf(outputDesc[@{ loop.index0 }@]);
@% endif %@
@% if tensor.quantized %@
    args.outputs.@{ tensor.name }@.scale = mScales[@{ tensor.index }@];
@% endif %@
@% if tensor.channel_slot is not none %@
    args.outputs.@{ tensor.name }@.channels = {mChannelScales[@{ tensor.channel_slot }@].data(), static_cast<int64_t>(mParameters.@{ tensor.scale }@.size()), innerCount(outputDesc[@{ loop.index0 }@], @{ tensor.scale_axis }@)};
@% endif %@
    args.count = std::max(args.count, args.outputs.@{ tensor.name }@.count);
@% endfor %@
@% for tensor in plugin.inputs if tensor.load == "load" %@
    if (args.inputs.@{ tensor.name }@.count != args.count)
    {
        return kFailed; // the kernel would read beyond the tensor
    }
@% endfor %@
@% if plugin.tunable and plugin.base == "v3" %@
    args.tactic = mTactic;
@% endif %@
    auto const precision = static_cast<@{ plugin.name }@Precision>(row);
    cudaError_t const error = launch@{ plugin.name }@(args, precision, stream);
    return error == cudaSuccess ? 0 : kFailed;
