// Slurm's sacct --parsable2 with at least JobID, Submit, ElapsedRaw and AllocTRES or ReqTRES. Steps
// (ids with a dot) are not jobs. Times have no zone and are taken as UTC. A job counts with the time
// that it ran, however it ended; State, if it is there, is only counted, so leave out jobs that still run (sacct
// --state). Elapsed 0: never started.

#include "fairlead/base/parse.h"
#include "fairlead/input/csv.h"
#include "fairlead/trace/readers/readers.h"

namespace fairlead {
namespace {

// The GPUs that a list of trackable resources names, as "cpu=8,gres/gpu=8" or
// "gres/gpu:v100=4,gres/gpu:a100=4"; Slurm may write both, the sum and its parts.
struct Gpus {
  std::int64_t all = 0;
  std::int64_t typed = 0;
  std::string_view type;  // if there is just one
  bool bad = false;

  std::int64_t count() const { return all > 0 ? all : typed; }
};

void add_resource(std::string_view name, std::string_view amount, Gpus& gpus) {
  if (!name.starts_with("gres/gpu")) return;
  name.remove_prefix(std::string_view("gres/gpu").size());
  if (!name.empty() && name.front() != ':') return;  // such as gres/gpumem
  const Parsed<std::int64_t> count = parse_integer(amount);
  gpus.bad = gpus.bad || !count || *count < 0 || *count > kJobGpusMax;
  if (gpus.bad) return;
  if (name.empty()) gpus.all = *count;
  if (name.empty()) return;
  gpus.type = gpus.typed == 0 ? name.substr(1) : std::string_view();
  gpus.typed += *count;
}

Gpus gpus_of(std::string_view resources) {
  Gpus gpus;
  while (!resources.empty() && !gpus.bad) {
    const std::string_view one = resources.substr(0, resources.find(','));
    resources.remove_prefix(std::min(one.size() + 1, resources.size()));
    const std::size_t equals = one.find('=');
    if (equals != one.npos) add_resource(one.substr(0, equals), one.substr(equals + 1), gpus);
  }
  return gpus;
}

struct Columns {
  CsvReader::Column job, user, submit, elapsed, allocated, requested, state;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(job, csv.require("JobID"));
  FL_TRY_ASSIGN(submit, csv.require("Submit"));
  FL_TRY_ASSIGN(elapsed, csv.require("ElapsedRaw"));
  FL_TRY(csv.require({"AllocTRES", "ReqTRES"}));
  const auto user = csv.require({"User", "Account"});
  return Columns{job,
                 user.value_or(CsvReader::kMissing),
                 submit,
                 elapsed,
                 csv.find("AllocTRES"),
                 csv.find("ReqTRES"),
                 csv.find("State")};
}

// "CANCELLED by 1000" says who.
std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

JobRow row_of(CsvReader& csv, const Columns& at) {
  JobRow row;
  row.id = csv.text(at.job);
  if (row.id.find('.') != row.id.npos) csv.skip("job step");
  const bool allocated = !csv.text(at.allocated).empty();
  const CsvReader::Column resources = allocated ? at.allocated : at.requested;
  const Gpus gpus = gpus_of(csv.text(resources));
  if (gpus.bad) csv.fault(resources, "must name whole GPUs");
  row.gpus = gpus.count();
  if (row.gpus == 0) return row;
  row.gpu_type = gpus.type;
  row.user = csv.text(at.user);
  row.submit = csv.utc_time(at.submit);
  if (csv.text(at.elapsed) == "0") csv.skip("never started");
  row.duration = csv.duration(at.elapsed);
  row.state = first_word(csv.text(at.state));
  row.columns.id = csv.column_number(at.job);
  row.columns.duration = csv.column_number(at.elapsed);
  return row;
}

bool is_sacct(const TraceHead& head) { return head.has('|', {"JobID", "Submit"}); }

Status read_sacct(ByteSource& source, const StepsPerSecond& /*of_gavel*/,
                  WorkloadBuilder& builder) {
  CsvReader csv(source, {.separator = '|', .quotes = false});
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(columns, find_columns(csv));
  FL_TRY(add_rows(csv, builder, [&] { return row_of(csv, columns); }));
  builder.say_times("calendar times without a zone, taken as UTC");
  builder.start_at_zero();
  return {};
}

}  // namespace

const TraceFormat kSacctFormat = {
    .name = "sacct",
    .file =
        "Slurm: `sacct --allusers --allocations --parsable2 --starttime 2026-01-01 --state "
        "CD,F,CA,TO,NF,OOM,PR -o JobID,User,Submit,ElapsedRaw,AllocTRES`; needed are JobID, "
        "Submit, ElapsedRaw, and AllocTRES or ReqTRES; a job counts with the time that it "
        "ran, however it ended",
    .reading = Reading::kLenient,
    .rank = 1,
    .is = &is_sacct,
    .read = &read_sacct,
};

}  // namespace fairlead
