// The header of a journal: the records that describe the run, its users and its nodes. O(1) each.
#pragma once

#include "fairlead/journal/record.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/jobs.h"

#include <cstdint>
#include <string>

namespace fairlead {

// The fields of the journal's first record, which describe the run.
struct RunLabel {
  std::string policy;
  std::string options;
  std::string cluster;
  std::string trace;
  std::uint64_t seed = 0;
  std::uint32_t jobs = 0;  // jobs in the trace; 0 if jobs are not known beforehand
};

// Each returned record points into its arguments. REQUIRES: the row exists.
record::Run run_record(const RunLabel& label, const Cluster& cluster);
record::Group group_record(const Groups& groups, GroupId group);
record::User user_record(const Users& users, UserId user);
record::Node node_record(const Cluster& cluster, NodeId node);

}  // namespace fairlead
