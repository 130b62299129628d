#include "fairlead/local/gpu_watch.h"

#include "fairlead/base/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace fairlead {
namespace {

// Chosen: costs a few milliseconds of the driver for each GPU, and is frequent enough to be useful.
constexpr Duration kGpuLook = seconds(5);

}  // namespace

GpuWatch::GpuWatch(Io& io, const Tables& tables, const Machine& machine, Inbox& inbox,
                   IsGiven is_given, OnForeign on_foreign)
    : io_(io),
      tables_(tables),
      machine_(machine),
      inbox_(inbox),
      first_(first_gpus(machine.cluster)),
      is_given_(std::move(is_given)),
      on_foreign_(on_foreign) {
  const auto text = io_.read(kGpuFile);
  if (!text) return;
  // A file that cannot be read closes nothing; names that are needed were checked before (local/same_gpus.h).
  if (auto file = parse_gpu_file(*text)) file_ = *std::move(file);
  for (const GpuFile::Closed& closed : file_.closed) {
    const auto name = std::ranges::find(machine_.gpu_names, closed.name);
    if (name == machine_.gpu_names.end()) continue;
    blame_.close(static_cast<std::uint32_t>(name - machine_.gpu_names.begin()),
                 {closed.reason, closed.until});
  }
}

void GpuWatch::look(Time now) {
  std::optional<GpuLook> look = io_.look_at_gpus(machine_.gpu_names);
  next_look_ = look ? now + kGpuLook : Time::never();
  looked_at_ = now;
  look_ = look ? *std::move(look) : GpuLook();
  std::erase_if(look_.processes, [&](const GpuProcess& one) {
    return !one.task.job.is_none() && is_given_(one.task, one.gpu);
  });
  if (on_foreign_ == OnForeign::kEnd)
    notices_.update(io_, look_.processes, machine_.not_served, now);
  if (on_foreign_ == OnForeign::kCharge) charge(now);
  settle();
}

void GpuWatch::charge(Time now) {
  ForeignCharges::Found found;
  for (const GpuProcess& process : look_.processes) {
    const std::string_view user = charged_user(process);
    if (user.empty()) continue;
    const NodeId node = node_of(first_, process.gpu);
    found[{std::string(user), node}] |= std::uint64_t{1} << (process.gpu - first_[node]);
  }
  for (const ForeignCharges::Charge& charge : charges_.look(found, now)) {
    inbox_.add({.kind = EventKind::kCharged,
                .node = charge.node,
                .user = inbox_.user_of(charge.user, tables_.users),
                .attained = charge.attained});
  }
}

std::string_view GpuWatch::charged_user(const GpuProcess& process) const {
  if (on_foreign_ != OnForeign::kCharge || machine_.not_served.contains(process.gpu)) return {};
  const JobId job = process.task.job;
  const bool is_of_job = !job.is_none() && tables_.jobs.has(job);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool has_account = !std::ranges::all_of(process.user, is_digit);
  if (!is_of_job && (process.is_root || !has_account)) return {};
  const std::string_view user =
      is_of_job ? std::string_view(tables_.users.names[tables_.jobs.user[job]]) : process.user;
  return has_gpu(user, process.gpu) ? std::string_view() : user;
}

// Returns whether a running job of the user has the GPU.
bool GpuWatch::has_gpu(std::string_view user, std::uint32_t gpu) const {
  const Jobs& jobs = tables_.jobs;
  return std::ranges::any_of(tables_.running.members(), [&](JobId job) {
    if (tables_.users.names[jobs.user[job]] != user) return false;
    const auto gpus =
        machine_gpus(first_, jobs.last_gang(job), jobs.gangs.gpu_masks(jobs.last[job]));
    return std::ranges::find(gpus, gpu) != gpus.end();
  });
}

void GpuWatch::on_time(Time now) {
  blame_.on_time(now);
  (void)keep();
  unpin_from_broken();
  return now >= next_look_ ? look(now) : settle();
}

Time GpuWatch::deadline() const {
  Time next = next_look_;
  for (const auto& [gpu, closing] : blame_.closed()) next = std::min(next, closing.until);
  return next;
}

