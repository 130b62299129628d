// Causes of waits that only an open world has, and waits of unknown cause: from records written by
// hand.

#include "fairlead/journal/checked_journal.h"

#include "why/situation.h"

#include <memory>

namespace fairlead {
namespace {

JobSpec asked(std::size_t job, std::uint32_t gpus) {
  return {.job = JobId(job),
          .user = UserId(0),
          .name = job == 0 ? "a" : "b",
          .gpus = gpus,
          .gpus_min = gpus,
          .gpus_max = gpus,
          .work = seconds(10)};
}

// One node of four GPUs, and the waits of the job "a" on it.
class Records {
 public:
  explicit Records(std::uint32_t jobs)
      : waits_([](const JobSpec& job) { return job.name == "a" ? Watch::kRivals : Watch::kNot; }) {
    at(0, record::Run{.jobs = jobs, .policy = "fifo", .options = "", .gpu_types = types_});
    at(0, record::User{.user = UserId(0), .name = "ann", .tickets = 1});
    at(0, record::Node{.node = NodeId(0),
                       .name = "n0",
                       .type = GpuTypeId(0),
                       .host = HostId(0),
                       .rack = RackId(0),
                       .gpus = 4});
  }
  Records& at(std::int64_t s, Record::What what) {
    checked_.on({{s * 1000}, std::move(what)});
    return *this;
  }
  Records& place(std::int64_t s, std::size_t job, std::uint16_t gpus, bool is_reported = false) {
    const Slice slice[] = {{NodeId(0), gpus, 0}};
    const std::uint64_t mask[] = {(std::uint64_t{1} << gpus) - 1};
    return at(s,
              record::Place{
                  .job = JobId(job), .gang = slice, .gpu_masks = mask, .is_reported = is_reported});
  }
  // Ends the run with that many finished jobs, and returns the causes of the job's waits.
  std::vector<std::string> causes(std::int64_t s, JobCounts counts) {
    at(s, record::End{counts});
    FL_CHECK(checked_.status().has_value(), "{}", checked_.status().error().message);
    FL_CHECK(waits_.status().has_value());
    std::vector<std::string> lines;
    for (const Wait& wait : waits_.jobs().front().waits) {
      for (const WaitPiece& piece : wait.pieces)
        lines.push_back(fmt::format("{}-{} {}", to_seconds(piece.from), to_seconds(piece.to),
                                    why_cause_info(piece.cause()).name));
    }
    return lines;
  }

