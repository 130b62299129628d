// The Standard Workload Format 2.2 of Feitelson's Parallel Workloads Archive: a line of 18 fields for each job, in
// which -1 stands for unknown, and comments after ';'. The comments' content, for example MaxProcs, is ignored.
//
// GPUs: a processor counts as one. A job asks for its requested number or, if that is unknown, for the allocated
// number.
//
// Time: a job counts with its running time, however it ended. Logs in whole seconds write 0 for less than half a
// second; it is taken as 0.5 s. Submissions are on the log's own clock, which is not shifted: an excerpt of a log
// starts late.
//
// Left out: cancelled jobs (status 5) that ran for no time; jobs with an unknown submission, run time or number of
// processors; and status 2, 3 and 4, the parts of a job that was swapped out, which has a line with 0 or 1 for the
// whole.
//
// The user is the user id. The model is the number of the executable: facts about one run of a program hold for the
// next, and a table of models may give speeds for it. Wait time, requested time and partition are kept for policies
// that stand for the scheduler of the log.

#include "fairlead/base/parse.h"
#include "fairlead/trace/readers/readers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {
namespace {

constexpr std::size_t kFields = 18;
constexpr std::int64_t kUnknown = -1;
constexpr std::int64_t kCancelled = 5;

struct Field {
  std::size_t at;  // from 0; the format's description counts from 1
  std::string_view name;
};
constexpr Field kJob = {0, "job number"};
constexpr Field kSubmit = {1, "submit time"};
constexpr Field kWait = {2, "wait time"};
constexpr Field kRunTime = {3, "run time"};
constexpr Field kAllocated = {4, "allocated processors"};
constexpr Field kRequested = {7, "requested processors"};
constexpr Field kRequestedTime = {8, "requested time"};
constexpr Field kStatus = {10, "status"};
constexpr Field kUser = {11, "user id"};
constexpr Field kExecutable = {13, "executable number"};
constexpr Field kPartition = {15, "partition number"};

// Names the states of rows that are jobs.
std::string_view state_name(std::int64_t status) {
  if (status == 0) return "failed";
  if (status == 1) return "completed";
  return status == kCancelled ? "cancelled" : "unknown";
}

struct Piece {
  std::string_view text;
  std::int64_t column = 0;
};

// Splits at blanks. `pieces` is the caller's, so that a million lines allocate once.
void split(std::string_view line, std::vector<Piece>& pieces) {
  constexpr std::string_view kBlanks = " \t";
  pieces.clear();
  for (std::size_t end = 0;;) {
    const std::size_t begin = line.find_first_not_of(kBlanks, end);
    if (begin == line.npos) return;
    end = std::min(line.find_first_of(kBlanks, begin), line.size());
    pieces.push_back({line.substr(begin, end - begin), static_cast<std::int64_t>(begin) + 1});
  }
}

// A row keeps the first reason why it is bad, like a CsvReader's. CsvReader supports neither runs of blanks nor
// comments.
class SwfReader {
 public:
  explicit SwfReader(ByteSource& source) : lines_(source) {}

  Status read(WorkloadBuilder& builder) {
    for (;;) {
      FL_TRY_ASSIGN(more, lines_.next());
      if (!more) return {};
      const std::string_view line = trimmed(lines_.line());
      if (!line.empty() && line.front() != ';') FL_TRY(take(builder));
    }
  }

 private:
  Status take(WorkloadBuilder& builder) {
    reason_.clear();
    skipped_ = false;
    bad_ = {};
    split(lines_.line(), pieces_);
    if (pieces_.size() != kFields) reason_ = fmt::format("row must have {} fields", kFields);
    const JobRow row = reason_.empty() ? row_of() : JobRow();
    const Where where(lines_.name(), lines_.number(), bad_.column);
    if (reason_.empty()) return builder.add(row, where);
    if (!skipped_) return builder.reject(reason_, where, bad_.text);
    builder.skip(reason_);
    return {};
  }