// Returns the GPUs of the node among them.
std::uint64_t GpuWatch::mask_of(NodeId node, const auto& gpus) const {
  std::uint64_t mask = 0;
  for (const std::uint32_t gpu : gpus) {
    if (gpu >= first_[node] && gpu - first_[node] < tables_.cluster.node_gpus[node])
      mask |= std::uint64_t{1} << (gpu - first_[node]);
  }
  return mask;
}

// Brings the engine's tables into the present state.
void GpuWatch::settle() {
  for (NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
    const Tables::NodeState& state = tables_.nodes[node];
    const std::uint64_t out = unusable(node);
    const std::uint64_t back = state.has & ~state.up & ~out;
    if (back != 0) inbox_.add({.kind = EventKind::kGpusUp, .node = node, .gpus = back});
    // A job keeps its GPUs, unless the machine has them no more.
    const std::uint64_t down = out & state.up & (state.free | mask_of(node, machine_.absent));
    if (down != 0) inbox_.add({.kind = EventKind::kGpusDown, .node = node, .gpus = down});
  }
}

std::optional<GpuWatch::Outage> GpuWatch::outage(std::uint32_t gpu, Time now) const {
  const std::string& name = machine_.gpu_names[gpu];
  if (machine_.not_served.contains(gpu))
    return Outage{"not served", "the daemon does not serve it (--gpus)"};
  const bool has_report = gpu < look_.errors.size();
  if (has_report && !look_.errors[gpu].empty()) return Outage{"driver", look_.errors[gpu]};
  if (!has_report && machine_.absent.contains(gpu))
    return Outage{"absent", "the machine has no such GPU any more"};
  if (std::ranges::find(file_.cordoned, name) != file_.cordoned.end())
    return Outage{"administrator", "an administrator closed it"};
  const auto closed = blame_.closed().find(gpu);
  if (closed == blame_.closed().end()) return std::nullopt;
  const Time until = closed->second.until;
  return Outage{"failures",
                until == Time::never()
                    ? closed->second.reason
                    : fmt::format("{}; it is tried again in {}", closed->second.reason,
                                  span_text(std::max<std::int64_t>(0, (until - now).ms)))};
}

std::map<std::uint32_t, GpuWatch::Outage> GpuWatch::outages(Time now) const {
  std::map<std::uint32_t, Outage> all;
  for (std::uint32_t gpu = 0; gpu < machine_.gpu_names.size(); ++gpu) {
    if (auto found = outage(gpu, now)) all.emplace(gpu, *std::move(found));
  }
  return all;
}

bool GpuWatch::is_usable(std::uint32_t gpu) const {
  return !outage(gpu, {}) &&
         std::ranges::find(look_.processes, gpu, &GpuProcess::gpu) == look_.processes.end();
}

bool GpuWatch::are_usable(std::span<const std::uint32_t> gpus) const {
  return std::ranges::all_of(gpus, [&](std::uint32_t gpu) { return is_usable(gpu); });
}

bool GpuWatch::is_broken(std::uint32_t gpu) const {
  const auto found = outage(gpu, {});
  if (!found || found->cause == "administrator") return false;
  return found->cause != "failures" || blame_.closed().at(gpu).until == Time::never();
}

// Lets suspended jobs leave GPUs on which they cannot go on, although that loses their work.
void GpuWatch::unpin_from_broken() {
  std::vector<std::uint32_t> broken;
  for (std::uint32_t gpu = 0; gpu < machine_.gpu_names.size(); ++gpu) {
    if (is_broken(gpu)) broken.push_back(gpu);
  }
  if (broken.empty()) return;
  const Jobs& jobs = tables_.jobs;
  const auto unpin = [&](JobId job) {
    if (!jobs.is_pinned(job)) return;
    const auto gpus =
        machine_gpus(first_, jobs.last_gang(job), jobs.gangs.gpu_masks(jobs.last[job]));
    const bool is_lost = std::ranges::any_of(
        gpus, [&](std::uint32_t gpu) { return std::ranges::binary_search(broken, gpu); });
    if (is_lost) inbox_.add({.kind = EventKind::kPinned, .job = job, .is_pinned = false});
  };
  std::ranges::for_each(tables_.waiting.members(), unpin);
  for (const auto& [job, until] : tables_.held_until) unpin(job);
}

