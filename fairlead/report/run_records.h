// The data of one run for a report: a journal sink.
//
// Metrics measures its figures; runs of jobs, notes and the state of the nodes are collected beside it. O(slices) per
// record beyond Metrics.
#pragma once

#include "fairlead/metrics/metrics.h"
#include "fairlead/report/note_sample.h"
#include "fairlead/report/run_pieces.h"
#include "fairlead/report/time_grid.h"

#include <string>
#include <vector>

namespace fairlead {

struct ReportLimits {
  std::size_t run_pieces = 300'000;
  std::size_t notes = 200'000;
  std::size_t users = 50;  // number of users with a share in the report
};

// Means over the bins of one grid; empty if no time passed.
struct RunLoad {
  Duration bin;
  std::vector<double> gpus_allocated;
  std::vector<double> gpus_up;
  std::vector<double> gpus_fragmented;  // free on partly used nodes
  std::vector<double> jobs_running;
  std::vector<double> jobs_waiting;
  struct Share {
    UserId user;
    std::vector<double> allocated;
    std::vector<double> entitled;
  };
  std::vector<Share> shares;      // the users with most GPU time, from the first
  std::vector<double> gpus_lost;  // number of GPUs whose work is lost to communication
};

class RunRecords : public RecordSink {
 public:
  explicit RunRecords(const ReportLimits& limits = {});

  // REQUIRES: the records of one run in journal order, up to End.
  void on(const Record& record) override;

  // REQUIRES of all below: End was passed.
  const JobTable& jobs() const { return metrics_.jobs(); }
  const std::vector<std::string>& user_names() const { return metrics_.user_names(); }
  const std::vector<std::string>& gpu_types() const { return metrics_.gpu_types(); }
  const std::string& cluster_name() const { return cluster_name_; }
  struct Node {
    std::string name;
    RackId rack;
    GpuTypeId type;
    std::uint32_t gpus = 0;
    std::uint32_t first_gpu = 0;
    std::uint32_t allocated = 0;
  };
  const IdVector<NodeId, Node>& nodes() const { return nodes_; }
  std::size_t racks() const { return racks_; }
  // The first submission of any job, rejected or not; 0 if there is none.
  Time first_submission() const;
  RunLoad load() const;
  const RunPieces& run_pieces() const { return run_pieces_; }
  const NoteSample& notes() const { return notes_; }
  // Returns GPU time lost to communication, in GPU-milliseconds; a gang's loss is divided among its racks by GPUs.
  const IdVector<RackId, double>& rack_lost_gpu_ms() const { return rack_lost_gpu_ms_; }

 private:
  struct Open {
    NodeId node;
    RunPiece piece;
  };
  struct Level {
    Time since;
    std::int64_t gpus = 0;
  };

  void on_node(Time t, const record::Node& node);
  void on_place(Time t, const record::Place& place);
  void on_job_run_end(JobId job, Time t);
  void on_end(Time t, const JobCounts& counts);
  void on_usable(Time t, const auto& change);
  void note_up(Time t);
  void add_allocated(Time t, NodeId node, std::int64_t gpus);
  std::int64_t fragmented(NodeId node) const;
  void settle_lost(JobId job, Time t);
  std::vector<UserId> users_shown() const;

  std::size_t users_max_;
  Metrics metrics_;
  RunPieces run_pieces_;
  NoteSample notes_;
  std::string cluster_name_;
  IdVector<NodeId, Node> nodes_;
  IdVector<NodeId, HostId> node_host_;
  IdVector<NodeId, RackId> node_rack_;
  std::size_t racks_ = 0;
  std::uint32_t gpus_ = 0;
  IdVector<JobId, std::vector<Open>> open_;
  // The losses of each job that are in lost_ and rack_lost_gpu_ms_, and the start of later ones.
  struct Settled {
    Time at;
    double lost_gpu_ms = 0;
  };
  IdVector<JobId, Settled> settled_;
  DoublingBins lost_;  // millionths of a GPU
  IdVector<RackId, double> rack_lost_gpu_ms_;

  UsableGpus usable_;
  std::vector<Level> up_;  // by time
  DoublingLevel fragmented_;
  bool arrived_ = false;
  Time last_leave_;
  Time end_;  // end of the measured time
};

}  // namespace fairlead
