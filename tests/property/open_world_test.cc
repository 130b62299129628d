// An engine keeps its head in a world that is late, repeats itself, mixes things up and fails, with
// users who come and operators who interfere: under every policy, in random worlds.

#include "fairlead/engine/tables.h"
#include "testing/property.h"
#include "testing/world.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

constexpr Ingredients kOpen = {.unreliable = true};

// The jobs that are still here at the end: none, once the world is calm.
std::string jobs_lost(const World& world, const std::string& policy) {
  const Outcome outcome = run(world, policy);
  if (!outcome.problems.empty()) return outcome.problems.front();
  const JobCounts& counts = outcome.counts;
  if (counts.finished + counts.failed + counts.rejected + counts.pending !=
      std::ssize(world.jobs)) {
    return fmt::format("of {} jobs {} finished, {} failed, {} were rejected, {} are pending",
                       world.jobs.size(), counts.finished, counts.failed, counts.rejected,
                       counts.pending);
  }
  if (counts.pending == 0 || may_refuse_gangs(policy)) return "";
  return fmt::format("{} jobs never finish", counts.pending);
}

TEST(OpenWorld, WhateverTheWorldDoesNoJobIsLostAndAllEndOnceItIsCalm) {
  EXPECT_EQ(broken("OpenWorld", policy_variants(), kOpen, jobs_lost), "");
}

TEST(OpenWorld, TheSameWherePoliciesKnowLittleOfWork) {
  const auto property = [](World world, const std::string& policy) {
    world.settings.work.source = WorkSource::kHistory;
    return jobs_lost(world, policy);
  };
  EXPECT_EQ(broken("OpenWorldHistory", policy_variants(), kOpen, property), "");
}

std::vector<Slice> slices(Gang gang) { return {gang.begin(), gang.end()}; }

// What is different of the two, or empty.
std::string difference(const Tables& a, const Tables& b) {
  if (a.users.names != b.users.names || a.users.tickets != b.users.tickets) return "users";
  if (a.models != b.models) return "models";
  if (a.cluster.node_names != b.cluster.node_names || a.cluster.node_type != b.cluster.node_type ||
      a.cluster.node_gpus != b.cluster.node_gpus || a.cluster.node_host != b.cluster.node_host ||
      a.cluster.node_rack != b.cluster.node_rack || a.cluster.gpus != b.cluster.gpus) {
    return "nodes";
  }
  const Jobs& one = a.jobs;
  const Jobs& two = b.jobs;
  if (one.size() != two.size()) return "the number of jobs";
  if (one.user != two.user || one.model != two.model || one.gpus != two.gpus ||
      one.gpus_min != two.gpus_min || one.gpus_max != two.gpus_max || one.arrival != two.arrival ||
      one.types != two.types) {
    return "what jobs ask for";
  }
  if (one.attained_settled != two.attained_settled || one.held_since != two.held_since ||
      one.held_gpus != two.held_gpus || one.state != two.state || one.hold != two.hold ||
      one.works_from != two.works_from) {
    return "what jobs were served";
  }
  for (JobId job : ids<JobId>(one.size())) {
    if (slices(one.last_gang(job)) != slices(two.last_gang(job))) return "gangs";
    if (!std::ranges::equal(one.gangs.gpu_masks(one.last[job]),
                            two.gangs.gpu_masks(two.last[job]))) {
      return "GPUs";
    }
    if (a.names[job] != b.names[job]) return "names of jobs";
  }
  if (!std::ranges::equal(a.waiting.members(), b.waiting.members()) ||
      !std::ranges::equal(a.running.members(), b.running.members())) {
    return "who waits or runs";
  }
  for (NodeId node : ids<NodeId>(a.nodes.size())) {
    const Tables::NodeState& x = a.nodes[node];
    const Tables::NodeState& y = b.nodes[node];
    if (x.has != y.has || x.up != y.up || x.free != y.free || x.is_cordoned != y.is_cordoned ||
        x.closed != y.closed) {
      return "the state of nodes";
    }
  }
  if (a.held_until != b.held_until || a.failed_starts != b.failed_starts ||
      a.failed_on != b.failed_on || a.stopping.size() != b.stopping.size() ||
      !(a.counts == b.counts)) {
    return "holds, failures or counts";
  }
  return "";
}

// Folds what it is told, as it comes back from its encoding.
class Folded : public RecordSink {
 public:
  void on(const Record& record) override {
    encode_record(bytes_, record, last_);
    last_ = record.t;
  }
  const Tables& tables() {
    struct Into : RecordSink {
      explicit Into(Tables& into) : tables(into) {}
      void on(const Record& record) override { tables.apply(record); }
      Tables& tables;
    } into(tables_);
    FL_CHECK(decoder_.decode(Reader(bytes_.bytes()), into).has_value());
    bytes_.clear();
    return tables_;
  }

 private:
  Writer bytes_;
  Time last_;
  RecordDecoder decoder_;
  Tables tables_{Cluster()};
};

TEST(OpenWorld, AtEveryStepTheTablesAreTheFoldOfTheJournal) {
  const auto property = [](const World& world, const std::string& policy) -> std::string {
    Folded folded;
    std::string different;
    const auto compare = [&](Simulation& simulation) {
      if (different.empty()) different = difference(folded.tables(), simulation.tables());
    };
    run(world, policy_named(policy, world.seed), compare, &folded);
    return different.empty() ? "" : "not what the records say: " + different;
  };
  EXPECT_EQ(broken("FoldOpenWorld", policy_variants(), kOpen, property), "");
  EXPECT_EQ(broken("FoldExact", policy_variants(), {.faults = true}, property), "");
}

}  // namespace
}  // namespace fairlead
