    @{ cookiecutter.name }@Parameters mParameters;
@% if cookiecutter.int8 %@
    //! What an INT8 step is worth in each input, then in each output; 0 is not known.
    std::array<float, @{ cookiecutter.tensor_count }@> mScales{};
@% endif %@
    std::string mNamespace;
