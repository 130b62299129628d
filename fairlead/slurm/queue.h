// The jobs that want GPUs now, from Slurm's squeue: the output of kSqueue, or any of its tables with JOBID, STATE, TIME
// and the GPUs, with "|" between the columns.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/base/units.h"
#include "fairlead/model/job_asks.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

constexpr std::string_view kSqueue =
    "squeue --all --array --states=PENDING,RUNNING,SUSPENDED "
    "--Format='JobArrayID:40|,UserName:40|,State:20|,TimeUsed:20|,TimeLimit:20|,NumNodes:10|,"
    "Account:40|,QOS:40|,Partition:100|,Feature:100|,tres-alloc:200|,Reason:40|'";

struct SlurmQueuedJob {
  std::string id;  // "17", or "17_3" of an array
  std::string user;
  bool runs = false;
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;  // 0: unknown
  CpuMemory asks{};
  std::string gpu_type;      // assigned if it runs, requested if it waits; empty: any
  std::string partitions{};  // separated by commas; empty: unknown
  std::string features{};    // constraint; empty: none
  std::string qos{};         // empty: unknown
  std::string account{};     // empty: unknown
  Duration ran{};
  std::optional<Duration> limit{};  // limit of its running time
};

struct SlurmQueue {
  std::vector<SlurmQueuedJob> jobs;                           // in the order of the file
  std::map<std::string, std::int64_t, std::less<>> left_out;  // by reason
};

// Reads a queue. Leaves out jobs without GPUs, held jobs, and jobs that wait for another job or a time. Errors: not
// such a table; an unreadable row, with its line.
Result<SlurmQueue> read_slurm_queue(ByteSource& source);

}  // namespace fairlead
