// The inputs of a run as one hash: the program, the flags, and the contents of the files that they name. A planned run
// is skipped if the run.json of a result folder has its hash.
//
// Names that are not files (presets, shorthands) count as text; the program's own bytes stand for their meaning. A
// trace, a cluster and a table of models count by content and by name without folders, because results show the name.
// The same run from another working directory or machine has the same hash.
#pragma once

#include "fairlead/compare/run_flags.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace fairlead {

// Hashes runs, and each file once. Files must not change during the lifetime of the object.
class RunInputs {
 public:
  // Returns 16 hexadecimal digits; empty if a file can be read only once (standard input, a pipe). `policy` and `seed`
  // replace the ones in `flags`; the folder of its results does not count. Costs O(bytes) of the files at their first
  // use.
  std::string hash(const RunFlags& flags, const std::string& policy, std::uint64_t seed);

 private:
  bool add(std::uint64_t& hash, const std::string& name);

  struct Content {
    bool is_file = false;
    bool readable_twice = true;
    std::uint64_t hash = 0;
  };
  const Content& content(const std::string& path);

  std::map<std::string, Content> contents_;
};

// True if `folder` has complete results of a run with these inputs. False if `inputs_hash` is
// empty.
bool has_results_of(const std::filesystem::path& folder, const std::string& inputs_hash);

}  // namespace fairlead
