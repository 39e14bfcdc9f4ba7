"""The kernels that new projects can begin with."""
