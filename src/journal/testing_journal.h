// A journal written by hand, record by record, for tests.
#pragma once

#include "fairlead/journal/journal.h"

#include <string>
#include <vector>

namespace fairlead {

// Writes to any sink. The cluster of begin() is one V100 node and one K80 node of 4 GPUs each.
class TestJournal {
 public:
  explicit TestJournal(RecordSink& sink) : sink_(sink) {}

  void begin(std::uint32_t jobs, const std::vector<std::int64_t>& tickets) {
    Record run;
    run.seed = 7;
    run.count = jobs;
    const std::vector<std::string> names = {"fifo", "skip=true", "tiny", "t.csv", "V100", "K80"};
    run.names = names;
    sink_.on(run);
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      Record user = of(RecordKind::kUser, 0);
      const std::string name = "u" + std::to_string(i);
      user.user = UserId(i);
      user.name = name;
      user.tickets = tickets[i];
      sink_.on(user);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      Record node = of(RecordKind::kNode, 0);
      node.node = NodeId(i);
      node.type = GpuTypeId(i);
      node.host = HostId(i);
      node.rack = RackId(0);
      node.count = 4;
      node.name = i == 0 ? "n0" : "n1";
      sink_.on(node);
    }
  }
  struct Asked {
    std::size_t user = 0;
    std::uint32_t gpus = 1;
    std::int64_t work_ms = 1000;
    std::string_view model = {};
  };
  static Record job(RecordKind kind, std::int64_t t_ms, std::size_t id, const Asked& asked,
                    std::string_view name) {
    Record record = of(kind, t_ms, id);
    record.user = UserId(asked.user);
    record.name = name;
    record.model_name = asked.model;
    record.gpus = record.gpus_min = record.gpus_max = asked.gpus;
    record.work = {asked.work_ms};
    return record;
  }
  void arrive(std::int64_t t_ms, std::size_t id, const Asked& asked) {
    const std::string name = "job-" + std::to_string(id);
    sink_.on(job(RecordKind::kArrived, t_ms, id, asked, name));
  }
  void reject(std::int64_t t_ms, std::size_t id, const Asked& asked, std::string_view reason) {
    const std::string name = "job-" + std::to_string(id);
    Record record = job(RecordKind::kRejected, t_ms, id, asked, name);
    record.reason = reason;
    sink_.on(record);
  }
  // At the end, `t_ms`.
  void unsubmitted(std::int64_t t_ms, std::size_t id, const Asked& asked, std::int64_t submit_ms) {
    const std::string name = "job-" + std::to_string(id);
    Record record = job(RecordKind::kUnsubmitted, t_ms, id, asked, name);
    record.submit = {submit_ms};
    sink_.on(record);
  }
  struct Placed {
    std::vector<Slice> gang;
    PlaceKind kind = PlaceKind::kStart;
    std::int64_t overhead_ms = 0;
    double rate = 1;
    double locality = 1;
    std::uint32_t copy = 0;
  };
  void place(std::int64_t t_ms, std::size_t id, const Placed& placed) {
    Record record = of(RecordKind::kPlace, t_ms, id);
    std::vector<std::uint64_t> masks;
    for (Slice slice : placed.gang) masks.push_back((std::uint64_t{1} << slice.gpus) - 1);
    record.place = placed.kind;
    record.copy = placed.copy;
    record.gang = placed.gang;
    record.gpu_masks = masks;
    record.rate = Rate::of(placed.rate);
    record.overhead = {placed.overhead_ms};
    record.locality = Rate::of(placed.locality);
    sink_.on(record);
  }
  // A record of a job that needs nothing else: kStop, kFinished, ...
  void happen(RecordKind kind, std::int64_t t_ms, std::size_t id) { sink_.on(of(kind, t_ms, id)); }
  void evict(std::int64_t t_ms, std::size_t id, std::int64_t lost_ms) {
    Record record = of(RecordKind::kEvicted, t_ms, id);
    record.lost = {lost_ms};
    sink_.on(record);
  }
  void speed(std::int64_t t_ms, std::size_t id, double rate) {
    Record record = of(RecordKind::kSpeed, t_ms, id);
    record.rate = Rate::of(rate);
    sink_.on(record);
  }
  void node(RecordKind kind, std::int64_t t_ms, std::size_t id) {
    Record record = of(kind, t_ms);
    record.node = NodeId(id);
    sink_.on(record);
  }
  void end(std::int64_t t_ms, const Record::Counts& counts) {
    Record record = of(RecordKind::kEnd, t_ms);
    record.counts = counts;
    sink_.on(record);
  }

 private:
  static Record of(RecordKind kind, std::int64_t t_ms) {
    Record record;
    record.kind = kind;
    record.t = {t_ms};
    return record;
  }
  static Record of(RecordKind kind, std::int64_t t_ms, std::size_t id) {
    Record record = of(kind, t_ms);
    record.job = JobId(id);
    return record;
  }

  RecordSink& sink_;
};

}  // namespace fairlead
