// Of one type and one function of windows: what every run of the tests can afford to compile.
#define ONE_TYPE
#include "kernel_moves.cu"
