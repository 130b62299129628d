#include "fairlead/serve/server.h"

#include "fairlead/base/counted.h"
#include "fairlead/base/parse.h"
#include "fairlead/journal/block_repair.h"
#include "fairlead/journal/journal.h"
#include "fairlead/live/live_engine.h"
#include "fairlead/local/local_world.h"
#include "fairlead/local/same_gpus.h"
#include "fairlead/serve/api.h"
#include "fairlead/serve/local_facts.h"
#include "fairlead/serve/notifier.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace fairlead {
namespace {

constexpr std::string_view kJournal = "journal.flj";

KnownGpus known_gpus(const RecordedRun& run) {
  KnownGpus known;
  for (const Record& record : run.records()) {
    if (const auto* begun = std::get_if<record::Run>(&record.what))
      known.types.assign(begun->gpu_types.begin(), begun->gpu_types.end());
    if (const auto* node = std::get_if<record::Node>(&record.what))
      known.nodes.push_back({std::string(node->name), node->type, node->gpus});
  }
  return known;
}

// The names of stand-in GPUs are their numbers.
std::vector<std::string> stand_in_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

// "; GPUs 3, 5 are gone; 2 GPUs are new".
std::string change_text(const SameGpus& same) {
  std::string text;
  const std::set<std::uint32_t>& absent = same.machine.absent;
  if (!absent.empty())
    text += fmt::format("; gone: GPU {}", fmt::join(absent.begin(), absent.end(), ", "));
  if (const std::uint32_t more = same.machine.cluster.gpus - same.cluster.gpus; more > 0)
    text += fmt::format("; new: {}", counted(more, "GPU"));
  if (!same.unknown_types.empty())
    text += fmt::format("; not used, because only a new folder can have GPUs of a new type: {}",
                        fmt::join(same.unknown_types, ", "));
  return text;
}

class LiveServer : public Server {
 public:
  LiveServer(Io& io, ServeOptions options)
      : io_(io),
        options_(std::move(options)),
        live_(options_.policy, live_engine_options(options_.seed)) {}

  Status open() {
    FL_TRY(live_.make(options_.machine.cluster, world_, sinks_));
    FL_TRY_ASSIGN(source, io_.stream(std::string(kJournal)));
    FL_TRY_ASSIGN(magic, source.peek(kBlocksMagic.size()));
    // A journal without a block is one whose first was never on the disk.
    if (magic.size() < kBlocksMagic.size()) return begin();
    RecordedRun run;
    Result<JournalEnd> end = read(std::move(source), run);
    if (!end || end->rest.bytes > 0) FL_TRY(repair(end, run));
    if (!end) return tl::unexpected(end.error());
    if (end->state == JournalEnd::State::kDamaged) {
      return run_error("{}; `fairlead journal repair` prints what else would be lost",
                       end->problem);
    }
    if (end->records == 0) return begin();
    return go_on(run, *end);
  }

  Result<bool> step() override {
    FL_TRY_ASSIGN(goes_on, live_.engine().step());
    FL_TRY(world_.disk());
    FL_TRY(sync());
    const Time now = io_.now();
    FL_TRY(backend_->retire(now, [&](JobId job, const Submission& what) {
      return notify_of_end(io_, *views_, options_, job, what, now);
    }));
    api_->answer_due();
    // No journal has the policy's work at wake-ups that changed nothing, so a recovery cannot know at
    // which of them a skip started.
    const bool may_skip = now - live_.engine().now() > live_.options().slack;
    // The limits of reservations are not in the journal, so a recovery must not start before they changed.
    is_snapshot_due_ = backend_->reservations().take_change() || is_snapshot_due_;
    if (is_snapshot_due_ || may_skip || records_since_snapshot_ >= options_.snapshot_records ||
        !goes_on) {
      live_.engine().snapshot(live_.policy_options());
      records_since_snapshot_ = 0;
      is_snapshot_due_ = false;
      FL_TRY(sync());
    }
    return goes_on;
  }

  const Tables& tables() const override { return live_.engine().tables(); }
  std::uint64_t records() const override { return records_; }
  std::string memory() const override {
    Writer out;
    RecordEncoder encoder(out);
    if (!live_.engine().condense({}, encoder)) return "";
    return {out.bytes().begin(), out.bytes().end()};
  }
  const std::string& beginning() const override { return beginning_; }

 private:
  // Every record, once it is in the tables.
  struct Sinks : RecordSink {
    explicit Sinks(LiveServer& of) : server(of) {}
    void on(const Record& record) override {
      server.journal_->on(record);
      server.views_->book.on(record);
      server.backend_->on(record);
      server.world_.old_logs().on(record);
      server.is_synced_ = false;
      ++server.records_;
      ++server.records_since_snapshot_;
    }
    LiveServer& server;
  };

  static Result<JournalEnd> read(ByteSource source, RecordedRun& run) {
    FL_TRY_ASSIGN(blocks, BlockReader::read(std::move(source)));
    return read_journal(std::move(blocks), run);
  }

