// Microsoft Philly's cluster_job_log. GPUs: those of the last attempt with any. Duration: the sum of
// the attempts that have both times, of whatever status. Times are US Pacific local time
// (civil_time.h); an attempt that seems to end before it began, within the hour that occurs twice,
// ended in its second pass.

// Microsoft Philly's cluster_job_log (Jeon et al., ATC 2019): an array of jobs, read as a stream of
// JSON events, so that memory does not grow with the log.
#include "fairlead/input/civil_time.h"
#include "fairlead/trace/json_source.h"
#include "fairlead/trace/readers/readers.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <istream>
#include <optional>
#include <string>
#include <utility>

namespace fairlead {
namespace {

// A text value and its end.
struct Value {
  std::string text;  // "None" and null are empty
  std::int64_t line = 0;
  std::int64_t column = 0;
};

struct Attempt {
  Value start, end;
  std::int64_t gpus = 0;
};

struct Job {
  Value id, user, vc, submitted, status;
  std::int64_t line = 0;
  std::int64_t column = 0;
  Duration ran;
  bool any_attempt = false;  // that has both times
  std::int64_t gpus = 0;
};

// Receives the parser's events. The nesting is fixed, so the level identifies a container; containers outside the
// schema are skipped as a whole.
class PhillyLog : public nlohmann::json_sax<nlohmann::json> {
 public:
  PhillyLog(SourceBuffer& buffer, std::string_view file, WorkloadBuilder& builder)
      : buffer_(buffer), file_(file), builder_(builder) {}

  const Status& status() const { return status_; }

  bool start_object(std::size_t) override {
    const bool known = level_ == kJobs || level_ == kAttempts || level_ == kDetail;
    if (skipped_ > 0 || !known) return skip();
    ++level_;
    if (level_ == kJob) begin_job();
    if (level_ == kAttempt) attempt_ = {};
    return true;
  }
  bool end_object() override {
    if (skipped_ > 0) return --skipped_, true;
    const Level ended = level_--;
    if (ended == kAttempt) end_attempt();
    if (ended == kJob) end_job();
    return status_.has_value();
  }
  bool start_array(std::size_t) override {
    const bool known = level_ == kTop || (level_ == kJob && key_ == "attempts") ||
                       (level_ == kAttempt && key_ == "detail") ||
                       (level_ == kServer && key_ == "gpus");
    if (skipped_ > 0 || !known) return skip();
    ++level_;
    return true;
  }
  bool end_array() override {
    if (skipped_ > 0) return --skipped_, true;
    --level_;
    return true;
  }
  bool key(string_t& name) override {
    if (skipped_ == 0) key_ = name;
    return true;
  }
  bool string(string_t& text) override {
    if (skipped_ > 0 || level_ <= kJobs) return scalar();
    if (level_ == kGpus) ++attempt_.gpus;
    if (Value* value = field()) set(*value, text);
    return true;
  }
  bool null() override { return scalar(); }
  bool boolean(bool) override { return scalar(); }
  bool number_integer(number_integer_t) override { return scalar(); }
  bool number_unsigned(number_unsigned_t) override { return scalar(); }
  bool number_float(number_float_t, const string_t&) override { return scalar(); }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string& token,
                   const nlohmann::json::exception&) override {
    status_ = input_error("{}: this is not JSON: {}", buffer_.where().text(),
                          std::string_view(token).substr(0, 40));
    return false;
  }

 private:
  using Level = int;
  static constexpr Level kTop = 0, kJobs = 1, kJob = 2, kAttempts = 3, kAttempt = 4, kDetail = 5,
                         kServer = 6, kGpus = 7;

  // Handles a value of no field: ignored inside a job, an error in place of the array of jobs.
  bool scalar() {
    if (skipped_ > 0 || level_ > kJobs) return true;
    const Where here = buffer_.where();
    status_ = level_ == kTop ? input_error("{}: the log must be an array of jobs", here.text())
                             : builder_.reject("job must be an object", here, "");
    return status_.has_value();
  }
  bool skip() {
    const bool go_on = scalar();
    ++skipped_;
    return go_on;
  }

  void begin_job() {
    const Where here = buffer_.where();
    job_ = {};
    job_.line = here.line;
    job_.column = here.column;
  }

  // The field of the schema that the current key names, if any.
  Value* field() {
    if (level_ == kAttempt && key_ == "start_time") return &attempt_.start;
    if (level_ == kAttempt && key_ == "end_time") return &attempt_.end;
    if (level_ != kJob) return nullptr;
    if (key_ == "jobid") return &job_.id;
    if (key_ == "user") return &job_.user;
    if (key_ == "vc") return &job_.vc;
    if (key_ == "submitted_time") return &job_.submitted;
    if (key_ == "status") return &job_.status;
    return nullptr;
  }

