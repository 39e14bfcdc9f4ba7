"""What TensorRT 8.5 does with a plugin that is right: a control for each row of the table of behaviours.

    $PLUGINKIT_TENSORRT8_PYTHON -m tests.gpu.controls8            # all, in the checkout's root, on a GPU
    $PLUGINKIT_TENSORRT8_PYTHON -m tests.gpu.controls8 loop_after onnx_if

needs TensorRT 8.5, NumPy and onnx, and no pluginkit, no compiler, no cuBLAS or cuDNN. The plugins are NVIDIA's
CustomGeluPluginDynamic, and, where it matters how a plugin is called, one that copies its input and keeps what it is
asked (plugin.py). test_behaviours8.py compares the answers with pluginkit/runtimes/tensorrt/behaviours.toml.
"""
