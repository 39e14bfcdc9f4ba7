    @{ plugin.name }@Parameters mParameters;
@% if plugin.int8 %@
    //! What an INT8 step is worth in each input, then in each output; 0 is not known.
    std::array<float, @{ plugin.tensor_count }@> mScales{};
@% endif %@
    std::string mNamespace;
