// The disk of a SimIo: files in memory, of which a loss of power leaves what was synced.
//
// What was appended since the last sync is in the page cache: it outlives a crash of the daemon, and a
// loss of power keeps a random prefix of it, torn at any byte, sometimes with garbage behind. A file
// whose name was never synced may be gone, and one that was removed may be there again.
//
// Costs: O(log files) and the bytes.
#pragma once

#include "fairlead/base/rng.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

class SimDisk {
 public:
  explicit SimDisk(std::uint64_t seed) : rng_(seed) {}

  // While it is full, whatever would need room fails.
  void set_full(bool is_full) { is_full_ = is_full; }
  bool is_full() const { return is_full_; }

  // The whole file, durable. False: the disk is full, and the file is as it was.
  bool write(const std::string& name, std::string_view bytes);
  // Null: there is none. Valid until the file changes.
  const std::string* find(const std::string& name) const;
  void remove(const std::string& name);
  // The names of the files in `folder`, without it, sorted.
  std::vector<std::string> list(const std::string& folder) const;

  // Cuts a file after `bytes`, durably; makes it where there is none.
  void cut(const std::string& name, std::uint64_t bytes);
  // False: the disk is full, and only a random prefix was appended.
  bool append(const std::string& name, std::span<const std::uint8_t> bytes);
  // As append(), of a process that is killed in the middle of it.
  void append_part(const std::string& name, std::span<const std::uint8_t> bytes);
  // False: the disk is full; what was not synced before is not synced now.
  bool sync(const std::string& name);

  void lose_power();
  // REQUIRES: there is such a file, and it has that bit.
  void flip_bit(const std::string& name, std::uint64_t bit);

 private:
  struct File {
    std::string bytes;
    std::size_t synced = 0;  // of them, from the beginning
    bool is_name_synced = false;
  };
  // Returns false if nothing is left of the file.
  bool lose_power(File& file);

  std::map<std::string, File, std::less<>> files_;
  std::map<std::string, File> removed_;  // whose removal is not durable yet
  bool is_full_ = false;
  Rng rng_;
};

}  // namespace fairlead
