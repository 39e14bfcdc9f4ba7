//! What the runtime found wrong with a kernel or with a call, and where.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <string>

namespace pluginkit_cpu
{

inline namespace v2
{

//! A defect. Its kernel, block and thread are those that run when it is reported.
struct Finding
{
    char const* kind; //!< One of those in docs/cpu-target.md.
    std::string text; //!< A sentence.
    Place place{nullptr, 0};
    void const* code{nullptr};      //!< Where a call at fault returns to, or just behind the code at fault.
    void const* otherCode{nullptr}; //!< In the code of the access that this one collides with.
    bool ofBlock{false};            //!< It is the whole block's: its thread means nothing.
};

//! Writes the finding: a line of JSON to the file that PLUGINKIT_CPU_FINDINGS names, else text to stderr.
PLUGINKIT_CPU_HIDDEN void report(Finding const& finding);

} // namespace v2

} // namespace pluginkit_cpu