 private:
  const std::vector<std::string> types_ = {"V100"};
  Waits waits_;
  CheckedJournal checked_{waits_};
};

using Lines = std::vector<std::string>;

TEST(WhyRecords, ItsUserHoldsItBack) {
  Records records(1);
  records.at(0, record::Arrived{asked(0, 4)}).at(5, record::Held{JobId(0)});
  records.at(20, record::Released{JobId(0)}).place(20, 0, 4).at(30, record::Finished{JobId(0)});
  const Lines lines = records.causes(30, {.finished = 1});
  EXPECT_EQ(lines, (Lines{"0-5 unexplained", "5-20 held"}));
}

TEST(WhyRecords, ItsStartFailedAndIsTriedAgain) {
  Records records(1);
  records.at(0, record::Arrived{asked(0, 4)}).place(0, 0, 4, true);
  records.at(2, record::StartFailed{JobId(0), {12'000}, "no disk"})
      .at(12, record::Released{JobId(0)});
  records.place(12, 0, 4, true).at(13, record::Started{JobId(0), seconds(1)});
  records.at(30, record::Finished{JobId(0)});
  EXPECT_EQ(records.causes(30, {.finished = 1}), (Lines{"2-12 retry"}));
}

// The node is idle: no cause is invented.
TEST(WhyRecords, WhatNothingExplainsIsSaidToBeUnexplained) {
  Records records(2);
  records.at(0, record::Arrived{asked(0, 4)}).at(7, record::Arrived{asked(1, 1)});
  EXPECT_EQ(records.causes(30, {.pending = 2}), (Lines{"0-30 unexplained"}));
}

// It fitted when the later job was started, but not after that.
TEST(WhyRecords, WhoTakesTheGpusAtWhichItWouldHaveFittedGoesFirst) {
  Records records(2);
  records.at(0, record::Arrived{asked(0, 4)}).at(7, record::Arrived{asked(1, 1)}).place(7, 1, 1);
  records.at(17, record::Finished{JobId(1)}).place(17, 0, 4).at(27, record::Finished{JobId(0)});
  EXPECT_EQ(records.causes(27, {.finished = 2}), (Lines{"0-7 unexplained", "7-17 passed"}));
}

// The other came second, but at the same moment.
TEST(WhyRecords, WhatCameAtTheSameMomentDidNotComeLater) {
  const auto causes_of_gang = [](std::uint32_t gpus) {
    Records records(2);
    records.at(0, record::Arrived{asked(0, gpus)}).at(0, record::Arrived{asked(1, 1)});
    records.place(0, 1, 1).at(10, record::Finished{JobId(1)});
    records.place(10, 0, static_cast<std::uint16_t>(gpus)).at(20, record::Finished{JobId(0)});
    return records.causes(20, {.finished = 2});
  };
  EXPECT_EQ(causes_of_gang(4), (Lines{"0-10 full"}));
  EXPECT_EQ(causes_of_gang(3), (Lines{"0-10 unexplained"}));
}

TEST(WhyRecords, ANodeThatNoClusterCanHaveIsAnError) {
  Waits waits([](const JobSpec&) { return Watch::kNot; });
  const std::vector<std::string> types = {"V100"};
  waits.on({{0}, record::Run{.jobs = 1, .policy = "fifo", .gpu_types = types}});
  const std::size_t racks[] = {0, 1, 0};  // the first rack goes on after another has started
  for (std::size_t i = 0; i < std::size(racks); ++i) {
    waits.on({{0},
              record::Node{.node = NodeId(i),
                           .name = "n",
                           .type = GpuTypeId(0),
                           .host = HostId(i),
                           .rack = RackId(racks[i]),
                           .gpus = 4}});
  }
  EXPECT_FALSE(waits.status().has_value());
}

// A model of four ranks that have GPUs in every order.
TEST(AllocatedByOrder, CountsWhatLaterOnesHave) {
  AllocatedByOrder allocated;
  std::vector<std::int64_t> model(40);
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t rank = i * 7 % model.size();
    allocated.add(rank, static_cast<std::int64_t>(i));
    model[rank] += static_cast<std::int64_t>(i);
    for (std::size_t of = 0; of < model.size(); ++of) {
      std::int64_t after = 0;
      for (std::size_t j = of + 1; j < model.size(); ++j) after += model[j];
      ASSERT_EQ(allocated.after(of), after) << i << " " << of;
    }
  }
}

WaitPiece piece(std::int64_t from, std::int64_t to, WhyCause cause) {
  WaitPiece made{.from = {from}, .to = {to}, .causes = {}};
  made.causes.of(cause) = {to - from};
  made.facts = {.free_gpu_ms = {to - from}, .hole = static_cast<std::uint32_t>(to % 5)};
  return made;
}

TEST(Condensed, KeepsAllTimeAndAllSums) {
  std::vector<WaitPiece> pieces;
  for (std::int64_t i = 0; i < 300; ++i) {
    const auto cause = static_cast<WhyCause>(i * 3 % 4);
    pieces.push_back(piece(i * i, (i + 1) * (i + 1), cause));
  }
  for (const std::size_t most : {1U, 2U, 6U, 50U}) {
    const std::vector<WaitPiece> few = condensed(pieces, most);
    ASSERT_LE(few.size(), most);
    CauseTimes causes;
    std::int64_t free = 0;
    Time at;
    for (const WaitPiece& found : few) {
      EXPECT_EQ(found.from, at);
      EXPECT_EQ(found.causes.total(), found.to - found.from);
      at = found.to;
      causes += found.causes;
      free += found.facts.free_gpu_ms[0];
    }
    EXPECT_EQ(at, Time{90'000});
    EXPECT_EQ(free, 90'000);
    EXPECT_EQ(causes.total(), Duration{90'000});
  }
}

}  // namespace
}  // namespace fairlead
