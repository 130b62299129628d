#include "fairlead/compare/export_jobs.h"

#include "fairlead/base/check.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace fairlead {
namespace {

bool is_plain(char c) {
  constexpr std::string_view kOthers = "_./=:,+-@%";
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || kOthers.find(c) != kOthers.npos;
}

bool is_control(char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; }

// Returns $'...' with escapes for control characters.
std::string escaped(std::string_view text) {
  std::string word = "$'";
  for (const char c : text) {
    if (is_control(c)) {
      word += fmt::format("\\{:03o}", static_cast<unsigned>(static_cast<unsigned char>(c)));
      continue;
    }
    if (c == '\'' || c == '\\') word += '\\';
    word += c;
  }
  return word + "'";
}

// Slurm's MaxArraySize is 1001 by default, and the last task's number is one less.
constexpr std::size_t kSlurmTasksMax = 1000;

// A double-quoted scalar of YAML; JSON's strings are a part of them.
Result<std::string> yaml_text(const std::string& text) {
  using nlohmann::json;
  std::string quoted = json(text).dump(-1, ' ', true, json::error_handler_t::ignore);
  if (json::parse(quoted) != text) {
    return input_error("Kubernetes takes UTF-8 only; rename the folder: {}", text);
  }
  return quoted;
}

// Kubernetes replaces $(NAME) in arguments; $$ is a dollar.
std::string without_variables(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

// 0: runs; 1: pods at a time; 2: image; 3: working folder; 4: list; 5: claim.
constexpr const char* kKubernetesJob =
    R"(# The pod with index i makes the run on line i + 1 of jobs.list. See that
#   image      has bash, and `fairlead` on its path: the build that will make the tables, as the
#              results of another build are not taken
#   claimName  is a volume with the folder in which this file was made, at its top, that many pods
#              may write to
# A Job cannot be changed once it is there: delete it, or change its name, before another.
apiVersion: batch/v1
kind: Job
metadata:
  name: fairlead-compare
spec:
  completionMode: Indexed
  completions: {0}
  parallelism: {1}
  backoffLimit: 6
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: fairlead
          image: {2}
          workingDir: {3}
          command:
            - bash
            - -c
            - >-
              mapfile -t runs < "$1" &&
              eval "set -- ${{runs[JOB_COMPLETION_INDEX]}}" &&
              exec fairlead "$@"
            - run
            - {4}
          resources:
            requests: {{cpu: "1"}}
          volumeMounts:
            - {{name: work, mountPath: {3}}}
      volumes:
        - name: work
          persistentVolumeClaim: {{claimName: {5}}}
)";

// 0: tasks; 1: working folder; 2: program; 3: list.
constexpr const char* kSlurmScript = R"(#!/bin/bash
#SBATCH --job-name=fairlead-compare
#SBATCH --array=1-{0}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
# What else your site asks for, such as --partition, --time or --mem, goes here or on sbatch's
# command line.

cd -- {1} || exit 1
fairlead={2}
# Each line of the list has the arguments of one run.
mapfile -t runs < {3} || exit 1
status=0
for ((i = SLURM_ARRAY_TASK_ID - 1; i < ${{#runs[@]}}; i += {0})); do
  eval "set -- ${{runs[i]}}"
  "$fairlead" "$@" || status=$?
done
exit "$status"
)";

}  // namespace

std::string bash_word(std::string_view text) {
  if (std::ranges::any_of(text, is_control)) return escaped(text);
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

std::string jobs_list(const std::vector<std::vector<std::string>>& runs) {
  std::string list;
  for (const std::vector<std::string>& run : runs) {
    for (std::size_t i = 0; i < run.size(); ++i) list += (i == 0 ? "" : " ") + bash_word(run[i]);
    list += '\n';
  }
  return list;
}

std::string slurm_script(const JobExport& jobs) {
  FL_CHECK(!jobs.runs.empty());
  return fmt::format(kSlurmScript, std::min(jobs.runs.size(), kSlurmTasksMax),
                     bash_word(jobs.working_folder.string()), bash_word(jobs.program.string()),
                     bash_word(jobs.list.string()));
}

Result<std::string> kubernetes_job(const JobExport& jobs) {
  FL_CHECK(!jobs.runs.empty());
  constexpr std::size_t kPodsMax = 100;  // chosen: any cluster's control plane can handle it
  FL_TRY_ASSIGN(image, yaml_text(jobs.image));
  FL_TRY_ASSIGN(folder, yaml_text(jobs.working_folder.string()));
  FL_TRY_ASSIGN(list, yaml_text(without_variables(jobs.list.string())));
  FL_TRY_ASSIGN(claim, yaml_text(jobs.claim));
  return fmt::format(kKubernetesJob, jobs.runs.size(), std::min(jobs.runs.size(), kPodsMax), image,
                     folder, list, claim);
}

}  // namespace fairlead
