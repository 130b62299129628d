#include "fairlead/report/journal_dump.h"

#include "fairlead/report/json_text.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead {
namespace {

// By the number of the kind.
constexpr std::array<std::string_view, std::variant_size_v<Record::What>> kKinds = {
    "run",       "user",     "node",        "arrived",    "rejected",    "finished", "failed",
    "cancelled", "evicted",  "gpus_down",   "gpus_up",    "stop",        "place",    "speed",
    "note",      "end",      "unsubmitted", "stopped",    "stop_failed", "started",  "start_failed",
    "held",      "released", "cordoned",    "uncordoned", "tickets",     "ignored",  "skipped",
    "snapshot",  "closed",   "reported",    "carried",    "group",       "pinned",   "forgotten",
    "profiled",  "charged"};

constexpr std::array<std::string_view, 67> kColumns = {"t_ms",
                                                       "kind",
                                                       "job",
                                                       "user",
                                                       "node",
                                                       "name",
                                                       "model",
                                                       "gpus",
                                                       "gpus_min",
                                                       "gpus_max",
                                                       "types",
                                                       "work_ms",
                                                       "submit_ms",
                                                       "reason",
                                                       "place",
                                                       "gang",
                                                       "rate",
                                                       "overhead_ms",
                                                       "locality",
                                                       "copy",
                                                       "share_num",
                                                       "share_den",
                                                       "reported",
                                                       "lost_ms",
                                                       "note",
                                                       "other_user",
                                                       "type",
                                                       "value",
                                                       "tickets",
                                                       "host",
                                                       "rack",
                                                       "seed",
                                                       "jobs",
                                                       "policy",
                                                       "options",
                                                       "cluster",
                                                       "trace",
                                                       "gpu_types",
                                                       "finished",
                                                       "failed",
                                                       "rejected",
                                                       "pending",
                                                       "unsubmitted",
                                                       "hold",
                                                       "retry_ms",
                                                       "cause",
                                                       "event",
                                                       "mask",
                                                       "state_bytes",
                                                       "left_ms",
                                                       "task_gpus",
                                                       "attained_gpu_ms",
                                                       "done_ms",
                                                       "group",
                                                       "quota",
                                                       "required_level",
                                                       "preferred_level",
                                                       "time_limit_ms",
                                                       "priority",
                                                       "partition",
                                                       "logged_start_ms",
                                                       "parameters_kb",
                                                       "gradients_kb",
                                                       "largest_tensor_kb",
                                                       "workers",
                                                       "samples",
                                                       "step_us"};

// The extras of jobs come last.
const std::vector<std::string_view>& columns() {
  static const std::vector<std::string_view> kAll = [] {
    std::vector<std::string_view> all(kColumns.begin(), kColumns.end());
    JobExtras::each(kSubmittedExtras,
                    [&](std::string_view name, const auto&, const auto&) { all.push_back(name); });
    return all;
  }();
  return kAll;
}

// The gang with the GPUs granted on each node.
struct Granted {
  Gang gang;
  std::span<const std::uint64_t> gpu_masks;

  template <class Write>
  void each_gpu(std::size_t slice, Write write) const {
    for (std::int64_t gpu = 0; gpu < 64; ++gpu) {
      if ((gpu_masks[slice] >> gpu & 1) != 0) write(gpu);
    }
  }
};

// A line of CSV: a value for each column.
class CsvLine {
 public:
  void put(std::string_view name, std::string_view text) { at(name) = std::string(text); }
  void put(std::string_view name, std::int64_t value) { at(name) = value; }
  void put(std::string_view name, Rate rate) { at(name) = rate.value(); }
  // "3:0+1 7:0": GPUs 0 and 1 of node 3, and GPU 0 of node 7.
  void put(std::string_view name, const Granted& granted) {
    std::string text;
    for (std::size_t i = 0; i < granted.gang.size(); ++i) {
      text += fmt::format("{}{}:", text.empty() ? "" : " ", granted.gang[i].node.row());
      granted.each_gpu(i, [&](std::int64_t gpu) {
        text += fmt::format("{}{}", text.back() == ':' ? "" : "+", gpu);
      });
    }
    put(name, text);
  }
  void put(std::string_view name, std::span<const std::string> texts) {
    std::string joined;
    for (const std::string& text : texts) joined += (joined.empty() ? "" : " ") + text;
    put(name, joined);
  }
  template <class Tag>
  void put(std::string_view name, Id<Tag> id) {
    if (!id.is_none()) put(name, static_cast<std::int64_t>(id.row()));
  }

  void write(CsvWriter& csv) const {
    for (const Cell& cell : cells_) {
      if (const auto* text = std::get_if<std::string>(&cell)) {
        csv.text(*text);
      } else if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
        csv.integer(*integer);
      } else if (const auto* number = std::get_if<double>(&cell)) {
        csv.number(*number, kDecimals);
      } else {
        csv.empty();
      }
    }
    csv.end_row();
  }

 private:
  static constexpr int kDecimals = 10;  // enough to distinguish all rates
  using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

  Cell& at(std::string_view name) {
    const auto column = std::ranges::find(columns(), name);
    FL_CHECK(column != columns().end(), "no column {}", name);
    return cells_[static_cast<std::size_t>(column - columns().begin())];
  }

