#include "fairlead/model/note.h"

#include <array>

namespace fairlead {
namespace {

constexpr std::array<NoteInfo, kNoteKinds> kNotes = {{
    {"queue", "job", 1, "the queue it moved to"},
    {"entitlement", "user, GPU type", 1e3, "GPUs in thousandths"},
    {"trade", "user (seller), other user (buyer), GPU type (the fast one)", 1e3,
     "fast GPUs sold, in thousandths"},
    {"price", "GPU type; of a trade also its users", 1e6,
     "what a GPU costs, or what the trade before it pays in slow GPUs per fast GPU, in millionths"},
    {"node_timer", "job", 1e3, "milliseconds that it still insists on one node; 0: no more"},
    {"pass", "job", 1e6, "stride pass in millionths"},
    {"payoff", "job", 1e6, "what its gang is worth beyond its price, in millionths"},
    {"rack_timer", "job", 1e3, "milliseconds that it still insists on one rack; 0: no more"},
    {"score", "job that others were stopped for, or that was moved", 1e6,
     "how much the network matters to it, in millionths"},
    {"saving", "job that was moved, or that others were stopped for", 1e3,
     "GPU-milliseconds saved beyond what it costs all"},
    {"made_room", "job that was stopped", 1, "the job that it was stopped for"},
}};

}  // namespace

const NoteInfo& note_info(NoteKind kind) { return kNotes[static_cast<std::size_t>(kind)]; }

double scaled_value(const Note& note) {
  return static_cast<double>(note.value) / note_info(note.kind).scale;
}

}  // namespace fairlead
