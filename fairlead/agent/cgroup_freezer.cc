#include "fairlead/agent/cgroup_freezer.h"

#include "fairlead/io/descriptor.h"
#include "fairlead/shim/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <unistd.h>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

// kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/...-pod1234.slice
constexpr int kDepthMax = 5;

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
bool can_freeze(const std::string& folder) {
  return is_there(folder + "/cgroup.freeze") || is_there(folder + "/freezer.state");
}

PodState state_of(const std::string& folder) {
  if (const auto v1 = shim::read_file(folder + "/freezer.state")) {
    if (v1->starts_with("FROZEN")) return PodState::kFrozen;
    return v1->starts_with("FREEZING") ? PodState::kFreezing : PodState::kThawed;
  }
  const auto asked = shim::read_file(folder + "/cgroup.freeze");
  if (!asked) return PodState::kNone;
  if (!asked->starts_with("1")) return PodState::kThawed;
  const std::string events = shim::read_file(folder + "/cgroup.events").value_or("");
  return events.find("frozen 1") == std::string::npos ? PodState::kFreezing : PodState::kFrozen;
}

// Calls with the uid and the folder of each pod below.
template <class Tell>
void each_pod(const fs::path& folder, int depth, const Tell& tell) {
  std::error_code ended;
  fs::directory_iterator inner(folder, ended);
  for (; !ended && inner != fs::directory_iterator(); inner.increment(ended)) {
    std::error_code ignored;
    if (!inner->is_directory(ignored)) continue;
    const std::string name = inner->path().filename().string();
    if (const std::string uid = pod_of_cgroup(name); !uid.empty()) {
      if (can_freeze(inner->path().string())) tell(uid, inner->path().string());
      continue;
    }
    const bool leads_there = depth > 0 || name.find("kubepods") != std::string::npos ||
                             name.find("kubelet") != std::string::npos;
    if (leads_there && depth < kDepthMax) each_pod(inner->path(), depth + 1, tell);
  }
}

}  // namespace

std::string pod_of_cgroup(std::string_view name) {
  constexpr std::string_view kSlice = ".slice";
  const bool is_slice = name.ends_with(kSlice);
  if (is_slice) name.remove_suffix(kSlice.size());
  const std::size_t at = is_slice ? name.rfind("-pod") : 0;
  if (at == std::string_view::npos) return {};
  if (is_slice) name.remove_prefix(at + 1);
  if (!name.starts_with("pod")) return {};
  std::string uid(name.substr(3));
  const bool is_uid =
      uid.size() >= 32 && std::ranges::all_of(uid, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-' || c == '_';
      });
  if (!is_uid) return {};
  std::ranges::replace(uid, '_', '-');
  return uid;
}

void CgroupFreezer::find_all() {
  folders_.clear();
  for (const char* hierarchy : {"", "/unified", "/freezer"}) {
    each_pod(root_ + hierarchy, 0,
             [this](const std::string& uid, const std::string& path) { folders_[uid] = path; });
  }
}

std::string CgroupFreezer::folder(const std::string& uid) {
  const auto known = folders_.find(uid);
  if (known != folders_.end() && is_there(known->second)) return known->second;
  find_all();
  const auto found = folders_.find(uid);
  return found == folders_.end() ? "" : found->second;
}

PodState CgroupFreezer::state(const std::string& uid) {
  const std::string at = folder(uid);
  return at.empty() ? PodState::kNone : state_of(at);
}

Status CgroupFreezer::set(const std::string& uid, bool is_frozen) {
  const std::string at = folder(uid);
  if (at.empty()) return run_error("pod {} has no cgroup below {}", uid, root_);
  const bool is_v1 = is_there(at + "/freezer.state");
  const std::string path = at + (is_v1 ? "/freezer.state" : "/cgroup.freeze");
  const std::string_view text = is_v1 ? (is_frozen ? "FROZEN" : "THAWED") : (is_frozen ? "1" : "0");
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open() || !shim::write_all(file.get(), text))
    return run_error("{}: {}", path, std::strerror(errno));
  return {};
}

std::vector<std::string> CgroupFreezer::frozen() {
  find_all();
  std::vector<std::string> found;
  for (const auto& [uid, at] : folders_) {
    const PodState state = state_of(at);
    if (state == PodState::kFrozen || state == PodState::kFreezing) found.push_back(uid);
  }
  return found;
}

}  // namespace fairlead