  std::vector<Cell> cells_ = std::vector<Cell>(columns().size());
};

// The fields of a JSON object.
class JsonLine {
 public:
  explicit JsonLine(JsonText& json) : json_(json) {}

  void put(std::string_view name, std::string_view text) {
    json_.key(name);
    json_.text(text);
  }
  void put(std::string_view name, std::int64_t value) {
    json_.key(name);
    json_.integer(value);
  }
  void put(std::string_view name, Rate rate) {
    json_.key(name);
    json_.raw(fmt::format("{}", rate.value()));
  }
  void put(std::string_view name, const Granted& granted) {
    json_.key(name);
    json_.begin('[');
    for (std::size_t i = 0; i < granted.gang.size(); ++i) {
      json_.begin('{');
      put("node", granted.gang[i].node);
      json_.key("gpus");
      json_.begin('[');
      granted.each_gpu(i, [&](std::int64_t gpu) { json_.integer(gpu); });
      json_.end(']');
      json_.end('}');
    }
    json_.end(']');
  }
  void put(std::string_view name, std::span<const std::string> texts) {
    json_.column(name, texts, [&](const std::string& text) { json_.text(text); });
  }
  template <class Tag>
  void put(std::string_view name, Id<Tag> id) {
    json_.key(name);
    if (id.is_none()) return json_.null();
    json_.integer(static_cast<std::int64_t>(id.row()));
  }

 private:
  JsonText& json_;
};

void put_fields(auto& line, const record::Run& run) {
  line.put("seed", fmt::format("{}", run.seed));  // a text: JSON's numbers need not have 64 bits
  line.put("jobs", run.jobs);
  line.put("policy", run.policy);
  line.put("options", run.options);
  line.put("cluster", run.cluster);
  line.put("trace", run.trace);
  line.put("gpu_types", run.gpu_types);
}

void put_fields(auto& line, const record::Place& place) {
  line.put("job", place.job);
  line.put("place", place_kind_name(place.kind));
  line.put("gang", Granted{place.gang, place.gpu_masks});
  line.put("rate", place.rate);
  line.put("overhead_ms", place.overhead.ms);
  line.put("locality", place.locality);
  line.put("copy", place.copy);
  line.put("share_num", place.share_num);
  line.put("share_den", place.share_den);
  line.put("reported", place.is_reported);
}

void put_fields(auto& line, const record::Snapshot& snapshot) {
  line.put("policy", snapshot.policy);
  line.put("options", snapshot.options);
  line.put("state_bytes", std::ssize(snapshot.state));
}

void put_fields(auto& line, const Note& note) {
  const NoteFields fields = fields_of(note);
  line.put("note", note_info(note.index()).name);
  line.put("job", fields.job);
  line.put("user", fields.user);
  line.put("other_user", fields.other_user);
  line.put("type", fields.type);
  line.put("value", fields.value);
}

// Puts the fields that a kind lists.
template <class Line>
class Fields {
 public:
  explicit Fields(Line& line) : line_(line) {}

  void operator()(std::string_view name, Time value) { line_.put(name, value.ms); }
  void operator()(std::string_view name, Duration value) { line_.put(name, value.ms); }
  void operator()(std::string_view name, GpuTime value) {
    line_.put(name, saturated_gpu_ms(value));
  }
  void operator()(std::string_view name, const auto& value) { line_.put(name, value); }
  void unless(auto value, std::string_view name, const auto& field) {
    if (field != value) (*this)(name, field);
  }
  void extra(std::string_view name, const auto& field, const auto&) {
    if (field != 0) (*this)(name, field);
  }
  template <class Enum>
  void enumerator(std::string_view name, Enum value, std::size_t,
                  std::string_view (*name_of)(Enum)) {
    line_.put(name, name_of(value));
  }
  // The mask in hexadecimal, or "all".
  void mask(std::string_view name, std::uint64_t gpus) {
    line_.put(name, gpus == kAllGpus ? "all" : fmt::format("{:x}", gpus));
  }
  void job(const JobSpec& asked) { JobSpec::fields(asked, *this); }

 private:
  Line& line_;
};

template <class Line, class What>
void put_fields(Line& line, const What& what) {
  Fields<Line> visit(line);
  What::fields(what, visit);
}

void put_record(auto& line, const Record& record) {
  line.put("t_ms", record.t.ms);
  line.put("kind", kKinds[record.what.index()]);
  std::visit([&](const auto& what) { put_fields(line, what); }, record.what);
}

std::string header() {
  std::string text;
  for (std::string_view column : columns())
    text += fmt::format("{}{}", text.empty() ? "" : ",", column);
  return text;
}

}  // namespace

JournalDump::JournalDump(Form form, Output output) : output_(std::move(output)) {
  if (form == Form::kCsv) csv_.emplace(output_, header());
}

void JournalDump::on(const Record& record) { csv_ ? write_csv(record) : write_json(record); }

void JournalDump::write_csv(const Record& record) {
  CsvLine line;
  put_record(line, record);
  line.write(*csv_);
}

void JournalDump::write_json(const Record& record) {
  JsonText json(output_);
  json.begin('{');
  JsonLine line(json);
  put_record(line, record);
  json.end('}');
  json.flush();
  output_("\n");
}

}  // namespace fairlead
