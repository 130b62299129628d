#include "case_file.h"

#include "fairlead/base/parse.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

namespace fairlead {
namespace {

// "1h10m", "90s", "1.5s".
Result<std::int64_t> parse_ms(std::string_view text) {
  const std::map<std::string_view, double> units = {
      {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
  std::string_view rest = text;
  std::int64_t sum = 0;
  while (!rest.empty()) {
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
    const auto number = parse_number(rest.substr(0, digits));
    rest.remove_prefix(digits);
    const std::size_t letters = std::min(rest.find_first_of("0123456789."), rest.size());
    const auto unit = units.find(rest.substr(0, letters));
    if (!number || unit == units.end()) return input_error("not a time: {}", text);
    sum += static_cast<std::int64_t>(*number * unit->second);
    rest.remove_prefix(letters);
  }
  return sum;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word && !word.starts_with('#');) words.push_back(word);
  return words;
}

Result<WorldJob> parse_job(const std::vector<std::string>& words) {
  if (words.size() < 8 || words.size() % 2 != 0 || words[2] != "gpus" || words[4] != "arrive" ||
      words[6] != "work") {
    return input_error(
        "write: job NAME gpus N arrive TIME work TIME [user NAME] [tickets N] [model NAME]");
  }
  const auto gpus = parse_integer(words[3]);
  if (!gpus || *gpus < 1) return input_error("not a number of GPUs: {}", words[3]);
  FL_TRY_ASSIGN(submit_ms, parse_ms(words[5]));
  FL_TRY_ASSIGN(work_ms, parse_ms(words[7]));
  WorldJob job;
  job.submit = {submit_ms};
  job.gpus = static_cast<std::uint32_t>(*gpus);
  job.work = {work_ms};
  for (std::size_t i = 8; i < words.size(); i += 2) {
    if (words[i] == "user") {
      job.user = words[i + 1];
    } else if (words[i] == "model") {
      job.model = words[i + 1];
    } else if (words[i] == "tickets") {
      const auto tickets = parse_integer(words[i + 1]);
      if (!tickets || *tickets < 1) return input_error("not a number of tickets: {}", words[i + 1]);
      job.tickets = *tickets;
    } else {
      return input_error("no such part of a job: {}", words[i]);
    }
  }
  return job;
}

Result<NodeOutage> parse_outage(const std::vector<std::string>& words) {
  if (words.size() != 4 || !words[1].starts_with('n')) {
    return input_error("write: outage nNUMBER TIME TIME");
  }
  const auto node = parse_integer(std::string_view(words[1]).substr(1));
  if (!node) return input_error("not a node: {}", words[1]);
  FL_TRY_ASSIGN(down_ms, parse_ms(words[2]));
  FL_TRY_ASSIGN(up_ms, parse_ms(words[3]));
  return NodeOutage{NodeId(static_cast<std::size_t>(*node)), {down_ms}, {up_ms}};
}

// Racks cannot be said in the shorthand, so they become a cluster file.
std::string cluster_of(const std::vector<std::string>& words, const std::string& name) {
  if (words.size() == 2) return words[1];
  const std::string path =
      fmt::format("{}golden-{}.yaml", (std::filesystem::temp_directory_path() / "").string(), name);
  std::ofstream file(path);
  file << "racks:\n";
  for (std::size_t i = 1; i < words.size(); i += 2) {
    const std::string& rack = words[i];  // "2xV100:4"
    const std::size_t x = rack.find('x');
    const std::size_t colon = rack.find(':');
    file << fmt::format("  - nodes: {{count: {}, gpu_type: {}, gpus: {}}}\n", rack.substr(0, x),
                        rack.substr(x + 1, colon - x - 1), rack.substr(colon + 1));
  }
  return path;
}

Status add_line(Case& golden, const std::vector<std::string>& words, const std::string& name) {
  if (words[0] == "cluster" && words.size() >= 2) {
    golden.world.cluster = cluster_of(words, name);
  } else if (words[0] == "policy" && words.size() == 2) {
    golden.policy = words[1];
  } else if (words[0] == "job") {
    FL_TRY_ASSIGN(job, parse_job(words));
    golden.world.jobs.push_back(job);
    golden.job_names.push_back(words[1]);
  } else if (words[0] == "outage") {
    FL_TRY_ASSIGN(outage, parse_outage(words));
    golden.world.settings.faults.outages.push_back(outage);
  } else if (words[0] == "until" && words.size() == 2) {
    FL_TRY_ASSIGN(until_ms, parse_ms(words[1]));
    golden.world.until = {until_ms};
  } else if (words[0] == "show" && words.size() == 2 && words[1] == "pass") {
    golden.shows_passes = true;
  } else if (words[0] == "show" && words.size() == 2 && words[1] == "trades") {
    golden.shows_trades = true;
  } else {
    return input_error("no such line: {}", words[0]);
  }
  return {};
}

std::string gang_text(Gang gang) {
  std::string text;
  for (Slice slice : gang) {
    text += fmt::format("{}n{}:{}", text.empty() ? "" : " ", slice.node.row(), slice.gpus);
  }
  return text;
}

class EventLines : public RecordSink {
 public:
  explicit EventLines(const Case& golden)
      : job_names_(golden.job_names),
        shows_passes_(golden.shows_passes),
        shows_trades_(golden.shows_trades) {}

  void on(const Record& record) override {
    switch (record.kind) {
      case RecordKind::kUser:
        user_names_.emplace_back(record.name);
        return;
      case RecordKind::kPlace:
        return add(record, record.job,
                   (record.copy == 0 ? "place  " : "copy   ") + gang_text(record.gang));
      case RecordKind::kStop:
        return add(record, record.job, "stop");
      case RecordKind::kEvicted:
        return add(record, record.job, "evicted");
      case RecordKind::kFinished:
        return add(record, record.job, "finish");
      case RecordKind::kRejected:
        return add(record, record.job, fmt::format("rejected  {}", record.reason));
      case RecordKind::kNote:
        return add_note(record);
      case RecordKind::kEnd:
        if (record.counts.pending > 0) {
          lines.push_back(fmt::format("the end  {} pending", record.counts.pending));
        }
        return;
      default:
        return;
    }
  }
  std::vector<std::string> lines;

 private:
  void add(const Record& record, JobId job, const std::string& what) {
    const std::string time = fmt::format("{}s", to_seconds(record.t));
    lines.push_back(fmt::format("{:<8} {:<3} {}", time, job_names_[job.row()], what));
  }
  void add_note(const Record& record) {
    const Note& note = record.note;
    if (note.kind == NoteKind::kQueue) {
      add(record, note.job, fmt::format("queue  {}", note.value));
    } else if (note.kind == NoteKind::kPass && shows_passes_) {
      add(record, note.job, fmt::format("pass  {}", scaled_value(note)));
    } else if (note.kind == NoteKind::kTrade && shows_trades_) {
      lines.push_back(fmt::format("{:<8} {} sells {} GPUs of type {} to {}",
                                  fmt::format("{}s", to_seconds(record.t)),
                                  user_names_[note.user.row()], scaled_value(note), note.type.row(),
                                  user_names_[note.other_user.row()]));
    } else if (note.kind == NoteKind::kPrice && shows_trades_) {
      lines.back() += fmt::format(" for {} each", scaled_value(note));
    }
  }

  const std::vector<std::string>& job_names_;
  const bool shows_passes_;
  const bool shows_trades_;
  std::vector<std::string> user_names_;
};

}  // namespace

Result<Case> read_case(const std::filesystem::path& path) {
  std::ifstream file(path);
  Case golden;
  golden.world.settings.faults.checkpoint_interval = {};
  std::int64_t number = 0;
  bool in_head = true;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (!in_head) {
      if (!words.empty()) golden.expected.push_back(line.substr(line.find_first_not_of(' ')));
      continue;
    }
    golden.head += line + "\n";
    if (words.empty()) continue;
    in_head = words[0] != "expect";
    if (!in_head) continue;
    if (Status status = add_line(golden, words, path.stem().string()); !status) {
      return input_error("{}:{}: {}", path.string(), number, status.error().message);
    }
  }
  if (in_head) return input_error("{}: it has no line \"expect\"", path.string());
  return golden;
}

std::vector<std::string> timeline(const Case& golden) {
  EventLines lines(golden);
  const Outcome outcome = run(golden.world, policy_named(golden.policy), {}, &lines);
  for (const std::string& problem : outcome.problems) lines.lines.push_back("audit: " + problem);
  return lines.lines;
}

std::string with_timeline(const Case& golden, const std::vector<std::string>& lines) {
  std::string text = golden.head;
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

}  // namespace fairlead
