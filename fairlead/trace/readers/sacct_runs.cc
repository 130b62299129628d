<<<<<<< Updated upstream
#include "fairlead/trace/readers/sacct_runs.h"

#include "fairlead/trace/states.h"

#include <fmt/format.h>

namespace fairlead {

std::string_view slurm_no_job(std::string_view state, const SlurmJobGpus& gpus, Duration elapsed) {
  const bool requeued = state_word(state) == kSlurmRequeued && elapsed.ms > 0;
  if (is_unfinished(state) && !requeued) return "not ended";
  const bool waited = is_cancelled(state) && elapsed.ms == 0;
  const bool has_any = gpus.has_requested || gpus.has_allocated;
  if (has_any && gpus.either().count() == 0) return "no GPU";
  if (waited) return "cancelled while waiting";
  if (!has_any) return "no GPU";
  return elapsed.ms == 0 ? "never started" : "";
}

std::string_view SlurmRuns::name(std::string_view id, std::string_view& repaired) {
  const int run = ++runs_[std::string(id)];
  if (run == 1) return id;
  repaired = "requeued: each run counts as a job";
  return named_ = fmt::format("{}#{}", id, run);
}

std::string slurm_runs_on(const ReadOptions& options, const SlurmJobGpus& gpus,
                          std::string_view partition, std::string_view features) {
  const SlurmAsked asked{std::string(gpus.requested.type), std::string(partition),
                         std::string(features)};
  // Without the request, a job of any type looks like one that asked for the type that it got.
  if (!gpus.has_requested && partition.empty() && features.empty()) return {};
  return options.slurm_runs_on ? options.slurm_runs_on(asked) : asked.gpu_type;
=======
#include "fairlead/slurm/resources.h"

#include "fairlead/base/parse.h"
#include "fairlead/model/job_row.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

void add_resource(std::string_view name, std::string_view amount, SlurmGpus& gpus) {
  const Parsed<std::int64_t> count = parse_integer(amount);
  if (name == "node") gpus.nodes = count.value_or(0);
  if (name == "cpu") gpus.other.cpus = thousandths_of_whole(count.value_or(0));
  if (name == "mem") gpus.other.memory_gb = slurm_memory(amount);
  if (!name.starts_with("gres/")) return;
  gpus.add(name.substr(std::string_view("gres/").size()), count.value_or(-1));
}

}  // namespace

Thousandths slurm_memory(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTP";
  constexpr double kMb = 1000.0 / 1024;  // thousandths of a GB
  const std::size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
  if (unit != kUnits.npos) text.remove_suffix(1);
  const double number = parse_number(text).value_or(0);
  const double amount =
      number * kMb * std::pow(1024, unit == kUnits.npos ? 0 : static_cast<double>(unit) - 1);
  return amount >= 1 && amount <= static_cast<double>(kThousandthsMax)
             ? Thousandths{std::llround(std::floor(amount))}
             : Thousandths{};
}

SlurmGpus slurm_gpus(std::string_view resources) {
  SlurmGpus gpus;
  while (!resources.empty() && !gpus.bad) {
    const std::string_view one = resources.substr(0, resources.find(','));
    resources.remove_prefix(std::min(one.size() + 1, resources.size()));
    const std::size_t equals = one.find('=');
    gpus.cut = gpus.cut || one.ends_with('+');
    if (equals != one.npos) add_resource(one.substr(0, equals), one.substr(equals + 1), gpus);
  }
  return gpus;
}

SlurmGpus slurm_gres(std::string_view resources) {
  SlurmGpus gpus;
  while (!resources.empty() && !gpus.bad) {
    std::string_view one = resources.substr(0, resources.find(','));
    resources.remove_prefix(std::min(one.size() + 1, resources.size()));
    gpus.cut = gpus.cut || one.ends_with('+');
    one = one.substr(0, one.find('('));  // which of them: "gpu:a100:2(IDX:0-1)"
    if (one.starts_with("gres")) one.remove_prefix(std::min<std::size_t>(5, one.size()));
    if (!one.starts_with("gpu")) continue;
    const std::size_t colon = one.rfind(':');
    const Parsed<std::int64_t> count =
        parse_integer(colon != one.npos ? one.substr(colon + 1) : "");
    gpus.add(count ? one.substr(0, colon) : one, count.value_or(1));
  }
  return gpus;
}

CpuMemory SlurmJobGpus::asks() const {
  const auto first = [](Thousandths one, Thousandths other) { return one.value > 0 ? one : other; };
  return {first(requested.other.cpus, allocated.other.cpus),
          first(requested.other.memory_gb, allocated.other.memory_gb)};
}

std::int64_t SlurmJobGpus::task_gpus() const {
  const std::int64_t nodes = std::max(requested.nodes, allocated.nodes);
  const std::int64_t gpus = either().count();
  return nodes > 0 && gpus % nodes == 0 ? gpus / nodes : 1;
}

void SlurmGpus::add(std::string_view name, std::int64_t amount) {
  if (!name.starts_with("gpu")) return;
  name.remove_prefix(std::string_view("gpu").size());
  if (!name.empty() && name.front() != ':') return;  // such as gpumem
  bad = bad || amount < 0 || amount > kJobGpusMax;
  if (bad) return;
  if (name.empty()) {
    all = amount;
    return;
  }
  type = typed == 0 ? name.substr(1) : std::string_view();
  typed += amount;
>>>>>>> Stashed changes
}

}  // namespace fairlead