  // The parser has consumed the closing quote; the value started as many columns earlier, unless it was written with
  // escapes.
  void set(Value& value, const std::string& text) {
    const Where here = buffer_.where();
    const auto width = static_cast<std::int64_t>(text.size()) + 1;
    value.text = text == "None" ? "" : text;
    value.line = here.line;
    value.column = std::max<std::int64_t>(1, here.column - width);
  }

  // Remembers the job's first bad time; the job is reported when it ends.
  std::optional<WallTime> time(const Value& value) {
    const Parsed<WallTime> parsed = parse_wall_time(value.text);
    if (parsed) return *parsed;
    if (bad_time_.text.empty()) bad_time_ = value;
    return std::nullopt;
  }

  void end_attempt() {
    if (attempt_.gpus > 0) job_.gpus = attempt_.gpus;
    if (attempt_.start.text.empty() || attempt_.end.text.empty()) return;
    const auto start = time(attempt_.start);
    const auto end = time(attempt_.end);
    if (!start || !end) return;
    Duration ran = pacific_to_utc(*end) - pacific_to_utc(*start);
    if (ran.ms < 0) ran += second_pass(*end);
    if (ran.ms < 0 && bad_time_.text.empty()) bad_time_ = attempt_.end;
    job_.any_attempt = true;
    // The sum over a crafted log must not overflow; a longer time is rejected anyway.
    job_.ran = {std::min(job_.ran.ms + ran.ms, kMsMax + 1)};
  }

  // Returns how much later the wall clock shows `wall` again: an hour if it does.
  static Duration second_pass(WallTime wall) {
    const Duration to_next = pacific_to_utc({wall.ms + 3'600'000}) - pacific_to_utc(wall);
    return to_next > hours(1) ? hours(1) : Duration{0};
  }

  void end_job() {
    const Value bad = std::exchange(bad_time_, {});
    const Where here(file_, job_.line, job_.column);
    const auto submitted = parse_wall_time(job_.submitted.text);
    if (!bad.text.empty()) {
      status_ = builder_.reject("attempt must have times, the end not before the start",
                                Where(file_, bad.line, bad.column), bad.text);
    } else if (!submitted) {
      status_ = reject_submission();
    } else if (!job_.any_attempt) {
      status_ = builder_.reject("no attempt that started and ended", here, job_.id.text);
    } else if (job_.gpus == 0) {
      builder_.skip("no GPU");
    } else {
      status_ = builder_.add(row(pacific_to_utc(*submitted)), here);
    }
  }

  Status reject_submission() {
    const Value& value = job_.submitted;
    const bool given = !value.text.empty();
    return builder_.reject(
        "submitted_time must be a time, such as 2017-10-09 07:01:59",
        Where(file_, given ? value.line : job_.line, given ? value.column : job_.column),
        given ? value.text : job_.id.text);
  }

  JobRow row(Time submit) const {
    JobRow row;
    row.id = job_.id.text;
    row.user = job_.user.text.empty() ? job_.vc.text : job_.user.text;
    row.gpus = job_.gpus;
    row.submit = submit;
    row.duration = job_.ran;
    row.state = job_.status.text;
    row.columns.id = job_.column;
    return row;
  }

  SourceBuffer& buffer_;
  std::string_view file_;
  WorkloadBuilder& builder_;
  Status status_;
  Level level_ = kTop;
  std::size_t skipped_ = 0;  // containers open that are not part of the schema
  std::string key_;
  Job job_;
  Attempt attempt_;
  Value bad_time_;  // bad time of the current job; empty text: none
};

// The only JSON: an array of objects.
bool is_philly(const TraceHead& head) { return head.first_byte() == '['; }

Status read_philly(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  SourceBuffer buffer(source);
  std::istream stream(&buffer);
  PhillyLog log(buffer, source.name(), builder);
  nlohmann::json::sax_parse(stream, &log);
  if (buffer.error()) return tl::unexpected(*buffer.error());
  FL_TRY(log.status());
  builder.say_times("US Pacific local time");
  builder.start_at_zero();
  return {};
}

}  // namespace

const TraceFormat kPhillyFormat = {
    .name = "philly",
    .file = "Microsoft Philly, `cluster_job_log` (JSON)",
    .needs = "",
    .reading = Reading::kLenient,
    .rank = 0,
    .is = &is_philly,
    .read = &read_philly,
};

}  // namespace fairlead
