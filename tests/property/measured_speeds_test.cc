// The measured speeds that policies receive follow only from the records of the run so far. This is
// checked at every decision, in exact worlds and in worlds with delays and failures.

#include "fairlead/base/overloaded.h"
#include "fairlead/engine/tables.h"
#include "fairlead/input/models_file.h"
#include "fairlead/model/known_speed.h"
#include "testing/property.h"
#include "testing/racks.h"
#include "testing/world.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

// Folds records into a KnownSpeed without a table.
class Recorded : public RecordSink {
 public:
  Recorded(const World& world, RatesNeeded needed)
      : tables_(*cluster_of(world.cluster)), options_(world.settings.profiles) {
    options_.seed = world.sim_seed;
    options_.factors = builtin_gpu_factors();
    known_.emplace(nullptr, tables_.cluster, tables_.jobs, needed, options_);
  }

  void on(const Record& record) override {
    known_->set_now(record.t);
    std::visit(Overloaded{
                   [&](const OneOf<record::Stop, record::Evicted, record::StartFailed> auto& end) {
                     known_->on_run_end(end.job);
                   },
                   [&](const OneOf<record::Finished, record::Failed> auto& end) {
                     known_->on_run_end(end.job);
                   },
                   [&](const record::Speed& speed) { known_->on_rate(speed.job, speed.rate); },
                   [](const auto&) {},
               },
               record.what);
    tables_.apply(record);
    std::visit(Overloaded{
                   [&](const OneOf<record::Arrived, record::Rejected> auto& came) {
                     known_->add_job(came.asked.job);
                   },
                   [&](const record::Place& place) {
                     known_->on_run_begin(place.job, place.gang, place.rate);
                     if (!place.is_reported)
                       known_->on_start(place.job, place.gang, place.overhead);
                   },
                   [&](const record::Started& started) {
                     known_->on_start(started.job, tables_.jobs.last_gang(started.job), {});
                   },
                   [](const auto&) {},
               },
               record.what);
  }
  KnownSpeed& known() { return *known_; }

 private:
  Tables tables_;
  ProfileOptions options_;
  std::optional<KnownSpeed> known_;
};

// Compares everything known at every decision.
class Asks : public Policy {
 public:
  Asks(std::unique_ptr<Policy> inner, Recorded& recorded, std::string& different)
      : inner_(std::move(inner)), recorded_(recorded), different_(different) {}
  std::string_view name() const override { return inner_->name(); }
  Needs needs() const override { return inner_->needs(); }
  void decide(const View& view, Plan& plan) override {
    recorded_.known().set_now(view.now);
    for (JobId job : ids<JobId>(view.jobs.size())) {
      if (view.jobs.has(job) && different_.empty()) compare(view, job);
    }
    inner_->decide(view, plan);
  }
  void fields(Archive& archive) override { inner_->fields(archive); }

 private:
  void compare(const View& view, JobId job) {
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
      for (std::uint32_t gpus : {1U, view.jobs.gpus[job], view.cluster.gpus}) {
        for (std::size_t tier = 0; tier < kTiers; ++tier) {
          const auto told = view.speed.rate(job, type, gpus, Tier(tier));
          const auto follows = recorded_.known().rate(job, type, gpus, Tier(tier));
          if (told == follows || (told && told->fixed == 0)) continue;  // 0: it cannot run there
          different_ =
              fmt::format("at {} ms job {} is told {} of {} GPUs, not {}", view.now.ms, job.row(),
                          told ? told->value() : -1, gpus, follows ? follows->value() : -1);
        }
      }
    }
  }

  std::unique_ptr<Policy> inner_;
  Recorded& recorded_;
  std::string& different_;
};

// Returns a speed that the policy received but that does not follow from the records, or empty.
std::string told_otherwise(World world, const std::string& policy) {
  world.settings.profiles = {.source = SpeedSource::kMeasured,
                             .length = seconds(2),
                             .noise = world.seed % 2 == 0 ? 0 : 0.3,
                             .age = seconds(40)};
  const MakePolicy plain = policy_named(policy, world.seed);
  Recorded recorded(world, plain()->needs().rates);
  std::string different;
  const Outcome outcome = run(
      world, [&] { return std::make_unique<Asks>(plain(), recorded, different); }, {}, &recorded);
  if (!outcome.problems.empty()) return outcome.problems.front();
  return different;
}

TEST(MeasuredSpeeds, AreWhatTheRecordsSay) {
  EXPECT_EQ(broken("MeasuredFold", policy_variants(), {.faults = true}, told_otherwise), "");
}

TEST(MeasuredSpeeds, AreWhatTheRecordsSayInAnOpenWorld) {
  EXPECT_EQ(broken("MeasuredFoldOpen", policy_variants(), {.unreliable = true}, told_otherwise),
            "");
}

}  // namespace
}  // namespace fairlead
