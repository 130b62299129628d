// The properties of the waits that are found in the records of any run.

#include "fairlead/metrics/metrics.h"
#include "testing/property.h"

#include "why/situation.h"

namespace fairlead {
namespace {

constexpr Ingredients kAnything = {.faults = true, .unreliable = true};

// Pieces follow one another from the beginning of a wait to its end, with one cause each.
std::string wrong_in_pieces(const Wait& wait) {
  Time at = wait.from;
  for (const WaitPiece& piece : wait.pieces) {
    if (piece.from != at || piece.to <= piece.from) return "pieces do not follow one another";
    if (piece.causes.total() != piece.to - piece.from)
      return "a piece has another length than its causes";
    if (piece.causes.of(piece.cause()) != piece.to - piece.from)
      return "a piece has several causes";
    at = piece.to;
  }
  return at == wait.to ? "" : "pieces end before their wait";
}

std::string wrong_in_job(const JobWaits& job, const JobTable& table, Duration waited) {
  Duration pieces;
  Time at;
  for (const Wait& wait : job.waits) {
    if (wait.from < at) return "waits overlap";
    at = wait.to;
    pieces += wait.to - wait.from;
    if (const std::string wrong = wrong_in_pieces(wait); !wrong.empty()) return wrong;
  }
  if (job.causes.total() != pieces) return "causes and pieces differ";
  if (pieces != waited) return "pieces and totals differ";
  const bool is_done = table.finish[job.job] != Time::never();
  if (is_done && table.queued(job.job) != pieces) return "pieces and queue_s differ";
  return "";
}

TEST(Waits, PiecesAddUpToTheQueueingTimeOfEveryJobUnderEveryPolicy) {
  const auto property = [](const World& world, const std::string& variant) -> std::string {
    Metrics metrics;
    WaitTotals totals;
    Waits waits([](const JobSpec&) { return Watch::kRivals; });
    Tee tee({&metrics, &totals, &waits});
    const Outcome outcome = run(world, policy_named(variant, world.seed), {}, &tee);
    if (!outcome.problems.empty()) return outcome.problems.front();
    if (!waits.status()) return waits.status().error().message;
    for (const JobWaits& job : waits.jobs()) {
      const std::string wrong = wrong_in_job(job, metrics.jobs(), totals.jobs()[job.job].waited);
      if (!wrong.empty()) return fmt::format("job {}: {}", job.job.row(), wrong);
    }
    return "";
  };
  EXPECT_EQ(broken("WaitsTile", policy_variants(), kAnything, property), "");
}

}  // namespace
}  // namespace fairlead
