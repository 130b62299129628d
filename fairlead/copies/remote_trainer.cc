#include "fairlead/copies/remote_trainer.h"

#include "fairlead/base/parse.h"
#include "fairlead/shim/files.h"

#include <fmt/format.h>

#include <poll.h>

namespace fairlead {
namespace {

constexpr double kEndS = 600;  // for the evaluation of the result

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const std::size_t space = std::min(line.find(' '), line.size());
    words.emplace_back(line.substr(0, space));
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  return words;
}

}  // namespace

void RemoteTrainer::tell(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  const bool makes = words.size() == 5 && words[0] == "make";
  if (makes) {
    answer_file_ = words[4];
    std::error_code error;  // an answer without a file must not find the last one
    std::filesystem::remove(folder_ / answer_file_, error);
  }
  const std::string& from = makes ? words[3] : words.back();
  stream_.send(line, from == "-" ? "" : shim::read_file((folder_ / from).string()).value_or(""));
  stream_.pump();
}

bool RemoteTrainer::has_ended() {
  stream_.pump();
  return exit_code_.has_value() || stream_.is_closed();
}

std::optional<std::string> RemoteTrainer::line() {
  stream_.pump();
  std::optional<CopyMessage> message = stream_.take();
  if (!message) return std::nullopt;
  if (message->line.starts_with("ended ")) {
    exit_code_ = static_cast<int>(parse_integer(message->line.substr(6)).value_or(1));
    return std::nullopt;  // its last message
  }
  if (!message->content.empty() && !write_content(folder_ / answer_file_, message->content))
    return fmt::format("{}: its file cannot be written", message->line);
  return message->line;
}

int RemoteTrainer::reap() {
  const double until_s = now_s_() + kEndS;
  for (;;) {
    const bool is_over = has_ended();
    while (line()) {
    }
    const double left_s = until_s - now_s_();
    if (is_over || exit_code_ || left_s <= 0) break;
    std::vector<pollfd> files;
    stream_.add_file(files);
    ::poll(files.data(), files.size(), static_cast<int>(left_s * 1000));
  }
  return exit_code_.value_or(kLostTrainer);
}

}  // namespace fairlead