  JobRow row_of() {
    const std::int64_t status = integer(kStatus);
    if (status >= 2 && status <= 4) skip("part of a job");
    JobRow row;
    integer(kJob);
    row.id = pieces_[kJob.at].text;
    row.submit = Time{0} + seconds(kSubmit, "submit time unknown");
    row.duration =
        seconds(kRunTime, status == kCancelled ? "cancelled before it ran" : "run time unknown");
    if (row.duration.ms == 0 && status == kCancelled) skip("cancelled before it ran");
    if (row.duration.ms == 0) {
      row.duration = {500};
      row.repaired = "run time of 0 s taken as 0.5 s";
    }
    const bool requested = integer(kRequested) > 0;
    const Field& processors = requested ? kRequested : kAllocated;
    row.gpus = integer(processors);
    if (row.gpus < 1) skip("processors unknown");
    row.user = name(kUser);
    row.state = state_name(status);
    row.model = name(kExecutable);
    if (const auto wait = known_length(kWait)) row.logged.start = row.submit + *wait;
    row.logged.time_limit = known_length(kRequestedTime).value_or(Duration{});
    row.partition = name(kPartition);
    row.columns.id = pieces_[kJob.at].column;
    row.columns.submit = pieces_[kSubmit.at].column;
    row.columns.duration = pieces_[kRunTime.at].column;
    row.columns.gpus = pieces_[processors.at].column;
    return row;
  }

  std::int64_t integer(const Field& field) {
    const Parsed<std::int64_t> value = parse_integer(pieces_[field.at].text);
    if (!value) fault(field, value.error());
    return value.value_or(kUnknown);
  }

  // Returns a number that names something; empty if it is unknown.
  std::string_view name(const Field& field) {
    return integer(field) == kUnknown ? std::string_view() : pieces_[field.at].text;
  }

  // Returns an optional length; none if it is unknown.
  std::optional<Duration> known_length(const Field& field) const {
    const Parsed<std::int64_t> ms = parse_seconds(pieces_[field.at].text);
    return ms && *ms <= kMsMax ? std::optional(Duration{*ms}) : std::nullopt;
  }

  // Fractions are permitted in fields of time.
  Duration seconds(const Field& field, std::string_view if_unknown) {
    const std::string_view text = pieces_[field.at].text;
    if (parse_integer(text) == kUnknown) {
      skip(if_unknown);
      return {};
    }
    const Parsed<std::int64_t> ms = parse_seconds(text);
    if (!ms) fault(field, ms.error());
    return {ms.value_or(0)};
  }

  void fault(const Field& field, std::string_view phrase) {
    if (!reason_.empty()) return;
    reason_ = fmt::format("{} {}", field.name, phrase);
    bad_ = pieces_[field.at];
  }

  void skip(std::string_view reason) {
    if (!reason_.empty()) return;
    reason_ = reason;
    skipped_ = true;
  }

  LineReader lines_;
  std::vector<Piece> pieces_;  // fields of the current line
  std::string reason_;         // why the row is bad; empty: it is not
  Piece bad_;                  // the bad field
  bool skipped_ = false;       // it is bad, but no error
};

// Logs of the archive begin with a comment. One line with several ';' is more likely a table whose
// first column has no name.
bool is_swf(const TraceHead& head) {
  const std::vector<std::string_view> comment = head.fields(';');
  if (comment.size() == 2 && comment.front().empty()) return true;
  std::vector<Piece> pieces;
  split(head.fields('\n').front(), pieces);
  return pieces.size() == kFields && std::ranges::all_of(pieces, [](const Piece& piece) {
           return parse_number(piece.text).has_value();
         });
}

Status read_swf(ByteSource& source, const ReadOptions& /*options*/, WorkloadBuilder& builder) {
  return SwfReader(source).read(builder);
}

}  // namespace

const TraceFormat kSwfFormat = {
    .name = "swf",
    .file =
        "Standard Workload Format, as in the Parallel Workloads Archive; a processor counts as a "
        "GPU, and a job with the time that it ran, however it ended",
    .needs = "",
    .reading = Reading::kLenient,
    .rank = 1,
    .is = &is_swf,
    .read = &read_swf,
};

}  // namespace fairlead
