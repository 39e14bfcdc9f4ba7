int32_t @{ plugin.name }@::getNbOutputs() const noexcept
{
    return kNbOutputs;
}

DataType @{ plugin.name }@::getOutputDataType(int32_t index, DataType const* inputTypes, int32_t nbInputs) const noexcept
{
    if (index < 0 || index >= kNbOutputs || inputTypes == nullptr || nbInputs != kNbInputs)
    {
        return DataType::kFLOAT;
    }
    int32_t const row = findRow(kNbInputs, [inputTypes](int32_t i) { return inputTypes[i]; });
    // TensorRT may ask before it has chosen the types: any row's answer will do then.
    return kTypes[row == kNoRow ? 0 : row][kNbInputs + index];
}

