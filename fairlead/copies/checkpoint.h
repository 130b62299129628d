// The progress of a job that trains as copies, in files that stay consistent if it is killed at any instant.
//
// checkpoint.json names the files with the parameters and the momentum, which were on the disk before it. It also gives
// the length of rounds.csv; a longer file is truncated when it is read. Our own format. Each call: O(parameters).
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Reads parameters from a file: 32-bit floats, little-endian, one after the other. Error: no such file, or its size is
// not a multiple of theirs.
Result<std::vector<float>> read_floats(const std::filesystem::path& file);

struct Checkpoint {
  std::uint64_t round = 0;  // the next
  std::uint64_t done = 0;   // steps contained in the parameters
  std::uint64_t total = 0;  // steps of the job; 0: not known yet
  // Steps per second, by the GPU type of a copy.
  std::map<std::string, double> speeds;
  std::vector<float> parameters;  // empty: training has not started
  std::vector<float> velocity;    // velocity of the outer momentum; empty before the first round
};

// The folder of one job.
class CheckpointFolder {
 public:
  // Opens the folder, or creates it. Error: it cannot be created, or its content is damaged.
  static Result<CheckpointFolder> open(std::filesystem::path folder);

  const std::filesystem::path& path() const { return folder_; }
  // Returns the checkpoint that was saved last.
  const Checkpoint& last() const { return last_; }
  // Returns the file with which the next round starts, below the folder: parameters-12.f32.
  std::string parameters_file() const;
  // Appends `lines` to rounds.csv and keeps `next`; a kill leaves both or neither. Error: the disk is full or broken;
  // the previous checkpoint is intact.
  Status save(Checkpoint next, std::string_view lines);

 private:
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Status read();
  Status write_file(const std::string& name, std::string_view bytes) const;
  Status append_lines(std::string_view lines);
  std::string velocity_file(std::uint64_t round) const;

  std::filesystem::path folder_;
  Checkpoint last_;
  std::uint64_t log_bytes_ = 0;  // size of rounds.csv, bytes
};

}  // namespace fairlead
