#include "fairlead/torture/apart.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace fairlead {
namespace {

using nlohmann::json;

std::string outcome_text(const WorldOutcome& outcome) {
  return json{{"problem", outcome.problem},
              {"calls", outcome.calls},
              {"at", outcome.at.ms},
              {"crashes", crashes_text(outcome.crashes)},
              {"openings", outcome.openings},
              {"jobs", outcome.jobs},
              {"tasks", outcome.tasks},
              {"compared", outcome.compared},
              {"coverage", outcome.coverage.text()}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

WorldOutcome parse_outcome(const json& text) {
  return {
      .problem = text["problem"].get<std::string>(),
      .calls = text["calls"].get<std::uint64_t>(),
      .at = {text["at"].get<std::int64_t>()},
      .crashes = parse_crashes(text["crashes"].get<std::string>()).value_or(std::vector<Crash>()),
      .openings = text["openings"].get<std::uint64_t>(),
      .jobs = text["jobs"].get<std::uint64_t>(),
      .tasks = text["tasks"].get<std::uint64_t>(),
      .compared = text["compared"].get<std::uint64_t>(),
      .coverage = Coverage::parse(text["coverage"].get<std::string>()).value_or(Coverage())};
}

// All that is written until the other end is closed.
std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
  }
}

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR) return;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

}  // namespace

WorldOutcome torture_apart(std::uint64_t seed, const WorldLimits& limits) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {.problem = "no pipe"};
  const pid_t child = ::fork();
  if (child == 0) {
    // The parent ends with the outcomes so far, including the world that is under way.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    ::dup2(ends[1], STDERR_FILENO);
    const std::string text = outcome_text(torture(seed, limits));
    write_all(ends[1], "\n" + text);
    ::_exit(0);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return {.problem = "no process"};
  }
  const std::string text = last_line(read_all(ends[0]));
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const json outcome = json::parse(text, nullptr, false);
  if (outcome.is_object()) return parse_outcome(outcome);
  return {.problem = "it aborts: " + text};
}

}  // namespace fairlead
