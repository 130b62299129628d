// Typed facts that a policy leaves in the journal, on change only, so that reports and `why` can
// say what the policy was thinking. Plain numbers, because notes are written from the hot loop.
#pragma once

#include "fairlead/base/ids.h"

#include <cstdint>
#include <string_view>

namespace fairlead {

enum class NoteKind : std::uint8_t {
  kQueue,         // job: the priority queue it moved to (value)
  kEntitlement,   // user: GPUs in thousandths (value) of one type (type)
  kTrade,         // user sold value thousandths of a GPU of `type` to other_user
  kPrice,         // type: price in millionths (value)
  kMachineTimer,  // job: milliseconds (value) that it still insists on one node; 0: no more
  kPass,          // job: stride pass in millionths (value)
  kPayoff,        // job: what its gang is worth beyond its price, in millionths (value)
  kRackTimer,     // job: milliseconds (value) that it still insists on one rack; 0: no more
  kScore,         // job: how much the network matters to it, in millionths (value)
  kSaving,        // job: GPU-milliseconds (value) that giving it this place saves, all counted
  kMadeRoom,      // job: was stopped for the job with the row `value`
};
constexpr std::size_t kNoteKinds = 11;
std::string_view note_kind_name(NoteKind kind);

struct Note {
  NoteKind kind = NoteKind::kQueue;
  JobId job;
  UserId user;
  UserId other_user;
  GpuTypeId type;
  std::int64_t value = 0;
};

}  // namespace fairlead
