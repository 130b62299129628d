// A data file that is part of the binary; cmake/Embed.cmake generates the tables of such files.
#pragma once

#include <string_view>

namespace fairlead {

struct EmbeddedFile {
  std::string_view name;  // without folder and extension
  std::string_view text;
};

}  // namespace fairlead
