// Typed facts that a policy leaves in the journal, on change only, so that reports and `why` can
// say what the policy was thinking. Plain numbers, because notes are written from the hot loop.
//
// What each kind is about and what its value means stands once, in note.cc.
#pragma once

#include "fairlead/base/ids.h"

#include <cstdint>
#include <string_view>

namespace fairlead {

enum class NoteKind : std::uint8_t {
  kQueue,
  kEntitlement,
  kTrade,
  kPrice,
  kNodeTimer,
  kPass,
  kPayoff,
  kRackTimer,
  kScore,
  kSaving,
  kMadeRoom,
};
constexpr std::size_t kNoteKinds = 11;

struct NoteInfo {
  std::string_view name;
  std::string_view about;  // what it uses of job, user, other user and GPU type
  double scale;            // value = quantity x scale: 1e3 where the value is in thousandths
  std::string_view value;  // what that means
};
const NoteInfo& note_info(NoteKind kind);

struct Note {
  NoteKind kind = NoteKind::kQueue;
  JobId job;
  UserId user;
  UserId other_user;
  GpuTypeId type;
  std::int64_t value = 0;
};

// The value as the quantity that it stands for: a timer in seconds, a pass as a number of passes.
double scaled_value(const Note& note);

}  // namespace fairlead
