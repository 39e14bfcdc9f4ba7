//! Where a process was when it ended.
#pragma once

#include <string>

namespace pluginkit
{

//! From now on a process that a signal or exit() ends writes its native frames to this file, which is emptied now;
//! empty: no more. Forks write to it too. Not to be called while another thread may end the process.
//!
//! Each line is a frame, the innermost first: the library's file, the offset in it in hexadecimal, and the symbol, if
//! any, between tabs. The offset of each frame but the first is that of the instruction behind the call.
//!
//! Throws std::system_error if the file can't be made.
void setBacktraceFile(std::string const& path);

} // namespace pluginkit
