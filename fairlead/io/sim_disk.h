// The disk of a SimIo: files in memory; a loss of power keeps only synced bytes.
//
// Bytes appended since the last sync are in the page cache: they survive a crash of the daemon. A loss of power keeps a
// random prefix of them, torn at any byte, sometimes with garbage behind. A file whose name was never synced may
// vanish, and a removed file may reappear.
//
// Cost: O(log files) and the bytes.
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

  // Makes every call that needs room fail while the disk is full.
  void set_full(bool is_full) { is_full_ = is_full; }
  bool is_full() const { return is_full_; }

  // Writes the whole file durably. False: the disk is full, and the file is unchanged.
  bool write(const std::string& name, std::string_view bytes);
  // Returns null if there is no such file. Valid until the file changes.
  const std::string* find(const std::string& name) const;
  void remove(const std::string& name);
  // Returns the names of the files in `folder`, without the folder, sorted.
  std::vector<std::string> list(const std::string& folder) const;

  // Truncates a file to `bytes`, durably; creates it if there is none.
  void cut(const std::string& name, std::uint64_t bytes);
  // False: the disk is full, and only a random prefix was appended.
  bool append(const std::string& name, std::span<const std::uint8_t> bytes);
  // Appends like a process that is killed in the middle of append().
  void append_part(const std::string& name, std::span<const std::uint8_t> bytes);
  // False: the disk is full; unsynced bytes stay unsynced.
  bool sync(const std::string& name);

  void lose_power();
  // REQUIRES: there is such a file, and it has that bit.
  void flip_bit(const std::string& name, std::uint64_t bit);

 private:
  struct File {
    std::string bytes;
    std::size_t synced = 0;  // the leading bytes that are synced
    bool is_name_synced = false;
  };
  // Returns false if nothing is left of the file.
  bool lose_power(File& file);

  std::map<std::string, File, std::less<>> files_;
  std::map<std::string, File> removed_;  // removed, but not yet durably
  bool is_full_ = false;
  Rng rng_;
};

}  // namespace fairlead
