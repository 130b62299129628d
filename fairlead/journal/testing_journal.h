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
    const std::vector<std::string> types = {"V100", "K80"};
    write(0, record::Run{.seed = 7,
                         .jobs = jobs,
                         .policy = "fifo",
                         .options = "skip=true",
                         .cluster = "tiny",
                         .trace = "t.csv",
                         .gpu_types = types});
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      const std::string name = "u" + std::to_string(i);
      write(0, record::User{.user = UserId(i), .name = name, .tickets = tickets[i]});
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      write(0, record::Node{.node = NodeId(i),
                            .name = i == 0 ? "n0" : "n1",
                            .type = GpuTypeId(i),
                            .host = HostId(i),
                            .rack = RackId(0),
                            .gpus = 4});
    }
  }
  struct Asked {
    std::size_t user = 0;
    std::uint32_t gpus = 1;
    std::int64_t work_ms = 1000;
    std::string_view model = {};
  };
  void arrive(std::int64_t t_ms, std::size_t id, const Asked& asked) {
    write(t_ms, record::Arrived{job(id, asked, name_of(id))});
  }
  void reject(std::int64_t t_ms, std::size_t id, const Asked& asked, std::string_view reason) {
    write(t_ms, record::Rejected{job(id, asked, name_of(id)), reason});
  }
  // At the end, `t_ms`.
  void unsubmitted(std::int64_t t_ms, std::size_t id, const Asked& asked, std::int64_t submit_ms) {
    write(t_ms, record::Unsubmitted{job(id, asked, name_of(id)), {submit_ms}});
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
    std::vector<std::uint64_t> masks;
    for (Slice slice : placed.gang) masks.push_back((std::uint64_t{1} << slice.gpus) - 1);
    write(t_ms, record::Place{.job = JobId(id),
                              .kind = placed.kind,
                              .gang = placed.gang,
                              .gpu_masks = masks,
                              .rate = Rate::of(placed.rate),
                              .overhead = {placed.overhead_ms},
                              .locality = Rate::of(placed.locality),
                              .copy = placed.copy});
  }
  // A record that names a job and nothing else: Stop, Finished, ...
  template <class What>
  void happen(std::int64_t t_ms, std::size_t id) {
    write(t_ms, What{JobId(id)});
  }
  void evict(std::int64_t t_ms, std::size_t id, std::int64_t lost_ms) {
    write(t_ms, record::Evicted{JobId(id), {lost_ms}});
  }
  void speed(std::int64_t t_ms, std::size_t id, double rate) {
    write(t_ms, record::Speed{JobId(id), Rate::of(rate)});
  }
  // NodeDown or NodeUp.
  template <class What>
  void node(std::int64_t t_ms, std::size_t id) {
    write(t_ms, What{NodeId(id)});
  }
  void note(std::int64_t t_ms, const Note& note) { write(t_ms, note); }
  void end(std::int64_t t_ms, const JobCounts& counts) { write(t_ms, record::End{counts}); }

 private:
  static std::string name_of(std::size_t id) { return "job-" + std::to_string(id); }
  static JobSpec job(std::size_t id, const Asked& asked, std::string_view name) {
    return {.job = JobId(id),
            .user = UserId(asked.user),
            .name = name,
            .model = asked.model,
            .gpus = asked.gpus,
            .gpus_min = asked.gpus,
            .gpus_max = asked.gpus,
            .work = {asked.work_ms}};
  }
  template <class What>
  void write(std::int64_t t_ms, const What& what) {
    sink_.on({{t_ms}, what});
  }

  RecordSink& sink_;
};

}  // namespace fairlead
