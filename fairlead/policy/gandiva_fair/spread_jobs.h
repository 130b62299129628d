// SpreadJobs: the jobs that are kept on slices of several nodes, because none is large enough for them (Gandiva_fair).
//
// Each is the client of a stride of its own, which a centre serves (turns.h). A job has a row, which may change when another
// job leaves. Some of them may wait for their GPUs, and these are counted.
//
// All O(1), except as noted.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/model/cluster.h"
#include "fairlead/policy/gandiva_fair/tiling.h"
#include "fairlead/policy/kit/gang_stride.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace fairlead {

// Returns the job's need of GPUs if it gets its due.
inline Need need_of(const StrideClient& client) {
  return {client.gpus, std::min(1.0, client.tickets / client.gpus)};
}

struct SpreadJob {
  StrideClient client;
  std::vector<Slice> slices;

  // Returns its need of one of its nodes. O(slices).
  Need need_on(NodeId node) const {
    const auto slice = std::ranges::find(slices, node, &Slice::node);
    return {slice->gpus, need_of(client).time};
  }
  void fields(Archive& archive) { archive(client, slices); }
};

class SpreadJobs {
 public:
  std::size_t size() const { return jobs_.size(); }
  const SpreadJob& operator[](std::uint32_t row) const { return jobs_[row]; }
  auto begin() const { return jobs_.begin(); }
  auto end() const { return jobs_.end(); }
  // Returns true if some job is without its GPUs.
  bool wait() const { return waiting_ > 0; }

  // Adds a job without GPUs. Returns its row, the last one.
  std::uint32_t add(SpreadJob job) {
    jobs_.push_back(std::move(job));
    ++waiting_;
    return static_cast<std::uint32_t>(jobs_.size() - 1);
  }
  // Removes the job of the row. Returns the job that has the row now; the same job if it was the last.
  JobId remove(std::uint32_t row, bool has_gpus) {
    if (!has_gpus) --waiting_;
    std::swap(jobs_[row], jobs_.back());
    const JobId moved = jobs_[row].client.job;
    jobs_.pop_back();
    return moved;
  }
  // Called when a job gets its GPUs, or loses them.
  void count_gpus(bool has_gpus) { waiting_ += has_gpus ? -1U : 1U; }
  // Returns the client of the row, to be chosen and given another pass and tickets.
  StrideClient& client(std::uint32_t row) { return jobs_[row].client; }

  // Jobs that are read have their GPUs until count_gpus(false). REQUIRES if it reads: no function was called before.
  void fields(Archive& archive) { archive(jobs_); }

 private:
  std::vector<SpreadJob> jobs_;
  std::uint32_t waiting_ = 0;
};

}  // namespace fairlead
