// Journals with wrong bytes: every reader refuses them or reads something, and never crashes.

#include "fairlead/base/rng.h"
#include "fairlead/journal/checked_journal.h"
#include "fairlead/journal/testing_journal.h"
#include "fairlead/replay/decisions.h"
#include "fairlead/replay/recorded_world.h"
#include "fairlead/report/report_data.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

std::vector<std::uint8_t> small_journal() {
  Writer out;
  RecordEncoder encoded(out);
  TestJournal journal(encoded);
  const std::vector<Slice> wide = {{NodeId(0), 4}, {NodeId(1), 2}};
  journal.begin(3, {1, 2});
  journal.arrive(100, 0, {.user = 0, .gpus = 6, .work_ms = 4000, .model = "VAE"});
  journal.place(100, 0, {.gang = wide, .overhead_ms = 50});
  journal.reject(200, 1, {.user = 1, .gpus = 99}, "larger than the cluster");
  journal.arrive(300, 2, {.user = 1, .gpus = 1, .work_ms = 1000});
  journal.happen<record::Stop>(400, 0);
  journal.place(400, 2, {.gang = {{NodeId(1), 1}}});
  journal.speed(900, 2, 0.5);
  journal.evict(1000, 2, 100);
  journal.node<record::GpusDown>(1000, 1);
  journal.node<record::GpusUp>(1500, 1);
  journal.note(1500, note::Trade{UserId(0), UserId(1), GpuTypeId(0), {}});
  journal.happen<record::Failed>(1600, 2);
  journal.end(2000, {.failed = 1, .rejected = 1, .pending = 1});
  return out.bytes();
}

// True if every reader of journals on disk accepts this one; replay may refuse it, because a world in which a job fails
// cannot be replayed.
bool taken(const std::vector<std::uint8_t>& bytes) {
  RunRecords records;
  WorldRecorder world;
  DecisionReader decisions([](const Decision& decision) { (void)decision.digest(); });
  Tee tee({&records, &world, &decisions});
  CheckedJournal checked(tee);
  if (!decode_journal(Reader(bytes), checked) || !checked.status()) return false;
  std::string text;
  ReportData data([&](std::string_view piece) { text += piece; }, "x");
  const nlohmann::json summary;
  EXPECT_TRUE(data.add({".", "x", summary, records}).has_value());
  data.finish();
  EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  (void)world.world();
  return true;
}

TEST(DamagedJournals, TheOneThatIsWholeIsTaken) { EXPECT_TRUE(taken(small_journal())); }

TEST(DamagedJournals, NoneCrashesWhatReadsThem) {
  const std::vector<std::uint8_t> whole = small_journal();
  Rng rng(11);
  int refused = 0;
  constexpr int kTries = 20'000;
  for (int i = 0; i < kTries; ++i) {
    std::vector<std::uint8_t> bytes = whole;
    for (std::uint64_t changes = 1 + rng.below(3); changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(rng.below(bytes.size()));
      // Small numbers are the ones that mean something.
      bytes[at] = static_cast<std::uint8_t>(rng.below(2) == 0 ? rng.below(20) : rng.below(256));
    }
    if (!taken(bytes)) ++refused;
  }
  EXPECT_GT(refused, kTries / 2);
  EXPECT_LT(refused, kTries);
}

}  // namespace
}  // namespace fairlead
