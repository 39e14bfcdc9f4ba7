@% include cookiecutter.base ~ "/plugin.cpp" %@
