// The output of a container in the files of its node's kubelet.
//
//   FOLDER/N.log    N counts the container's restarts; each line is "TIMESTAMP stdout|stderr F|P text"
//
// The format is of the container runtime interface (CRI), as containerd and CRI-O write it. A part of a line has P and
// continues with the next text of its stream, because runtimes cut lines at 16 KiB. A bar that is drawn again and again
// without the end of a line has such parts only. Kubelets rotate the file: they rename it, and the runtime begins another
// of the same name. Some tools cut it off instead.
//
// Symbolic links are not followed, because this runs as root.
#pragma once

#include "fairlead/io/descriptor.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace fairlead {

class PodOutput {
 public:
  explicit PodOutput(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Text {
    std::string lines{};   // complete ones, with their ends: "\n" or "\r"
    bool is_new = false;   // the container was started again: these are the first lines
    bool has_gap = false;  // lines before these were left out
  };
  // Returns the text since the last call, at most the last 16 kOutputBytesMax of the file. O(bytes + files of the
  // folder).
  Text read();

 private:
  // Reads the open file to its end.
  void read_on(Text& text);
  void take(std::string_view bytes, Text& text);
  void add(std::string_view line, Text& text);
  bool open(const std::filesystem::path& path);

  std::filesystem::path folder_;
  std::int64_t number_ = -1;  // the number of the open file; -1: none is open
  Descriptor file_;
  std::uint64_t offset_ = 0;            // in the file
  std::array<std::string, 2> begun_{};  // the unfinished line of stdout, and of stderr
};

}  // namespace fairlead
