#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pluginkit
{

//! What libnvinfer exports for a plugin library, by name: of the layout that the host's version has.
std::vector<std::pair<std::string, std::uintptr_t>> providedFunctions();

//! A function of a library that isn't on this machine, for a stand-in of that library.
//!
//! `name` and `library` are for the user, who is told of its first call (`noteAbsentCall`) if it is `noted`; the
//! function answers `answer`, or a text where its name says that it gives one. Returns its first argument and its
//! address; both stay valid as long as the process lives.
std::pair<std::uintptr_t, std::uintptr_t> absentFunction(std::string const& name, std::string const& library,
                                                         std::uintptr_t answer, bool noted);

} // namespace pluginkit