std::uint64_t GpuWatch::unusable(NodeId node) const {
  std::uint64_t mask = 0;
  for (std::uint32_t i = 0; i < tables_.cluster.node_gpus[node]; ++i) {
    if (!is_usable(first_[node] + i)) mask |= std::uint64_t{1} << i;
  }
  return mask;
}

void GpuWatch::refuse(std::span<const std::uint32_t> gpus) {
  for (NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
    const std::uint64_t mask = mask_of(node, gpus) & unusable(node);
    if (mask != 0) inbox_.add({.kind = EventKind::kGpusDown, .node = node, .gpus = mask});
  }
}

Status GpuWatch::cordon(std::uint32_t gpu) {
  const std::string& name = machine_.gpu_names[gpu];
  if (std::ranges::find(file_.cordoned, name) != file_.cordoned.end()) return {};
  file_.cordoned.push_back(name);
  Status status = io_.write(kGpuFile, gpu_file_text(file_));
  if (!status) file_.cordoned.pop_back();
  settle();
  return status;
}

Status GpuWatch::uncordon(std::uint32_t gpu) {
  GpuFile before = file_;
  std::erase(file_.cordoned, machine_.gpu_names[gpu]);
  std::erase_if(file_.closed,
                [&](const auto& closed) { return closed.name == machine_.gpu_names[gpu]; });
  if (file_ != before) {
    if (Status status = io_.write(kGpuFile, gpu_file_text(file_)); !status) {
      file_ = std::move(before);
      return status;
    }
  }
  blame_.open(gpu);
  settle();
  return {};
}

Status GpuWatch::uncordon(NodeId node) {
  for (std::uint32_t i = 0; i < tables_.cluster.node_gpus[node]; ++i)
    FL_TRY(uncordon(first_[node] + i));
  return {};
}

void GpuWatch::on_failed_at_once(Time now, const GpuBlame::Try& what, std::string_view end,
                                 bool is_retried) {
  const Jobs& jobs = tables_.jobs;
  const JobId job = what.task.job;
  blame_.on_failed(now, what, end, is_retried, [&](std::span<const std::uint32_t> without) {
    std::uint32_t room = 0;
    for (NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
      if ((jobs.types[job] & type_bit(tables_.cluster.node_type[node])) == 0) continue;
      const std::uint64_t left =
          tables_.nodes[node].has & ~unusable(node) & ~mask_of(node, without);
      room += static_cast<std::uint32_t>(std::popcount(left));
    }
    return room >= jobs.gpus[job];
  });
  (void)keep();
}

void GpuWatch::on_good(const GpuBlame::Try& what) {
  blame_.on_good(what);
  (void)keep();
}

// If the disk is full, the next call tries again: a crash before that costs one more failure.
Status GpuWatch::keep() {
  std::vector<GpuFile::Closed> closed;
  for (const auto& [gpu, closing] : blame_.closed())
    closed.push_back({machine_.gpu_names[gpu], closing.reason, closing.until});
  if (closed == file_.closed) return {};
  GpuFile next = file_;
  next.closed = std::move(closed);
  FL_TRY(io_.write(kGpuFile, gpu_file_text(next)));
  file_ = std::move(next);
  return {};
}

IdVector<GpuTypeId, std::uint32_t> GpuWatch::memory_mb_of_types() const {
  const Cluster& cluster = tables_.cluster;
  IdVector<GpuTypeId, std::uint32_t> most_mb(cluster.type_names.size(), 0);
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    std::uint32_t& of_type = most_mb[cluster.node_type[node]];
    const std::uint32_t end = first_[NodeId(node.row() + 1)];
    for (std::uint32_t gpu = first_[node]; gpu < end && gpu < look_.memory.size(); ++gpu)
      of_type = std::max(of_type, look_.memory[gpu].total_mb);
  }
  return most_mb;
}

}  // namespace fairlead
