// Record: one thing that happened in a run, and when. The journal is a sequence of them.
//
// A record is a time and one of the structs below; sinks distinguish them with std::visit
// (base/overloaded.h), or with std::get_if for a single kind. Views and spans are valid
// during the call that passes the record.
//
// Order of records: Run, Group*, User*, Node*, then by time: new users, nodes and jobs, events, then the steps of
// that time's decision (Stop*, Place*), the speeds that they changed, and the notes; then
// Unsubmitted*, last End. The state of a run is the fold of its records (engine/tables.h).
//
// A kind lists its fields once, in fields(). The codec (codec.cc), the dump (report/journal_dump.h) and
// impossible.h visit them. A visitor has:
//   visit(name, field)
//   visit.unless(value, name, field)                 a field that the dump omits if it has that value
//   visit.enumerator(name, field, count, name_of)
//   visit.mask(name, gpus)                           GPUs of a node; kAllGpus: all
//   visit.job(asked)                                 the fields of a JobSpec, which lists them itself
//   visit.extra(name, field, range)                  a field of JobExtras
// Run, Place, Snapshot and Note have no list, because their parts depend on each other.
//
// A job's runs are numbered from 1, in the order of its Place records.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/event.h"
#include "fairlead/model/job_spec.h"
#include "fairlead/model/note.h"
#include "fairlead/model/step.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace fairlead {

// Jobs by their final state.
struct JobCounts {
  std::int64_t finished = 0;
  std::int64_t failed = 0;  // cancelled jobs included
  std::int64_t rejected = 0;
  std::int64_t pending = 0;
  std::int64_t unsubmitted = 0;  // pending jobs: the clock stopped before their submission
  friend bool operator==(const JobCounts&, const JobCounts&) = default;
};

namespace record {

struct Run {
  std::uint64_t seed = 0;
  std::uint32_t jobs = 0;  // jobs in the trace
  std::string_view policy;
  std::string_view options;
  std::string_view cluster;
  std::string_view trace;
  std::span<const std::string> gpu_types;
};

struct Group {
  GroupId group;
  std::string_view name;
  std::int64_t tickets = 0;
  std::int64_t quota = 0;  // GPUs that its users may have together; 0: any number
  static void fields(auto& self, auto& visit) {
    visit("group", self.group);
    visit("name", self.name);
    visit("tickets", self.tickets);
    visit.unless(0, "quota", self.quota);
  }
};

struct User {
  UserId user;
  std::string_view name;
  std::int64_t tickets = 0;
  GroupId group{};  // none: it has none
  static void fields(auto& self, auto& visit) {
    visit("user", self.user);
    visit("name", self.name);
    visit("tickets", self.tickets);
    visit.unless(GroupId(), "group", self.group);
  }
};

struct Node {
  NodeId node;
  std::string_view name;
  GpuTypeId type;
  HostId host;
  RackId rack;
  std::uint32_t gpus = 0;
  static void fields(auto& self, auto& visit) {
    visit("node", self.node);
    visit("name", self.name);
    visit("type", self.type);
    visit("host", self.host);
    visit("rack", self.rack);
    visit("gpus", self.gpus);
  }
};

struct Arrived {  // at its submission: asked.submit is not set
  JobSpec asked;
  static void fields(auto& self, auto& visit) { visit.job(self.asked); }
};

struct Rejected {
  JobSpec asked;
  std::string_view reason;
  static void fields(auto& self, auto& visit) {
    visit.job(self.asked);
    visit("reason", self.reason);
  }
};

struct Finished {
  JobId job;
  static void fields(auto& self, auto& visit) { visit("job", self.job); }
};

struct Failed {
  JobId job;
  std::string_view reason;
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("reason", self.reason);
  }
};

struct Cancelled {
  JobId job;
  std::string_view reason{};  // empty: its user or an operator asked for it
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit.unless(std::string_view(), "reason", self.reason);
  }
};

