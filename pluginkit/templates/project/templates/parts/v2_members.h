    @{ plugin.name }@Parameters mParameters;
@% if plugin.quantized %@
    //! What an @{ plugin.quantized }@ step is worth in each input, then in each output; 0 is not known.
    std::array<float, @{ plugin.tensor_count }@> mScales{};
@% endif %@
@% if plugin.channels %@
    //! The scales of channels in device memory, for each tensor that has such.
    std::array<pluginkit::DeviceList, @{ plugin.channels|length }@> mChannelScales;
@% endif %@
    std::string mNamespace;
