// Record: one thing that happened in a run, and when. The journal is a sequence of them.
//
// A record is a time and one of the structs below; sinks tell them apart with std::visit
// (base/overloaded.h), or with std::get_if where they want one kind. Views and spans are valid
// during the call that passes the record.
//
// Order of records: Run, User*, Node*, then by time: events, then the steps of that time's decision
// (Stop*, Place*), the speeds that they changed, and the notes; then Unsubmitted*, last End.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
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

struct User {
  UserId user;
  std::string_view name;
  std::int64_t tickets = 0;
};

struct Node {
  NodeId node;
  std::string_view name;
  GpuTypeId type;
  HostId host;
  RackId rack;
  std::uint32_t gpus = 0;
};

// What a job asks for.
struct Asked {
  JobId job;
  UserId user;
  std::string_view name;
  std::string_view model;  // empty: none is named
  std::uint32_t gpus = 0;
  std::uint32_t gpus_min = 0;
  std::uint32_t gpus_max = 0;
  Duration work;  // at speed 1, that is with the reference gang
};

struct Arrived {  // at its submission
  Asked asked;
};

struct Rejected {
  Asked asked;
  std::string_view reason;
};

struct Finished {
  JobId job;
};

struct Failed {
  JobId job;
};

struct Cancelled {
  JobId job;
};

struct Evicted {  // the job lost its gang with a node
  JobId job;
  Duration lost;  // running time whose work was lost
};

struct NodeDown {
  NodeId node;
};

struct NodeUp {
  NodeId node;
};

struct Stop {  // the policy took the job's gang away
  JobId job;
};

struct Place {
  JobId job;
  PlaceKind kind = PlaceKind::kStart;
  Gang gang;
  std::span<const std::uint64_t> gpu_masks;  // beside gang: the GPUs granted on each node
  Rate rate = Rate::one();
  Duration overhead;  // before the gang does any work
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

struct End {
  JobCounts counts;
};

struct Unsubmitted {  // just before End
  Asked asked;
  Time submit;  // which lies after the end
};

}  // namespace record

struct Record {
  // In the order of their numbers in the file.
  using What = std::variant<record::Run, record::User, record::Node, record::Arrived,
                            record::Rejected, record::Finished, record::Failed, record::Cancelled,
                            record::Evicted, record::NodeDown, record::NodeUp, record::Stop,
                            record::Place, record::Speed, Note, record::End, record::Unsubmitted>;
  Time t;
  What what;
};

}  // namespace fairlead