struct Evicted {  // the job lost its gang with a node
  JobId job;
  Duration lost;  // running time whose work was lost
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("lost_ms", self.lost);
  }
};

// The GPUs `gpus` of a node (bit i for GPU i; kAllGpus: all that it has) are gone, or back. No job has
// a GPU that is gone: such jobs were evicted before.
struct GpusDown {
  NodeId node;
  std::uint64_t gpus = kAllGpus;
  static void fields(auto& self, auto& visit) {
    visit("node", self.node);
    visit.mask("mask", self.gpus);
  }
};

struct GpusUp {
  NodeId node;
  std::uint64_t gpus = kAllGpus;
  static void fields(auto& self, auto& visit) {
    visit("node", self.node);
    visit.mask("mask", self.gpus);
  }
};

struct Cordoned {  // the node takes no further gangs: its GPUs are closed as they fall idle
  NodeId node;
  std::string_view reason;
  static void fields(auto& self, auto& visit) {
    visit("node", self.node);
    visit("reason", self.reason);
  }
};

struct Closed {  // idle GPUs of a cordoned node: no gang may have them until it is uncordoned
  NodeId node;
  std::uint64_t gpus = 0;
  static void fields(auto& self, auto& visit) {
    visit("node", self.node);
    visit.mask("mask", self.gpus);
  }
};

struct Uncordoned {
  NodeId node;
  static void fields(auto& self, auto& visit) { visit("node", self.node); }
};

struct Stop {  // the job's gang was taken away
  JobId job;
  StopCause cause = StopCause::kPolicy;
  bool is_reported = false;  // Stopped or StopFailed follows; until then its GPUs may be busy
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit.enumerator("cause", self.cause, kStopCauses, stop_cause_name);
    visit("reported", self.is_reported);
  }
};

struct Stopped {  // the GPUs of that run are really free
  JobId job;
  RunId run = 0;
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("hold", self.run);
  }
};

struct StopFailed {  // the GPUs of that run are not free; they go down until Stopped comes
  JobId job;
  RunId run = 0;
  std::string_view reason;
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("hold", self.run);
    visit("reason", self.reason);
  }
};

struct Started {
  JobId job;
  Duration overhead;  // measured
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("overhead_ms", self.overhead);
  }
};

struct StartFailed {  // the job lost its gang, and is held until `retry`
  JobId job;
  Time retry;
  std::string_view reason;
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("retry_ms", self.retry);
    visit("reason", self.reason);
  }
};

struct Held {  // by its user, or until other jobs have ended
  JobId job;
  static void fields(auto& self, auto& visit) { visit("job", self.job); }
};

struct
    Released {  // by its user, because others have ended, or because the time for its retry has come
  JobId job;
  static void fields(auto& self, auto& visit) { visit("job", self.job); }
};

struct Tickets {
  UserId user;
  std::int64_t tickets = 0;
  static void fields(auto& self, auto& visit) {
    visit("user", self.user);
    visit("tickets", self.tickets);
  }
};

// An event that changed nothing: it came twice, or too late, or is about what is not there.
struct Ignored {
  EventKind event = EventKind::kFinished;
  JobId job;
  NodeId node;
  RunId run = 0;
  static void fields(auto& self, auto& visit) {
    visit.enumerator("event", self.event, kEventKinds, event_name);
    visit("job", self.job);
    visit("node", self.node);
    visit("hold", self.run);
  }
};

// The world was so far ahead that wake-ups were skipped.
struct Skipped {
  static void fields(auto& /*self*/, auto& /*visit*/) {}
};

// All that a policy remembers, after the decision of this time: with the records that follow, enough
// to go on (engine/recovery.h).
struct Snapshot {
  std::string_view policy;
  std::string_view options;
  std::span<const std::uint8_t> state;  // Policy::fields
  std::span<const Time> wakes;          // that it asked for and have not come yet, in order
};