  // Repairs bytes of the journal that the disk has changed, if the repair is certain.
  Status repair(Result<JournalEnd>& end, RecordedRun& run) {
    FL_TRY_ASSIGN(bytes, io_.read(std::string(kJournal)));
    const BlockRepair done = repair_blocks(bytes);
    if (!done.is_needed()) return {};
    FL_TRY(io_.write(std::string(kJournal), bytes));
    FL_TRY_ASSIGN(source, io_.stream(std::string(kJournal)));
    beginning_ = fmt::format(
        "; its journal was damaged and is whole again: {} bytes restored, {} "
        "dropped; check the disk",
        done.restored.size(), done.dropped);
    run = RecordedRun();
    end = read(std::move(source), run);
    return {};
  }

  Status begin() {
    FL_TRY(keep_names({}));
    // Whole or not at all: the rest of an append may be garbage, which is not a journal.
    FL_TRY(io_.write(std::string(kJournal), kBlocksMagic));
    FL_TRY_ASSIGN(file, io_.append_to(std::string(kJournal), kBlocksMagic.size()));
    journal_.emplace(JournalFile::go_on({.bytes = kBlocksMagic.size()}, std::move(file)));
    FL_TRY(make_parts());
    live_.engine().begin({.policy = std::string(live_.policy().name()),
                          .options = live_.policy_options(),
                          .cluster = options_.machine.cluster.name,
                          .trace = "live",
                          .seed = options_.seed},
                         {});
    FL_TRY(adopt(RecordedRun()));
    beginning_ = "began";
    return sync();
  }

  Status go_on(const RecordedRun& run, const JournalEnd& end) {
    FL_TRY_ASSIGN(same, find_gpus(known_gpus(run)));
    Result<Recovery> recovery = live_.recover(same.cluster, run, world_, sinks_);
    if (!recovery) {  // another version: the policy starts again from the tables
      const std::string why = recovery.error().message;
      recovery = live_.recover(same.cluster, run, world_, sinks_, PolicyRecovery::kRestarted);
      if (recovery) recovery->why = why;
    }
    if (!recovery) return tl::unexpected(recovery.error());
    FL_TRY_ASSIGN(file, io_.append_to(std::string(kJournal), end.bytes));
    journal_.emplace(JournalFile::go_on(end, std::move(file)));
    // The last blocks of a killed daemon were read, but may not be on the disk.
    FL_TRY(journal_->sync());
    FL_TRY(make_parts());
    live_.engine().replace_world(world_, sinks_, io_.now());
    for (const Record& record : run.records()) {
      views_->book.on(record);
      world_.old_logs().on(record);
    }
    if (options_.keep.ms > 0) world_.old_logs().forget_removed();
    records_ = end.records;
    join_new_nodes();
    FL_TRY_ASSIGN(here, adopt(run));
    beginning_ = fmt::format("went on with {} jobs{}{}", here, beginning_, change_text(same));
    if (!recovery->why.empty())
      beginning_ += fmt::format("; the policy starts again: {}", recovery->why);
    return {};
  }

  // Gives the machine's GPUs the numbers that they had before.
  Result<SameGpus> find_gpus(KnownGpus known) {
    GpuFile file;
    if (const auto text = io_.read(kGpuFile)) {
      FL_TRY_ASSIGN(parsed, parse_gpu_file(*text));
      file = std::move(parsed);
    }
    known.names = file.names;
    const std::vector<std::string>& names = options_.machine.gpu_names;
    std::size_t count = 0;
    for (const KnownGpus::Node& node : known.nodes) count += node.gpus;
    if (known.names.empty() && names == stand_in_names(names.size()))
      known.names = stand_in_names(count);
    FL_TRY_ASSIGN(same, same_gpus(options_.machine, known));
    options_.machine = same.machine;
    FL_TRY(keep_names(std::move(file)));
    return same;
  }

  // Keeps the names of the GPUs, unless they are their numbers. The journal names them by number from now on.
  Status keep_names(GpuFile file) {
    const std::vector<std::string>& names = options_.machine.gpu_names;
    if (file.names == names || (file.names.empty() && names == stand_in_names(names.size())))
      return {};
    file.names = names;
    return io_.write(kGpuFile, gpu_file_text(file));
  }

  void join_new_nodes() {
    const Cluster& cluster = options_.machine.cluster;
    for (NodeId node : ids<NodeId>(cluster.nodes())) {
      if (live_.engine().tables().cluster.node_type.has(node)) continue;
      inbox_.add(NodeJoin{.node = node,
                          .row = {.name = cluster.node_names[node],
                                  .type = cluster.node_type[node],
                                  .host = cluster.node_host[node],
                                  .rack = cluster.node_rack[node],
                                  .gpus = cluster.node_gpus[node]}});
    }
  }

