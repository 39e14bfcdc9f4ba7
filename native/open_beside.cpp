// Opens a library that lies in the folder of this one's copy. dlopen looks for a bare name in the RPATH of its caller
// first, which is $ORIGIN here; the environment of a running process it doesn't look at again.
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) void* pluginkitOpenBeside(char const* name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
