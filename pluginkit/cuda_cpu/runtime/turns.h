//! Host threads of a test harness that take turns: one runs, and each call of CUDA hands over to the next.
#pragma once

#include <pluginkit/cpu/kernel.h>

namespace pluginkit_cpu
{

inline namespace v2
{

//! So many threads will take part, numbered from 0; the first one begins.
PLUGINKIT_CPU_HIDDEN void beginTurns(int threads);

//! This host thread is the one of that number; returns when it is its turn.
PLUGINKIT_CPU_HIDDEN void enterTurns(int thread);

//! This host thread takes no turn any more.
PLUGINKIT_CPU_HIDDEN void leaveTurns();

} // namespace v2

} // namespace pluginkit_cpu