  Status make_parts() {
    const Tables& tables = live_.engine().tables();
    conditions_.emplace(io_, tables, inbox_);
    FL_TRY(conditions_->load());
    backend_.emplace(io_, tables, options_.machine, options_.grace, inbox_, *conditions_,
                     world_.limits(), options_.hook, options_.on_foreign);
    FL_TRY(backend_->reservations().load());
    facts_.emplace(io_, tables, *backend_, *conditions_);
    world_.set_backend(*backend_);
    views_.emplace(*facts_, live_);
    api_.emplace(io_, *views_, *backend_, *conditions_, inbox_, options_);
    return {};
  }

  // Brings the folder and the tasks of the machine into the state of the journal. Returns the number of jobs.
  Result<std::int64_t> adopt(const RecordedRun& run) {
    const Tables& tables = live_.engine().tables();
    const std::vector<TaskStatus> tasks = io_.tasks();
    TaskHistory history(first_gpus(options_.machine.cluster), tasks);
    for (const Record& record : run.records()) history.on(record);
    FL_TRY(settle_files(tasks));
    std::int64_t here = 0;
    for (JobId job : ids<JobId>(tables.jobs.size())) {
      if (!tables.jobs.is_here(job)) continue;
      ++here;
      const auto text = io_.read(submission_file(job));
      auto submission = text ? parse_submission(*text) : tl::unexpected(text.error());
      if (!submission) inbox_.add({.kind = EventKind::kCancelled, .job = job});
      backend_->add(job, submission ? std::move(*submission) : Submission(),
                    views_->book.of(job).tasks);
    }
    backend_->adopt(io_.now(), tasks, history);
    FL_TRY(backend_->disk());
    return here;
  }

  // Settles the files of jobs that are not here: they are done, or were never acknowledged.
  Status settle_files(std::span<const TaskStatus> tasks) {
    const Jobs& jobs = live_.engine().tables().jobs;
    for (const std::string& name : io_.list("jobs")) {
      const auto row = parse_row(name);
      if (row && jobs.is_here(*row)) continue;
      const bool is_done = row && jobs.has(*row);
      if (is_done) FL_TRY(notify_left(*row));
      if (!is_done || !take_ending(*row, tasks)) io_.remove("jobs/" + name);
    }
    return {};
  }

  // Adds a job that is done and has processes; false if it has none.
  bool take_ending(JobId job, std::span<const TaskStatus> tasks) {
    const bool has_processes = std::ranges::any_of(tasks, [&](const TaskStatus& task) {
      return task.id.job == job && task.state != TaskStatus::State::kEnded;
    });
    const auto text = io_.read(submission_file(job));
    auto submission = text ? parse_submission(*text) : tl::unexpected(text.error());
    if (!has_processes || !submission) return false;
    backend_->add(job, *std::move(submission), views_->book.of(job).tasks);
    return true;
  }

  // Sends the notification of a job that is done, if no daemon has sent it.
  Status notify_left(JobId job) {
    const auto text = io_.read(submission_file(job));
    if (!text) return {};
    auto submission = parse_submission(*text);
    if (!submission) return {};
    return notify_of_end(io_, *views_, options_, job, std::move(*submission), io_.now());
  }

  static std::optional<JobId> parse_row(const std::string& name) {
    const auto row = parse_integer(name);
    if (!row || *row < 0) return std::nullopt;
    return JobId(static_cast<std::size_t>(*row));
  }

  Status sync() {
    if (std::exchange(is_synced_, true)) return {};
    FL_TRY(journal_->sync());
    return {};
  }

  void on_client(const IoEvent& event) {
    if (event.kind == IoEvent::Kind::kConnected) api_->on_connected(event.connection, event.peer);
    if (event.kind == IoEvent::Kind::kReceived) api_->on_received(event.connection, event.bytes);
    if (event.kind == IoEvent::Kind::kClosed) api_->on_closed(event.connection);
    if (event.kind == IoEvent::Kind::kTime) api_->on_time(io_.now());
  }

  Io& io_;
  ServeOptions options_;
  Sinks sinks_{*this};
  Inbox inbox_;
  LocalWorld world_{io_,
                    inbox_,
                    [this] { return sync(); },
                    [this](const IoEvent& event) { on_client(event); },
                    [this] { return api_->deadline(); },
                    options_.keep};
  LiveEngine live_;
  std::optional<JournalFile> journal_;
  std::optional<StartConditions> conditions_;
  std::optional<LocalBackend> backend_;
  std::optional<LocalFacts> facts_;
  std::optional<Views> views_;
  std::optional<Api> api_;
  bool is_synced_ = true;
  std::uint64_t records_ = 0;
  std::int64_t records_since_snapshot_ = 0;
  bool is_snapshot_due_ = true;  // the policy may have started again
  std::string beginning_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::open(Io& io, ServeOptions options) {
  auto server = std::make_unique<LiveServer>(io, std::move(options));
  FL_TRY(server->open());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace fairlead