struct Place {
  JobId job;
  PlaceKind kind = PlaceKind::kStart;
  Gang gang;
  std::span<const std::uint64_t> gpu_masks;  // beside gang: the GPUs granted on each node
  Rate rate = Rate::one();
  Duration overhead;         // before the gang does any work; expected, if is_reported
  bool is_reported = false;  // Started or StartFailed follows
  Rate locality = Rate::one();
  // Copies (HadarE); shared GPUs (Gandiva's packing) are in the format, but no policy places them
  // yet.
  std::uint32_t copy = 0;
  std::uint32_t share_num = 1;
  std::uint32_t share_den = 1;
};

struct Speed {  // the job's rate changed
  JobId job;
  Rate rate;
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("rate", self.rate);
  }
};

struct Reported {  // the job reported its remaining work
  JobId job;
  Duration left;  // running time on its reference gang, more than zero
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("left_ms", self.left);
  }
};

// The progress of a job before the start of a condensed journal (Engine::condense). It follows the
// job's Arrived.
struct Carried {
  JobId job;
  RunId run = 0;     // its last
  GpuTime attained;  // GPU time served
  Duration done;     // running time on its reference gang
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("hold", self.run);
    visit("attained_gpu_ms", self.attained);
    visit("done_ms", self.done);
  }
};

// The world has seen whether a job can save its work, so that it may leave its GPUs.
struct Pinned {
  JobId job;
  bool is_pinned = false;
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("pinned", self.is_pinned);
  }
};

// A user asks to forget the measured speeds of one of its models. Gangs that run are measured again.
struct Forgotten {
  UserId user;
  std::string_view model;  // empty: of jobs without one
  static void fields(auto& self, auto& visit) {
    visit("user", self.user);
    visit("model", self.model);
  }
};

// The world has seen the profile of a job. It counts for all jobs of the user and model from now on.
struct Profiled {
  JobId job;
  JobProfile profile;
  static void fields(auto& self, auto& visit) {
    visit("job", self.job);
    visit("parameters_kb", self.profile.parameters_kb);
    visit("gradients_kb", self.profile.gradients_kb);
    visit("largest_tensor_kb", self.profile.largest_tensor_kb);
    visit("workers", self.profile.workers);
    visit("samples", self.profile.samples);
    visit("step_us", self.profile.step_us);
  }
};

// Processes of a user took GPU time on a node outside of the user's jobs: they are of no job, or of a job with other
// GPUs. The time counts for the user from now on (docs/decisions/0080-foreign-gpu-time-is-charged.md).
struct Charged {
  UserId user;
  NodeId node;
  GpuTime attained;
  static void fields(auto& self, auto& visit) {
    visit("user", self.user);
    visit("node", self.node);
    visit("attained_gpu_ms", self.attained);
  }
};

struct End {
  JobCounts counts;
  static void fields(auto& self, auto& visit) {
    visit("finished", self.counts.finished);
    visit("failed", self.counts.failed);
    visit("rejected", self.counts.rejected);
    visit("pending", self.counts.pending);
    visit("unsubmitted", self.counts.unsubmitted);
  }
};

struct Unsubmitted {  // just before End
  JobSpec asked;
  Time submit;  // which lies after the end
  static void fields(auto& self, auto& visit) {
    visit.job(self.asked);
    visit("submit_ms", self.submit);
  }
};

}  // namespace record

struct Record {
  // In the order of their numbers in the file.
  using What = std::variant<
      record::Run, record::User, record::Node, record::Arrived, record::Rejected, record::Finished,
      record::Failed, record::Cancelled, record::Evicted, record::GpusDown, record::GpusUp,
      record::Stop, record::Place, record::Speed, Note, record::End, record::Unsubmitted,
      record::Stopped, record::StopFailed, record::Started, record::StartFailed, record::Held,
      record::Released, record::Cordoned, record::Uncordoned, record::Tickets, record::Ignored,
      record::Skipped, record::Snapshot, record::Closed, record::Reported, record::Carried,
      record::Group, record::Pinned, record::Forgotten, record::Profiled, record::Charged>;
  Time t;
  What what;
};

}  // namespace fairlead
