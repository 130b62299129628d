#include "fairlead/compare/run_inputs.h"

#include "fairlead/base/hash.h"
#include "fairlead/policy/registry.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>

namespace fairlead {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";
// Settings whose value may be a file.
constexpr std::array<std::string_view, 3> kFileSettings = {"models=", "outages=", "limits="};

void add_number(std::uint64_t& hash, std::uint64_t number) {
  std::uint8_t bytes[8];
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>(number);
    number >>= 8;
  }
  hash = hash_bytes(hash, bytes);
}

// Adds the length first, so that "ab", "c" and "a", "bc" differ.
void add_text(std::uint64_t& hash, std::string_view text) {
  add_number(hash, text.size());
  hash = hash_bytes(hash, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::uint64_t hash_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t hash = kHashStart;
  std::string block(std::size_t{1} << 20, '\0');
  do {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    add_text(hash, std::string_view(block.data(), static_cast<std::size_t>(file.gcount())));
  } while (file);
  return hash;
}

// Returns the files that options of the policy name. REQUIRES: the policy is valid.
std::vector<std::string> files_of(const PolicyChoice& choice) {
  std::vector<std::string> files;
  for (const OptionSpec& option : choice.entry->options) {
    if (option.type != OptionType::kFile) continue;
    if (const auto file = choice.options.text(option.name); !file.empty()) files.emplace_back(file);
  }
  return files;
}

}  // namespace

const RunInputs::Content& RunInputs::content(const std::string& path) {
  const auto [found, is_new] = contents_.try_emplace(path);
  Content& content = found->second;
  if (!is_new) return content;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  content.is_file = std::filesystem::is_regular_file(status);
  content.readable_twice = !std::filesystem::is_fifo(status) &&
                           !std::filesystem::is_character_file(status) &&
                           !std::filesystem::is_socket(status);
  if (content.is_file) content.hash = hash_of_file(path);
  return content;
}

// Returns false if the input `name` can be read only once.
bool RunInputs::add(std::uint64_t& hash, const std::string& name) {
  const Content& file = content(name);
  add_text(hash, file.is_file ? std::filesystem::path(name).filename().string() : name);
  add_number(hash, file.hash);
  return file.readable_twice;
}

std::string RunInputs::hash(const RunFlags& flags, const std::string& policy, std::uint64_t seed) {
  const auto choice = parse_policy(policy, seed);
  if (!choice || flags.trace == "-") return {};
  std::uint64_t hash = kHashStart;
  bool readable_twice = add(hash, kThisProgram);
  readable_twice &= add(hash, flags.cluster);
  readable_twice &= add(hash, flags.trace);
  for (const std::string& setting : flags.settings) {
    const auto* key = std::ranges::find_if(
        kFileSettings, [&](std::string_view prefix) { return setting.starts_with(prefix); });
    const bool names_file = key != kFileSettings.end();
    add_text(hash, names_file ? *key : std::string_view(setting));
    if (names_file) readable_twice &= add(hash, setting.substr(key->size()));
  }
  add_text(hash, choice->entry->name);
  add_text(hash, choice->options.canonical());
  for (const std::string& file : files_of(*choice)) readable_twice &= add(hash, file);
  for (const std::string& argument : arguments_of(flags.read)) add_text(hash, argument);
  add_text(hash, flags.until);
  add_number(hash, flags.audit ? 1 : 0);
  add_number(hash, flags.only_summary ? 1 : 0);
  add_number(hash, seed);
  return readable_twice ? fmt::format("{:016x}", hash) : std::string();
}

bool has_results_of(const std::filesystem::path& folder, const std::string& inputs_hash) {
  std::error_code ignored;
  if (inputs_hash.empty() || !std::filesystem::exists(folder / "summary.json", ignored)) {
    return false;
  }
  std::ifstream file(folder / "run.json");
  const auto run = nlohmann::json::parse(file, nullptr, false);
  return run.is_object() && run.value("inputs_hash", nlohmann::json()) == inputs_hash;
}

}  // namespace fairlead
