#pragma once

#include <string>

namespace pluginkit
{

//! The size of the callFile file in bytes.
constexpr int kCALL_FILE_BYTES = 4096;

//! Writes every call into a plugin to `path` from now on, through a shared mapping: what was written survives a crash
//! of this process. Byte 0 is 'I' while the plugin has control and 'R' after it returned; the name follows, ended by
//! NUL. An empty path stops it. Throws std::system_error when the file can't be made.
void setCallFile(std::string const& path);

//! Where the file names the first call of a function that isn't on this machine, ended by NUL.
constexpr int kABSENT_AT = 3072;

//! Notes such a call, until the next `forgetAbsentCall`; `text` must live as long.
void noteAbsentCall(char const* text) noexcept;
void forgetAbsentCall() noexcept;
//! What was noted first; empty where nothing was.
std::string absentCall();

//! Where it says which memory that the plugin was given an access has left, as `reads in[2], which has 2`, ended by
//! NUL.
constexpr int kBEYOND_AT = 3584;

void noteBeyond(char const* text) noexcept;

//! Marks one call into a plugin, for as long as it lives.
class Call
{
public:
    explicit Call(char const* method) noexcept;
    //! `interface::method`
    Call(char const* interface, char const* method) noexcept;
    ~Call();
    Call(Call const&) = delete;
    Call& operator=(Call const&) = delete;
};

} // namespace pluginkit
