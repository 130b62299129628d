// The words that files and reports use for enumerators.

#include "fairlead/model/note.h"
#include "fairlead/model/step.h"

namespace fairlead {

std::string_view place_kind_name(PlaceKind kind) {
  constexpr std::string_view kNames[kPlaceKinds] = {"start", "resume", "migrate"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view note_kind_name(NoteKind kind) {
  constexpr std::string_view kNames[kNoteKinds] = {
      "queue",  "entitlement", "trade", "price",  "machine_timer", "pass",
      "payoff", "rack_timer",  "score", "saving", "made_room"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace fairlead
