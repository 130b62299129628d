// The commands and flags of this program from CLI11, for pages and scripts about them.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

enum class PathKind : std::uint8_t { kNone, kFile, kFolder };

// The possible values of a flag or argument, if they can be listed.
struct Values {
  std::vector<std::string> words = {};  // from the catalogues; "KEY=" needs a value behind it
  PathKind paths = PathKind::kNone;     // also, or only, paths of these
};

// A flag, or an argument without one.
struct Argument {
  std::vector<std::string> names = {};  // "-o", "--output"; of an argument without a flag: "FILE"
  std::string takes = {};               // "N"; empty: no value
  std::string help = {};
  bool required = false;
  bool many = false;  // takes several values
  Values values = {};
};

struct CommandPage {
  std::string name;  // "fairlead trace convert"
  std::string about = {};
  std::vector<Argument> flags = {};
  std::vector<Argument> positionals = {};
  std::vector<CommandPage> commands = {};  // below this one
  std::string footer = {};                 // examples and notes, as in --help

  // Returns the last word of the name.
  std::string word() const { return name.substr(name.rfind(' ') + 1); }
};

// Returns `app` and all commands below it. REQUIRES: every flag and command was added.
CommandPage command_tree(const CLI::App& app);

// Returns the page itself and those below it, parents first.
std::vector<const CommandPage*> all_pages(const CommandPage& root);

}  // namespace fairlead
