// Messages between a tracker and the copies on other machines, over TCP: a line of text each, with the content of a file
// if it is about one.
//
// A message is "LINE_BYTES CONTENT_BYTES\n", the line and the content. Our own format.
#pragma once

#include "fairlead/io/descriptor.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct CopyMessage {
  std::string line;
  std::string content;
};

// Writes the content of a message to a file. Returns false if that fails.
bool write_content(const std::filesystem::path& file, std::string_view content);

class CopyStream {
 public:
  // Takes a connected socket. A message to come has at most `bytes_max` bytes, until allow_any_size().
  explicit CopyStream(Descriptor socket, std::uint64_t bytes_max = kGreetingBytesMax);
  static constexpr std::uint64_t kGreetingBytesMax = 4096;

  void allow_any_size();
  // Sends later, without waiting.
  void send(std::string_view line, std::string_view content = {});
  // Adds the socket with the events that pump() needs; a closed one has an event at once.
  void add_file(std::vector<pollfd>& files) const;
  // Writes and reads as much as there is without waiting.
  void pump();
  // Returns the next message that has arrived whole.
  std::optional<CopyMessage> take();
  // Returns whether the other side has closed, or a message was malformed or too large.
  bool is_closed() const { return is_closed_; }
  bool has_sent_all() const { return sent_ == out_.size(); }

 private:
  void write_more();
  void read_more();
  void refuse();

  Descriptor socket_;
  std::uint64_t bytes_max_;
  bool is_closed_ = false;
  std::string out_;
  std::size_t sent_ = 0;
  std::string in_;
};

}  // namespace fairlead
