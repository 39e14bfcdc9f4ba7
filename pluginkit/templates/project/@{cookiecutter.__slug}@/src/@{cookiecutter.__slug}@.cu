@% set plugin = signature(cookiecutter) %@
@% include "kernels/" ~ plugin.kernel_pattern ~ ".cu" %@
