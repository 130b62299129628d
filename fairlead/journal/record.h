// Record: one thing that happened in a run, and when. The journal is a sequence of them.
//
// A record is a time and one of the structs below; sinks tell them apart with std::visit
// (base/overloaded.h), or with std::get_if where they want one kind. Views and spans are valid
// during the call that passes the record.
//
// Order of records: Run, Group*, User*, Node*, then by time: who and what is new, events, then the steps of
// that time's decision (Stop*, Place*), the speeds that they changed, and the notes; then
// Unsubmitted*, last End. The state of a run is the fold of its records (engine/tables.h).
//
// A job's holds are numbered from 1, in the order of its Place records.
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
  std::int64_t unsubmitted = 0;  // of the pending: the clock stopped before their submission
  friend bool operator==(const JobCounts&, const JobCounts&) = default;
};

namespace record {

struct Run {
  std::uint64_t seed = 0;
  std::uint32_t jobs = 0;  // of the trace
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
  std::int64_t quota = 0;  // GPUs that its users may hold together; 0: any number
};

struct User {
  UserId user;
  std::string_view name;
  std::int64_t tickets = 0;
  GroupId group{};  // none: it has none
};

struct Node {
  NodeId node;
  std::string_view name;
  GpuTypeId type;
  HostId host;
  RackId rack;
  std::uint32_t gpus = 0;
};

struct Arrived {  // at its submission: asked.submit says nothing
  JobSpec asked;
};

struct Rejected {
  JobSpec asked;
  std::string_view reason;
};

struct Finished {
  JobId job;
};

struct Failed {
  JobId job;
  std::string_view reason;
};

struct Cancelled {
  JobId job;
};

struct Evicted {  // the job lost its gang with a node
  JobId job;
  Duration lost;  // running time whose work was lost
};

// Of a node, the GPUs `gpus` (bit i for GPU i; kAllGpus: whatever it has) are gone, or back. No job
// holds a GPU that is gone: those that did were evicted before.
struct GpusDown {
  NodeId node;
  std::uint64_t gpus = kAllGpus;
};

struct GpusUp {
  NodeId node;
  std::uint64_t gpus = kAllGpus;
};

struct Cordoned {  // the node takes no further gangs: its GPUs are closed as they fall idle
  NodeId node;
  std::string_view reason;
};

struct Closed {  // idle GPUs of a cordoned node: no gang may have them until it is uncordoned
  NodeId node;
  std::uint64_t gpus = 0;
};

struct Uncordoned {
  NodeId node;
};

enum class StopCause : std::uint8_t {
  kPolicy,
  kCancelled,  // by its user: Cancelled follows
  kHeld,       // by its user: Held follows
};

struct Stop {  // the job's gang was taken away
  JobId job;
  StopCause cause = StopCause::kPolicy;
  bool is_reported = false;  // Stopped or StopFailed follows; until then its GPUs may be busy
};

struct Stopped {  // the GPUs of that hold are really free
  JobId job;
  HoldId hold = 0;
};

struct StopFailed {  // the GPUs of that hold are not free; they go down until Stopped comes
  JobId job;
  HoldId hold = 0;
  std::string_view reason;
};

struct Started {
  JobId job;
  Duration overhead;  // measured
};

struct StartFailed {  // the job lost its gang, and is held until `retry`
  JobId job;
  Time retry;
  std::string_view reason;
};

struct Held {  // by its user
  JobId job;
};

struct Released {  // by its user, or as the time for its retry has come
  JobId job;
};

struct Tickets {
  UserId user;
  std::int64_t tickets = 0;
};

// An event that changed nothing: it came twice, or too late, or is about what is not there.
struct Ignored {
  EventKind event = EventKind::kFinished;
  JobId job;
  NodeId node;
  HoldId hold = 0;
};

// The world was so far ahead that wake-ups were skipped.
struct Skipped {};

// All that a policy remembers, after the decision of this time: with the records that follow, enough
// to go on (engine/recovery.h).
struct Snapshot {
  std::string_view policy;
  std::string_view options;
  std::span<const std::uint8_t> state;  // Policy::save
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
};

struct Reported {  // the job says how much it has left
  JobId job;
  Duration left;  // running time on its reference gang, more than zero
};

// What a job had before this journal began, in one that is condensed (Engine::condense). It follows the
// job's Arrived.
struct Carried {
  JobId job;
  HoldId hold = 0;   // its last
  GpuTime attained;  // GPU time served
  Duration done;     // running time on its reference gang
};

struct End {
  JobCounts counts;
};

struct Unsubmitted {  // just before End
  JobSpec asked;
  Time submit;  // which lies after the end
};

}  // namespace record

struct Record {
  // In the order of their numbers in the file.
  using What =
      std::variant<record::Run, record::User, record::Node, record::Arrived, record::Rejected,
                   record::Finished, record::Failed, record::Cancelled, record::Evicted,
                   record::GpusDown, record::GpusUp, record::Stop, record::Place, record::Speed,
                   Note, record::End, record::Unsubmitted, record::Stopped, record::StopFailed,
                   record::Started, record::StartFailed, record::Held, record::Released,
                   record::Cordoned, record::Uncordoned, record::Tickets, record::Ignored,
                   record::Skipped, record::Snapshot, record::Closed, record::Reported,
                   record::Carried, record::Group>;
  Time t;
  What what;
};

}  // namespace fairlead
