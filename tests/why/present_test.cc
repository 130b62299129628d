// A running engine and a finished run give the same causes: a Moment made from the tables agrees with one that
// followed the records.

#include "fairlead/explain/verdict.h"
#include "testing/property.h"

namespace fairlead {
namespace {

class Agreement : public RecordSink {
 public:
  void on(const Record& record) override {
    if (record.t != tables_.now && followed_.has_come()) compare();
    followed_.before(record);
    tables_.apply(record);
    followed_.after(record);
  }
  const std::string& problem() const { return problem_; }

 private:
  void compare() {
    Moment made(tables_, PlacementTraits{}, tables_.now);
    std::vector<JobId> waiting(tables_.waiting.members().begin(), tables_.waiting.members().end());
    for (const auto& [job, until] : tables_.held_until) waiting.push_back(job);
    for (JobId job : waiting) {
      const WaitingJob what = {.job = job, .since = tables_.jobs.arrival[job]};
      if (verdict(made, {}, what) != verdict(followed_, {}, what) && problem_.empty())
        problem_ = fmt::format("job {} at {} ms", job.row(), tables_.now.ms);
    }
  }

  Tables tables_{Cluster()};
  Moment followed_{tables_};
  std::string problem_;
};

TEST(Moment, MadeFromTheTablesAgreesWithOneThatFollowedTheRecords) {
  const auto property = [](const World& world, const std::string& variant) -> std::string {
    Agreement agreement;
    const Outcome outcome = run(world, policy_named(variant, world.seed), {}, &agreement);
    return outcome.problems.empty() ? agreement.problem() : outcome.problems.front();
  };
  EXPECT_EQ(broken("MomentsAgree", {"srtf", "fairlead", "gandiva-fair:quantum_s=5", "fifo"},
                   {.faults = true, .unreliable = true}, property),
            "");
}

}  // namespace
}  // namespace fairlead
