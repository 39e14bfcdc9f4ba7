#pragma once

#include <string>

namespace pluginkit
{

//! The size of the breadcrumb file in bytes.
constexpr int kBREADCRUMB_BYTES = 4096;

//! Writes every call into a plugin to `path` from now on, through a shared mapping: what was written survives a crash
//! of this process. Byte 0 is 'I' while the plugin has control and 'R' after it returned; the name follows, ended by
//! NUL. An empty path stops it. Throws std::system_error when the file can't be made.
void setBreadcrumbFile(std::string const& path);

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
