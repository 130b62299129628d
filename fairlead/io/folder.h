// The daemon's folder: locked by one daemon at a time, with files that appear complete.
//
// Users pass through it to their own files (0711); they can neither list nor read anything else. The caller's umask
// must be 077.
#pragma once

#include "fairlead/base/append_file.h"
#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/io/descriptor.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Makes a folder that users pass through, if it is not there.
Status make_passage(const std::filesystem::path& path);

class Folder {
 public:
  // Creates and locks the folder. Error: another daemon, named in the error, has it; or it cannot be created.
  static Result<Folder> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }

  // Like the functions of Io.
  Status write(const std::string& name, std::string_view bytes) const;
  Result<std::string> read(const std::string& name) const;
  void remove(const std::string& name) const;
  std::vector<std::string> list(const std::string& folder) const;
  Result<ByteSource> stream(const std::string& name) const;
  Result<std::unique_ptr<AppendFile>> append_to(const std::string& name, std::uint64_t bytes) const;

 private:
  Folder(std::filesystem::path path, Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_of(const std::string& name) const;
  Status make_parent(const std::filesystem::path& path) const;

  std::filesystem::path path_;
  Descriptor lock_;
};

}  // namespace fairlead
