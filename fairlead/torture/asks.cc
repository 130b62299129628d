#include "fairlead/torture/asks.h"

#include "fairlead/http/http.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead {
namespace {

using Kind = Ask::Kind;

std::int64_t scaled(Rng& rng, std::int64_t most) {
  std::int64_t high = 1;
  while (high < most && rng.below(4) != 0) high *= 2;
  return 1 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(std::min(high, most))));
}

// Returns the memory that a submission states: none, or a part of the whole.
std::uint32_t memory_of(std::size_t submission, std::uint32_t whole_mb) {
  constexpr std::uint32_t kParts = 8;
  const auto parts = static_cast<std::uint32_t>(submission % (kParts + 1));
  return parts * whole_mb / kParts;
}

std::uint32_t small(Rng& rng, std::uint32_t bound) {
  return static_cast<std::uint32_t>(rng.below(bound));
}

}  // namespace

Asker Asks::asker(Rng& rng) const {
  if (rng.below(6) == 0) return {.uid = 0};
  return {.uid = kFirstUid + small(rng, plan_.users)};
}

Ask Asks::draw(Rng& rng, Asker asker, std::int64_t unix_ms) {
  if (plan_.has_reservations && rng.below(12) == 0) return reserve(rng, unix_ms);
  constexpr std::array<std::pair<Kind, double>, 11> kKinds = {{{Kind::kSubmit, 40},
                                                               {Kind::kCancel, 8},
                                                               {Kind::kHold, 6},
                                                               {Kind::kRelease, 6},
                                                               {Kind::kJob, 5},
                                                               {Kind::kEnd, 8},
                                                               {Kind::kTickets, 5},
                                                               {Kind::kCordon, 6},
                                                               {Kind::kRead, 10},
                                                               {Kind::kNowhere, 2},
                                                               {Kind::kGarbage, 3}}};
  std::array<double, kKinds.size()> weights{};
  for (std::size_t i = 0; i < kKinds.size(); ++i) weights[i] = kKinds[i].second;
  const Kind kind = kKinds[rng.weighted(weights)].first;
  switch (kind) {
    case Kind::kSubmit:
      return submit(rng, asker);
    case Kind::kTickets:
      return tickets(rng);
    case Kind::kCordon: {
      const std::string& node = cluster().node_names[some_node(rng)];
      const char* verb = rng.below(2) == 0 ? "cordon" : "uncordon";
      const std::string what =
          rng.below(2) == 0 ? "nodes/" + node : fmt::format("gpus/{}", rng.below(cluster().gpus));
      return {.kind = kind, .bytes = http_request("POST", fmt::format("/v1/{}/{}", what, verb))};
    }
    case Kind::kRead:
      return read(rng);
    case Kind::kNowhere:
      return {.kind = kind, .bytes = http_request("POST", "/v2/jobs", "{}")};
    case Kind::kGarbage: {
      Ask ask{.kind = kind, .bytes = "\x16\x03 no HTTP \r\n\r\n"};
      for (std::uint64_t i = rng.below(200); i > 0; --i) {
        ask.bytes.push_back(static_cast<char>(rng.below(256)));
      }
      return ask;
    }
    default:
      return about_job(kind, some_job(rng));
  }
}

Ask Asks::about_job(Kind kind, JobId job) const {
  const auto request = [&](std::string_view method, std::string_view verb) {
    return Ask{.kind = kind,
               .bytes = http_request(method, fmt::format("/v1/jobs/{}{}", job.row(), verb)),
               .job = job};
  };
  switch (kind) {
    case Kind::kCancel:
      return request("POST", "/cancel");
    case Kind::kHold:
      return request("POST", "/hold");
    case Kind::kRelease:
      return request("POST", "/release");
    case Kind::kEnd:
      return request("GET", "/end");
    default:
      return request("GET", job.row() % 2 == 0 ? "" : "/why");
  }
}

Ask Asks::uncordon(std::string_view node) const {
  return {.kind = Kind::kCordon,
          .bytes = http_request("POST", fmt::format("/v1/nodes/{}/uncordon", node))};
}

