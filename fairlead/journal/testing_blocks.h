// Files of blocks for tests: written, read as bytes, taken apart and put together again.
#pragma once

#include "fairlead/journal/blocks.h"
#include "fairlead/journal/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace fairlead {

// A path of its own, whose file is removed at the end.
class ScratchFile {
 public:
  ScratchFile() {
    static int serial = 0;
    path_ = std::filesystem::path(testing::TempDir()) /
            fmt::format("fairlead_{}_{}.flj", ::getpid(), serial++);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void write(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::filesystem::path path_;
};

inline Result<BlockReader> reader_of(std::string_view bytes) {
  Result<ByteSource> source = ByteSource::memory(bytes, "the file");
  return BlockReader::read(std::move(*source));
}

// The blocks of a whole file, each with its header.
inline std::vector<std::string> blocks_of(const std::string& bytes) {
  std::vector<std::string> blocks;
  Result<BlockReader> reader = reader_of(bytes);
  for (std::size_t begin = kBlocksMagic.size(); *reader->next(); begin = reader->bytes()) {
    blocks.push_back(bytes.substr(begin, reader->bytes() - begin));
  }
  return blocks;
}

inline std::string file_of(const std::vector<std::string>& blocks) {
  std::string bytes(kBlocksMagic);
  for (const std::string& block : blocks) bytes += block;
  return bytes;
}

}  // namespace fairlead
