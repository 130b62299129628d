// The answers of the daemon's API (docs/serving.md), as rows. A field that is missing in an answer has
// its default, so that clients can also ask a daemon of another version.
#pragma once

#include "fairlead/model/job_asks.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

struct GpuAnswer {
  std::int64_t index = 0;  // index on the machine
  std::string state;       // "busy", "idle", "stopping", "down", "closed"
  std::optional<std::int64_t> job{};
  struct Foreign {
    std::int64_t pid = 0;
    std::string name, user;
    std::string remark;  // why it is foreign, after its name
  };
  std::vector<Foreign>
      foreign{};         // processes on it that are of no job, or of a job with other GPUs
  std::string outage{};  // why no job may have it; empty: it is in service
};

struct NodeAnswer {
  std::string name;
  std::string type;
  bool is_cordoned = false;
  std::vector<GpuAnswer> gpus;
};

struct ReservationAnswer {
  std::int64_t id = 0;
  std::string user, group;  // its holder: one of them is empty
  std::int64_t gpus = 1;
  std::string gpu_type;
  std::int64_t from_unix_ms = 0;
  std::int64_t to_unix_ms = 0;
  std::string state;  // "planned", "in force", "lent"
  std::string text;   // all of this in a sentence without its point
};

struct ClusterAnswer {
  std::int64_t now_unix_ms = 0;
  std::string policy;
  std::string policy_options;
  std::vector<NodeAnswer> nodes;
  std::vector<ReservationAnswer> reservations{};
};

struct JobAnswer {
  struct On {
    std::string node;
    std::vector<std::int64_t> gpus;  // indices on the machine
  };
  struct Progress {
    double done = 0;
    double total = 0;
    double unit_per_s = 0;
  };
  std::int64_t id = 0;
  std::string name, user, model;
  std::int64_t gpus = 1;
  JobExtras extras = kSubmittedExtras;
  std::string state;  // "waiting", "running", ...
  std::int64_t submitted_unix_ms = 0;
  std::int64_t since_unix_ms = 0;  // it is in that state
  std::optional<std::int64_t> finished_unix_ms{};
  double gpu_s = 0;  // served
  std::vector<On> on{};
  std::int64_t restarts = 0;
  std::string reason{};
  std::optional<std::int64_t> exit_code{};
  std::optional<std::int64_t> signal{};
  std::optional<double> declared_s{};
  std::optional<double> limit_s{};  // limit of its time with GPUs, seconds
  std::optional<std::int64_t> retries_left{};
  std::optional<double> idle_s{};  // all of its GPUs have been idle for so long
  std::optional<Progress> progress{};
  std::string log{};  // its file; only where one job was asked for

  // It wants GPUs and has none.
  bool runs() const { return !on.empty() || state == "running" || state == "starting"; }
  bool is_waiting() const { return state == "waiting" || state == "suspended"; }
  bool is_done() const {
    return state == "finished" || state == "failed" || state == "cancelled" || state == "rejected";
  }
};

struct UserAnswer {
  std::string name;
  std::int64_t tickets = 1;
  double gpu_s = 0;
  double entitled_gpus = 0;
  std::int64_t allocated_gpus = 0;
  std::int64_t gpus_max = 0;  // 0: any number
  std::int64_t jobs_waiting = 0;
  std::int64_t jobs_running = 0;
};

// A group with a limit.
struct GroupAnswer {
  std::string name;
  std::int64_t gpus_max = 0;
  std::int64_t allocated_gpus = 0;
  std::vector<std::string> users;  // that have jobs
};

struct ModelAnswer {
  std::string user, model, gpu_type;
  std::int64_t gpus = 1;
  std::string tier;  // "pair", "node"
  double speed = 0;  // of a GPU, relative to the first one that was measured
  std::int64_t measurements = 0;
  double confidence = 0;  // 0 to 1
  std::int64_t measured_unix_ms = 0;
  struct Profile {
    double gradients_mb = 0;
    double largest_tensor_mb = 0;
    std::int64_t workers = 1;
    std::optional<std::int64_t> samples{};  // a worker's, in a step; none: not known
  };
  std::optional<Profile> profile{};  // none: it was not seen
};

struct UsageAnswer {
  std::string user, model, gpu_type;
  bool is_foreign = false;  // taken outside of the user's jobs
  double gpu_s = 0;
};

// Reads {"reservations": [...]}.
std::vector<ReservationAnswer> reservation_answers(const nlohmann::json& answer);
ClusterAnswer cluster_answer(const nlohmann::json& answer);
JobAnswer job_answer(const nlohmann::json& answer);
// Reads {"jobs": [...]}; sorted by id.
std::vector<JobAnswer> job_answers(const nlohmann::json& answer);
// Reads {"users": [...]}; sorted by name.
std::vector<UserAnswer> user_answers(const nlohmann::json& answer);
std::vector<GroupAnswer> group_answers(const nlohmann::json& answer);
// Reads {"usage": [...]}.
std::vector<UsageAnswer> usage_answers(const nlohmann::json& answer);
// Reads {"models": [...]}; sorted by user and model.
std::vector<ModelAnswer> model_answers(const nlohmann::json& answer);

}  // namespace fairlead
