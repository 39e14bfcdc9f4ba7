{
    if (inOut == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs || pos < 0 || pos >= kNbTensors)
    {
        return false;
    }
    // What stands behind pos is not chosen yet and must not be looked at.
@% if plugin.vectorized %@
    return isCombination(pos + 1, [inOut](int32_t i) { return inOut[i]; });
@% else %@
    return inOut[pos].format == TensorFormat::kLINEAR &&
           findRow(pos + 1, [inOut](int32_t i) { return inOut[i].type; }) != kNoRow;
@% endif %@
}
