// Runs as jobs of a cluster: a Slurm job array or a Kubernetes Indexed Job.
//
// Both read a list with one run per line: the arguments of `fairlead`, quoted for bash. They work in the folder in
// which they were created, so that relative paths stay valid.
#pragma once

#include "fairlead/base/result.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct JobExport {
  std::vector<std::vector<std::string>> runs;  // arguments of `fairlead`; at least one run
  std::filesystem::path working_folder;        // absolute
  std::filesystem::path program;               // `fairlead`, absolute; for Slurm
  std::filesystem::path list;                  // the list's file, from working_folder
  std::string image;                           // for Kubernetes, with `fairlead` on the path
  std::string claim;                           // for Kubernetes: of the volume at working_folder
};

// Returns one word of bash for `text`, which may have any bytes except NUL, without line breaks.
std::string bash_word(std::string_view text);

// The list's text.
std::string jobs_list(const std::vector<std::vector<std::string>>& runs);

// Returns a script for sbatch: an array of one task per run, up to Slurm's default limit; beyond it, each task makes
// several runs.
std::string slurm_script(const JobExport& jobs);

// Returns a manifest for kubectl, a pod per run. Error: a path is not UTF-8, which YAML requires.
Result<std::string> kubernetes_job(const JobExport& jobs);

}  // namespace fairlead
