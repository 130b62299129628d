#include "fairlead/local/python_path.h"

#include <fmt/ranges.h>

#include <vector>

namespace fairlead {

std::string python_path(std::string_view own, std::string_view hook, bool has_hook) {
  std::vector<std::string_view> folders;
  if (has_hook) folders.push_back(hook);
  while (!own.empty()) {
    const std::size_t end = own.find(':');
    const std::string_view folder = own.substr(0, end);
    if (folder != hook) folders.push_back(folder);  // an empty one is the job's folder
    own.remove_prefix(end == own.npos ? own.size() : end + 1);
  }
  return fmt::format("{}", fmt::join(folders, ":"));
}

}  // namespace fairlead
