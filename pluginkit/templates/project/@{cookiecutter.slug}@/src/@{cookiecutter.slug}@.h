@% include cookiecutter.base ~ "/plugin.h" %@
