#include "fairlead/copies/checkpoint.h"

#include "fairlead/base/append_file.h"
#include "fairlead/io/descriptor.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>

namespace fairlead {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr const char* kState = "checkpoint.json";
constexpr const char* kRounds = "rounds.csv";
constexpr std::string_view kHeader = "round,done,copy,gpu_type,steps,seconds\n";

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string_view text_of(std::span<const float> floats) {
  return {reinterpret_cast<const char*>(floats.data()), floats.size_bytes()};
}

std::string file_of(std::uint64_t round) { return fmt::format("parameters-{}.f32", round); }

tl::unexpected<Error> system_error(const std::filesystem::path& path) {
  return run_error("{}: {}", path.string(), std::strerror(errno));
}

}  // namespace

Result<std::vector<float>> read_floats(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) return run_error("{}: {}", file.string(), error.message());
  if (size % sizeof(float) != 0)
    return run_error("{}: {} bytes are not a sequence of 32-bit floats", file.string(), size);
  std::vector<float> floats(size / sizeof(float));
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(floats.data()), static_cast<std::streamsize>(size));
  if (!stream) return run_error("{}: it cannot be read", file.string());
  return floats;
}

Result<CheckpointFolder> CheckpointFolder::open(std::filesystem::path folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return run_error("{}: {}", folder.string(), error.message());
  CheckpointFolder opened(std::move(folder));
  FL_TRY(opened.read());
  return opened;
}

Status CheckpointFolder::read() {
  const auto path = folder_ / kState;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return append_lines({});
  std::ostringstream text;
  text << stream.rdbuf();
  const auto state = nlohmann::json::parse(text.str(), nullptr, false);
  const auto damaged = [&] { return run_error("{}: it is damaged", path.string()); };
  if (!state.is_object()) return damaged();
  try {
    last_.round = state.at("round").get<std::uint64_t>();
    last_.done = state.at("done").get<std::uint64_t>();
    last_.total = state.at("total").get<std::uint64_t>();
    last_.speeds = state.at("speeds").get<std::map<std::string, double>>();
    log_bytes_ = state.at("rounds_bytes").get<std::uint64_t>();
    FL_TRY_ASSIGN(parameters, read_floats(folder_ / parameters_file()));
    last_.parameters = std::move(parameters);
    if (state.at("has_velocity").get<bool>()) {
      FL_TRY_ASSIGN(velocity, read_floats(folder_ / velocity_file(last_.round)));
      last_.velocity = std::move(velocity);
    }
  } catch (const nlohmann::json::exception&) {
    return damaged();
  }
  return append_lines({});  // rows outside it are dropped
}

std::string CheckpointFolder::parameters_file() const { return file_of(last_.round); }

std::string CheckpointFolder::velocity_file(std::uint64_t round) const {
  return fmt::format("velocity-{}.f32", round);
}

Status CheckpointFolder::append_lines(std::string_view lines) {
  const auto path = folder_ / kRounds;
  if (log_bytes_ == 0) {
    FL_TRY(write_file(kRounds, kHeader));
    log_bytes_ = kHeader.size();
  }
  FL_TRY_ASSIGN(file, append_to_file(path, log_bytes_));
  FL_TRY(file->append(bytes_of(lines)));
  FL_TRY(file->close());
  log_bytes_ += lines.size();
  return {};
}

Status CheckpointFolder::save(Checkpoint next, std::string_view lines) {
  const std::uint64_t before = last_.round;
  const std::uint64_t bytes_before = log_bytes_;
  Status written = [&]() -> Status {
    FL_TRY(append_lines(lines));
    FL_TRY(write_file(file_of(next.round), text_of(next.parameters)));
    if (!next.velocity.empty())
      FL_TRY(write_file(velocity_file(next.round), text_of(next.velocity)));
    const nlohmann::json state = {
        {"round", next.round},        {"done", next.done},
        {"total", next.total},        {"speeds", next.speeds},
        {"rounds_bytes", log_bytes_}, {"has_velocity", !next.velocity.empty()}};
    return write_file(kState, state.dump() + "\n");
  }();
  if (!written) {
    log_bytes_ = bytes_before;
    return written;
  }
  last_ = std::move(next);
  if (before == last_.round) return {};
  std::error_code ignored;
  std::filesystem::remove(folder_ / file_of(before), ignored);
  std::filesystem::remove(folder_ / velocity_file(before), ignored);
  return {};
}

// Writes a file so that after any crash it has either these bytes or the previous ones.
Status CheckpointFolder::write_file(const std::string& name, std::string_view bytes) const {
  const auto path = folder_ / name;
  const auto part = folder_ / (name + ".part");
  {
    const Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.is_open()) return system_error(part);
    for (std::string_view left = bytes; !left.empty();) {
      const ssize_t wrote = ::write(file.get(), left.data(), left.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return system_error(part);
      left.remove_prefix(static_cast<std::size_t>(wrote));
    }
    if (::fsync(file.get()) != 0) return system_error(part);
  }
  if (::rename(part.c_str(), path.c_str()) != 0) return system_error(path);
  const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::fsync(folder.get()) != 0) return system_error(folder_);
  return {};
}

}  // namespace fairlead
