#ifndef PLUGINKIT_INTERFACE
#define PLUGINKIT_INTERFACE "" // CMakeLists.txt has it; clang-tidy reads this file without
#endif

namespace pluginkit
{

// In a file of its own, so that another digest compiles no binding again.
extern char const* const kINTERFACE; // bind.h, without pybind11
char const* const kINTERFACE = PLUGINKIT_INTERFACE;

} // namespace pluginkit
