// A Slurm cluster as input of `fairlead whatif` and the simulator: from the output of scontrol, squeue and sacct.
#pragma once

#include "fairlead/forecast/cluster_now.h"
#include "fairlead/input/civil_time.h"

#include <filesystem>
#include <optional>
#include <string>

namespace fairlead {

// The files with the outputs; empty: not given.
struct SlurmFiles {
  std::string nodes;         // scontrol show node
  std::string queue;         // squeue
  std::string ended;         // sacct
  std::string qos;           // sacctmgr show qos -P
  std::string associations;  // sacctmgr show assoc -P
  UtcOffsets utc_offsets{};  // of the times in `ended`, which have no zone; none: UTC
};

// The sacct command, up to the time after --starttime, and behind it.
constexpr std::string_view kSacct =
    "SLURM_TIME_FORMAT=%s sacct --allusers --allocations --duplicates --parsable2 --starttime";
constexpr std::string_view kSacctFields =
    "--state CD,F,CA,TO,NF,OOM,PR,RQ -o "
    "JobID,User,Account,QOS,Partition,Submit,Start,End,ElapsedRaw,"
    "TimelimitRaw,Priority,NNodes,Constraints,ReqTRES,AllocTRES,State";

constexpr std::string_view kSacctmgrQos = "sacctmgr show qos -P";
constexpr std::string_view kSacctmgrAssociations =
    "sacctmgr show assoc -P "
    "format=Cluster,Account,ParentName,User,Partition,GrpTRES,GrpJobs,MaxJobs";

// Runs scontrol, squeue and sacct, the last for jobs that ended since `since` ("2026-01-01"), and sacctmgr, and keeps
// their output in files of `folder`. A sacctmgr that fails counts as not given, because not every user may ask it.
// Error: one of the others is missing, or fails.
Result<SlurmFiles> ask_slurm(const std::filesystem::path& folder, const std::string& since);

// Jobs of the log and of the queue may run on the nodes of their partitions with the GPU type and features that they
// asked for; nodes that are not alike in this have GPU types of their own (slurm/places.h). Jobs of the log for
// which no node is left are left out. Jobs of the queue run as long as the finished jobs of their user, or up to their time limit. Errors: there is no
// node, or none with a usable GPU; a file cannot be read.
Result<ClusterNow> slurm_now(const SlurmFiles& files);

}  // namespace fairlead
