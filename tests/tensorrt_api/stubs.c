/* The functions that the full TensorRT's Python bindings import (readelf -Ws tensorrt.so, 10.16 and 11.4), as nothing:
   with them the bindings load, and their classes can be looked at. None of them may be called. */
#include <stdlib.h>

#define STUB(name)                                                                                                     \
    void name(void)                                                                                                    \
    {                                                                                                                  \
        abort();                                                                                                       \
    }

STUB(createInferBuilder_INTERNAL)
STUB(createInferRefitter_INTERNAL)
STUB(createInferRuntime_INTERNAL)
STUB(createNvOnnxParser_INTERNAL)
STUB(createNvOnnxParserRefitter_INTERNAL)
STUB(getBuilderPluginRegistry)
STUB(getPluginRegistry)
STUB(getNvOnnxParserVersion)
STUB(initLibNvInferPlugins)
