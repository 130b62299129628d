#include "fairlead/cli/run.h"

#include "fairlead/cli/folder_lock.h"
#include "fairlead/cli/progress.h"
#include "fairlead/compare/read_trace.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/journal/audit.h"
#include "fairlead/metrics/metrics.h"
#include "fairlead/replay/resources_file.h"
#include "fairlead/report/result_files.h"
#include "fairlead/run/simulation.h"

#include <chrono>
#include <sys/resource.h>

namespace fairlead {
namespace {

using Clock = std::chrono::steady_clock;

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // Linux reports KiB
}

Status check(const Audit& audit) {
  if (audit.passed()) return {};
  return run_error("the audit found {} problems in the journal, the first: {}",
                   audit.problem_count(),
                   audit.problems().empty() ? "it has no end" : audit.problems().front());
}

Result<SimulationInputs> read_inputs(const RunConfig& config) {
  FL_TRY_ASSIGN(cluster, load_cluster(config.cluster));
  FL_TRY_ASSIGN(trace, read_trace_of(config));
  if (trace.jobs() == 0) {
    const RowCounts& rows = trace.workload().rows;
    return input_error("{}: no job in it that can be used: {} rows read, {} of them left out",
                       config.trace, rows.rows_read, rows.rejected());
  }
  SimulationInputs inputs{.cluster = std::move(cluster),
                          .trace = std::move(trace),
                          .settings = config.settings,
                          .seed = config.seed,
                          .until = config.until};
  FL_TRY(inputs.use_policy(config.policy));
  return inputs;
}

// Returns a journal that only hashes if nothing but the summary is written.
Result<JournalFile> journal_in(ResultFolder& folder, const RunOutputs& outputs) {
  if (outputs.only_summary) return JournalFile();
  auto journal = JournalFile::create(folder.file(kJournalName));
  if (journal) folder.add(kJournalName);
  return journal;
}

// Runs the simulation with a line of progress, and closes the journal. Errors: also of the audit.
Status run_to_end(Simulation& simulation, JournalFile& journal, bool audits) {
  Audit audit;
  {
    ProgressLine progress;
    simulation.add_sink(journal);
    simulation.add_sink(progress);
    if (audits) simulation.add_sink(audit);
    FL_TRY(simulation.run());
  }
  if (audits) FL_TRY(check(audit));
  return journal.close();
}

Result<RunOutcome> run_since(Clock::time_point begin, SimulationInputs inputs,
                             const RunOutputs& outputs) {
  FL_TRY_ASSIGN(simulation, Simulation::make(std::move(inputs)));
  FolderLock lock;  // released after `folder` removed the files of a failed run
  FL_TRY_ASSIGN(folder, ResultFolder::open(outputs.folder));
  FL_TRY(lock.take(outputs.folder));
  // The journal is created first, so that after a crash it shows the events that led to it.
  FL_TRY(folder.stage());
  FL_TRY_ASSIGN(journal, journal_in(folder, outputs));
  FL_TRY(run_to_end(simulation, journal, outputs.audit));

  RunFacts facts = simulation.facts();
  facts.journal_hash = journal.hash();
  Summary summary = simulation.metrics().summary(facts);
  const SimulationCounts counts = simulation.counts();
  const std::chrono::duration<double> wall = Clock::now() - begin;
  const RunStats stats{.wall_s = wall.count(),
                       .decisions = counts.decisions,
                       .events = counts.events,
                       .peak_rss_mb = peak_rss_mb(),
                       .inputs_hash = outputs.inputs_hash,
                       .command = outputs.command};
  if (!outputs.only_summary)
    FL_TRY(write_resources(folder, simulation.resources(), facts.journal_hash));
  FL_TRY(outputs.only_summary ? write_summary(folder, summary, stats)
                              : write_results(folder, simulation.metrics(), facts, summary, stats));
  FL_TRY(folder.keep());
  return RunOutcome{std::move(summary), wall.count()};
}

}  // namespace

Result<RunOutcome> run_simulation(const RunConfig& config) {
  const Clock::time_point begin = Clock::now();
  FL_TRY_ASSIGN(inputs, read_inputs(config));
  return run_since(begin, std::move(inputs),
                   {.folder = config.out,
                    .inputs_hash = config.inputs_hash,
                    .command = config.command,
                    .audit = config.audit,
                    .only_summary = config.only_summary});
}

Result<RunOutcome> run_simulation(SimulationInputs inputs, const RunOutputs& outputs) {
  return run_since(Clock::now(), std::move(inputs), outputs);
}

}  // namespace fairlead
