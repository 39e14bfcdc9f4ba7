@% set plugin = signature(cookiecutter) %@
@% include plugin.base ~ "/plugin.h" %@
