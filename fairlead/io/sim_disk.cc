#include "fairlead/io/sim_disk.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

std::string_view text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

bool SimDisk::write(const std::string& name, std::string_view bytes) {
  if (is_full_) return false;
  files_[name] = {.bytes = std::string(bytes), .synced = bytes.size(), .is_name_synced = true};
  removed_.clear();  // the folder was synced
  return true;
}

const std::string* SimDisk::find(const std::string& name) const {
  const auto at = files_.find(name);
  return at == files_.end() ? nullptr : &at->second.bytes;
}

void SimDisk::remove(const std::string& name) {
  const auto at = files_.find(name);
  if (at == files_.end()) return;
  if (at->second.is_name_synced) removed_[name] = std::move(at->second);
  files_.erase(at);
}

std::vector<std::string> SimDisk::list(const std::string& folder) const {
  const std::string prefix = folder.empty() ? "" : folder + "/";
  std::vector<std::string> names;
  for (auto at = files_.lower_bound(prefix); at != files_.end(); ++at) {
    const std::string_view name = at->first;
    if (!name.starts_with(prefix)) break;
    const std::string_view rest = name.substr(prefix.size());
    if (rest.find('/') == std::string_view::npos) names.emplace_back(rest);
  }
  return names;
}

void SimDisk::cut(const std::string& name, std::uint64_t bytes) {
  File& file = files_[name];
  if (file.bytes.size() <= bytes) return;
  file.bytes.resize(bytes);
  file.synced = file.bytes.size();
}

bool SimDisk::append(const std::string& name, std::span<const std::uint8_t> bytes) {
  if (is_full_) return append_part(name, bytes), false;
  files_[name].bytes.append(text(bytes));
  return true;
}

void SimDisk::append_part(const std::string& name, std::span<const std::uint8_t> bytes) {
  files_[name].bytes.append(text(bytes.first(rng_.below(bytes.size() + 1))));
}

bool SimDisk::sync(const std::string& name) {
  if (is_full_) return false;
  File& file = files_[name];
  file.synced = file.bytes.size();
  file.is_name_synced = true;
  removed_.clear();
  return true;
}

void SimDisk::lose_power() {
  for (auto& [name, file] : removed_) {
    if (rng_.below(2) == 0) files_.try_emplace(name, std::move(file));
  }
  removed_.clear();
  for (auto at = files_.begin(); at != files_.end();) {
    at = lose_power(at->second) ? std::next(at) : files_.erase(at);
  }
}

bool SimDisk::lose_power(File& file) {
  if (!file.is_name_synced && rng_.below(2) == 0) return false;
  const std::size_t unsynced = file.bytes.size() - file.synced;
  if (unsynced > 0) {
    const std::size_t kept = rng_.below(unsynced + 1);
    file.bytes.resize(file.synced + kept);
    // The size may have reached the disk before the bytes.
    const bool has_garbage = rng_.below(4) == 0;
    const std::size_t garbage = has_garbage ? rng_.below(unsynced - kept + 1) : 0;
    const bool is_zero = rng_.below(2) == 0;
    for (std::size_t i = 0; i < garbage; ++i) {
      file.bytes.push_back(is_zero ? '\0' : static_cast<char>(rng_.below(256)));
    }
  }
  file.synced = file.bytes.size();
  file.is_name_synced = true;
  return true;
}

void SimDisk::flip_bit(const std::string& name, std::uint64_t bit) {
  char& byte = files_.at(name).bytes.at(bit / 8);
  byte = static_cast<char>(byte ^ (1 << (bit % 8)));
}

}  // namespace fairlead
