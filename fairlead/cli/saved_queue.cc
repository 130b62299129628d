#include "fairlead/cli/saved_queue.h"

#include "fairlead/base/file.h"
#include "fairlead/base/printable.h"
#include "fairlead/base/time_text.h"
#include "fairlead/cli/folder_lock.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/limits_file.h"
#include "fairlead/model/workload.h"
#include "fairlead/report/result_files.h"
#include "fairlead/report/table.h"
#include "fairlead/trace/convert.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace fairlead {

std::string cluster_yaml(const std::string& name, const std::vector<NodeSpec>& nodes) {
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  const auto amount = [](std::string_view key, Thousandths has) {
    if (has.value == 0) return std::string();
    return fmt::format(", {}: {}", key, static_cast<double>(has.value) / 1000);
  };
  std::map<std::string, std::string> racks;
  for (const NodeSpec& node : nodes) {
    racks[node.rack] +=
        fmt::format("      - {{name: {}, gpu_type: {}, gpus: {}{}{}}}\n", quoted(node.name),
                    quoted(node.gpu_type), node.gpus, amount("cpus", node.has.cpus),
                    amount("memory_gb", node.has.memory_gb));
  }
  std::string text = fmt::format("name: {}\nracks:\n", quoted(name));
  for (const auto& [rack, lines] : racks) {
    text +=
        fmt::format("  - name: {}\n    nodes:\n{}", quoted(rack.empty() ? "cluster" : rack), lines);
  }
  return text;
}

Status save(const ClusterNow& now, const std::filesystem::path& folder) {
  FolderLock lock;  // released after `files` removed the remains of an error
  FL_TRY_ASSIGN(files, ResultFolder::open(folder));
  FL_TRY(lock.take(folder));
  const auto write = [&](std::string_view name, const std::string& text) -> Status {
    FL_TRY_ASSIGN(file, OutputFile::create(files.file(name)));
    file.write(text);
    return files.add(std::move(file), name);
  };
  FL_TRY(write(kSavedCluster, cluster_yaml(now.name, now.nodes)));
  FL_TRY(write(kSavedNotes, assumptions_text(now)));
  if (now.queue.limits) FL_TRY(write(kSavedLimits, limits_csv(*now.queue.limits)));
  FL_TRY(write_native(now.queue.trace.workload(), files.file(kSavedQueue)));
  files.add(kSavedQueue);
  if (now.trace) {
    FL_TRY(write_native(now.trace->workload(), files.file(kSavedJobs)));
    files.add(kSavedJobs);
  }
  return files.keep();
}

Result<SavedQueue> read_saved_queue(const std::filesystem::path& folder) {
  FL_TRY_ASSIGN(cluster, load_cluster((folder / kSavedCluster).string()));
  FL_TRY_ASSIGN(trace, Trace::read((folder / kSavedQueue).string()));
  FL_TRY_ASSIGN(source, ByteSource::open((folder / kSavedNotes).string()));
  std::string notes;
  LineReader lines(source);
  for (;;) {
    FL_TRY_ASSIGN(more, lines.next());
    if (!more) break;
    notes += printable(lines.line()) + "\n";
  }
  SavedQueue saved{.queue = {.cluster = std::move(cluster), .trace = std::move(trace)},
                   .notes = std::move(notes)};
  if (const auto limits = folder / kSavedLimits; std::filesystem::exists(limits)) {
    FL_TRY_ASSIGN(rules, load_limits(limits.string()));
    saved.queue.limits = std::move(rules);
  }
  const Workload& jobs = saved.queue.trace.workload();
  for (JobId job : ids<JobId>(jobs.jobs.size())) {
    saved.queue.left.push_back({.job = static_cast<std::int64_t>(job.row()) + 1,
                                .s = static_cast<double>(jobs.durations[job].ms) / 1000,
                                .source = "as saved"});
  }
  return saved;
}

std::string assumptions_text(const ClusterNow& now) {
  std::map<std::string, std::vector<double>> by_source;
  for (const TimeLeft& left : now.queue.left) by_source[left.source].push_back(left.s);
  std::string text = "This guesses that every policy starts from scratch, and that\n";
  for (auto& [source, times] : by_source) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    text += fmt::format(
        "  {} {}, by their median: {}\n",
        times.size() == 1 ? "1 job still takes" : fmt::format("{} jobs still take", times.size()),
        span_text(static_cast<std::int64_t>(*middle * 1000)), printable(source));
  }
  for (const std::string& line : now.said) text += fmt::format("  {}\n", printable(line));
  return text;
}

}  // namespace fairlead