Ask Asks::reserve(Rng& rng, std::int64_t unix_ms) {
  const std::uint32_t asked = promises_.reservations_asked;
  if (asked > 0 && rng.below(4) == 0) return cancel_reservation(1 + small(rng, asked));
  ++promises_.reservations_asked;
  const GpuTypeId type = cluster().node_type[some_node(rng)];
  const std::int64_t from_ms = unix_ms + scaled(rng, 60'000) - 1000;
  const std::string body = fmt::format(
      R"({{"user":"user{}","gpus":{},"gpu_type":"{}","from_unix_ms":{},"to_unix_ms":{}}})",
      kFirstUid + small(rng, plan_.users), 1 + small(rng, cluster().type_gpus[type]),
      cluster().type_names[type], from_ms, from_ms + scaled(rng, 3'600'000));
  return {.kind = Kind::kReserve, .bytes = http_request("POST", "/v1/reservations", body)};
}

Ask Asks::cancel_reservation(std::uint32_t id) const {
  return {.kind = Kind::kReserve,
          .bytes = http_request("POST", fmt::format("/v1/reservations/{}/cancel", id))};
}

Ask Asks::sweep() const { return {.kind = Kind::kSweep, .bytes = http_request("GET", "/v1/jobs")}; }

// Returns the fields about memory.
std::string Asks::state_memory(Submitted& job) const {
  const std::size_t number = promises_.submissions.size();
  if (job.gpus > 0) job.gpu_memory_mb = memory_of(number, kGpuMemoryMb);
  job.memory_mb = memory_of(number / 2, kHostMemoryMb);
  std::string fields;
  if (job.gpu_memory_mb > 0) fields += fmt::format(R"(,"gpu_memory_mb":{})", job.gpu_memory_mb);
  if (job.memory_mb > 0) fields += fmt::format(R"(,"memory_mb":{},"cpus":1.5)", job.memory_mb);
  return fields;
}

Ask Asks::submit(Rng& rng, Asker asker) {
  std::uint32_t most = 0;
  for (std::uint32_t gpus : cluster().type_gpus) most = std::max(most, gpus);
  Submitted job{.name = fmt::format("s{}", promises_.submissions.size()),
                .uid = asker.uid,
                .gpus = 1 + small(rng, rng.below(3) == 0 ? most : std::min(most, 2U)),
                .work = work(rng)};
  Ask ask{.kind = Kind::kSubmit, .submission = promises_.submissions.size(), .is_valid = true};
  std::string types = "[]";
  if (rng.below(8) == 0) {
    const GpuTypeId type = cluster().node_type[some_node(rng)];
    types = fmt::format("[\"{}\"]", cluster().type_names[type]);
    job.gpus = std::min(job.gpus, cluster().type_gpus[type]);
  }
  if (plan_.has_copies && rng.below(2) == 0) job.copies_max = 2 * small(rng, 3);
  const std::uint64_t processes = job.copies_max == 1 ? 1 + rng.below(2) : 1;
  const std::uint64_t flaw = rng.below(40);
  if (flaw == 0) job.gpus = 1000;
  if (flaw == 1) types = R"(["no such GPU"])";
  if (flaw <= 1) ask.is_valid = false;
  const bool needs_gpus =
      !plan_.has_work_without_gpus || flaw <= 1 || promises_.submissions.size() % 3 != 0;
  if (!needs_gpus) {
    job.gpus = 0;
    job.copies_max = 1;
    types = "[]";
  }
  std::string body = fmt::format(
      R"({{"name":"{}","model":"m{}","command":["{}"],"environment":["A=b"],"folder":"/data",)"
      R"("umask":18,"gpus":{},"processes":{},"types":{})",
      job.name, rng.below(4), fmt::join(job.work.command(), R"(",")"), job.gpus, processes, types);
  body += R"(,"pinned":0)";
  if (job.copies_max != 1) body += fmt::format(R"(,"copies_max":{})", job.copies_max);
  if (rng.below(2) == 0) {
    body += fmt::format(R"(,"declared_s":{})", 1 + job.work.work.ms * scaled(rng, 8) / 4000);
  }
  if (rng.below(6) == 0) {
    job.limit = {100 * scaled(rng, 2048)};
    body += fmt::format(R"(,"limit_s":{})", static_cast<double>(job.limit.ms) / 1000);
  }
  if (plan_.has_memory) body += state_memory(job);
  if (job.work.retries > 0) body += fmt::format(R"(,"retries":{})", job.work.retries);
  if (plan_.has_orders) body += conditions(rng, job);
  if (plan_.has_orders && rng.below(2) == 0) {
    constexpr std::array<std::string_view, 3> kPriorities = {"low", "normal", "high"};
    job.priority = small(rng, 3);
    body += fmt::format(R"(,"priority":"{}")", kPriorities[job.priority]);
  }
  promises_.by_name[job.name] = promises_.submissions.size();
  promises_.submissions.push_back(job);
  if (plan_.has_orders && rng.below(8) == 0) body += tasks(rng, ask, std::move(job));
  body += flaw == 2 ? "" : "}";
  if (flaw == 2) ask.is_valid = false;
  ask.bytes = http_request("POST", "/v1/jobs", body);
  return ask;
}

// Returns the field with the jobs that must end before, if there are any.
std::string Asks::conditions(Rng& rng, Submitted& job) const {
  if (promises_.acknowledged.empty() || rng.below(4) != 0) return "";
  for (std::uint64_t left = 1 + rng.below(3); left > 0; --left) {
    const JobId other = some_job(rng);
    if (promises_.acknowledged.contains(other)) job.after.push_back(other);
  }
  job.needs_good_ends = rng.below(2) == 0;
  std::vector<std::uint32_t> rows;
  for (JobId other : job.after) rows.push_back(other.row());
  return fmt::format(R"(,"{}":[{}])", job.needs_good_ends ? "after_ok" : "after",
                     fmt::join(rows, ","));
}

// Returns the fields of an array, of which `job` is the first task.
std::string Asks::tasks(Rng& rng, Ask& ask, Submitted job) {
  ask.tasks = 1 + small(rng, 5);
  ask.at_once = small(rng, 3);
  std::string list = "{}";
  for (std::uint32_t i = 1; i < ask.tasks; ++i) {
    job.name = fmt::format("s{}", promises_.submissions.size());
    list += fmt::format(R"(,{{"name":"{}","array_index":{}}})", job.name, i);
    promises_.by_name[job.name] = promises_.submissions.size();
    promises_.submissions.push_back(job);
  }
  return fmt::format(R"(,"tasks":[{}],"at_once":{})", list, ask.at_once);
}

// Returns the work of a job. Checkpoints are more frequent than turns, so that a job makes progress
// however often it is moved and loses the work since its last checkpoint.
SimWork Asks::work(Rng& rng) const {
  SimWork work{.work = {1 + 100 * scaled(rng, 4096)}, .every = {500 * scaled(rng, 8)}};
  work.on_term = static_cast<SimWork::OnTerm>(rng.below(3));
  if (plan_.leaves_slowly && work.on_term == SimWork::OnTerm::kDie)
    work.on_term = SimWork::OnTerm::kCheckpoint;
  if (work.on_term == SimWork::OnTerm::kCheckpoint)
    work.checkpoint = {10 * scaled(rng, plan_.leaves_slowly ? 8192 : 2048)};
  if (rng.below(6) == 0) work.code = 1 + static_cast<int>(rng.below(3));
  work.hangs = rng.below(20) == 0;
  work.is_brittle = rng.below(8) == 0;
  if (rng.below(12) == 0) work.failing_starts = 1 + small(rng, 3);
  if (rng.below(4) == 0) work.retries = 1 + small(rng, 3);
  if (work.code != 0 && rng.below(2) == 0) work.times = small(rng, 4);
  return work;
}

Ask Asks::tickets(Rng& rng) const {
  const Asker whose{.uid = kFirstUid + small(rng, plan_.users)};
  if (plan_.has_group && rng.below(3) == 0) return limit(kGroup, small(rng, cluster().gpus + 1));
  if (plan_.has_orders && rng.below(2) == 0)
    return limit(whose.name(), small(rng, cluster().gpus + 1));
  Ask ask{.kind = Kind::kTickets, .user = whose.name(), .tickets = scaled(rng, 1000)};
  ask.bytes =
      http_request("PUT", "/v1/users/" + ask.user, fmt::format(R"({{"tickets":{}}})", ask.tickets));
  return ask;
}

Ask Asks::limit(std::string user, std::uint32_t gpus_max) const {
  std::string bytes = http_request("PUT", (user == kGroup ? "/v1/groups/" : "/v1/users/") + user,
                                   fmt::format(R"({{"max_gpus":{}}})", gpus_max));
  return {.kind = Kind::kLimit,
          .bytes = std::move(bytes),
          .user = std::move(user),
          .gpus_max = gpus_max};
}

Ask Asks::read(Rng& rng) const {
  constexpr std::array<std::string_view, 6> kThere = {"/healthz",       "/metrics",  "/v1/cluster",
                                                      "/v1/jobs?all=1", "/v1/users", "/v1/jobs"};
  return {.kind = Kind::kRead, .bytes = http_request("GET", kThere[rng.below(kThere.size())])};
}

NodeId Asks::some_node(Rng& rng) const { return NodeId(rng.below(cluster().nodes())); }

JobId Asks::some_job(Rng& rng) const {
  const std::size_t known = promises_.acknowledged.size();
  if (known == 0 || rng.below(10) == 0) return JobId(rng.below(known + 3));
  return std::next(promises_.acknowledged.begin(), static_cast<std::ptrdiff_t>(rng.below(known)))
      ->first;
}

}  // namespace fairlead
