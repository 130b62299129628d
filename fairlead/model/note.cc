#include "fairlead/model/note.h"

#include <array>
#include <utility>

namespace fairlead {
namespace {

constexpr std::array<NoteInfo, kNoteKinds> kNotes = {{
    {"queue", "job", 1, "the job's new queue"},
    {"entitlement", "user, GPU type", 1e3, "GPUs"},
    {"trade", "user (seller), other user (buyer), GPU type (the fast one)", 1e3, "fast GPUs sold"},
    {"price", "GPU type; for a trade also its users", 1e6,
     "price of a GPU, or of the previous trade in slow GPUs per fast GPU"},
    {"node_timer", "job", 1e3,
     "remaining seconds in which the job insists on one node; 0: no more"},
    {"pass", "job", 1e6, "stride pass"},
    {"payoff", "job", 1e6, "worth of the job's gang minus its price"},
    {"rack_timer", "job", 1e3,
     "remaining seconds in which the job insists on one rack; 0: no more"},
    {"score", "job that others were stopped for, or that was moved", 1e6,
     "importance of the network to the job"},
    {"saving", "job that was moved, or that others were stopped for", 1e3,
     "GPU-seconds saved, net of the cost to all jobs"},
    {"made_room", "job that was stopped", 1, "the job for which it was stopped"},
    {"debt", "user", 1e3, "GPU-seconds by which the user is behind its due; below 0: ahead"},
    {"rank", "job", 1e6, "value of a step for early finishes, in fractions of the largest"},
    {"cut", "first job that a decision did not examine, because its budget was used up", 1,
     "evaluations of the decision"},
}};

// Copies the columns of a note.
struct ToFields {
  NoteFields fields{};

  void job(JobId job) { fields.job = job; }
  void user(UserId user) { fields.user = user; }
  void other_user(UserId user) { fields.other_user = user; }
  void type(GpuTypeId type) { fields.type = type; }
  void value(std::int64_t value) { fields.value = value; }
  template <std::int64_t kSteps>
  void value(note::Fixed<kSteps> value) {
    fields.value = value.steps;
  }
  void value(Duration value) { fields.value = value.ms; }
  void value(GpuTime value) { fields.value = static_cast<std::int64_t>(value.gpu_ms); }
  // The job's row; -1 for none.
  void value(JobId job) { fields.value = job.is_none() ? -1 : std::int64_t{job.row()}; }
};

// Copies columns into a note.
struct FromFields {
  const NoteFields& fields;

  void job(JobId& job) const { job = fields.job; }
  void user(UserId& user) const { user = fields.user; }
  void other_user(UserId& user) const { user = fields.other_user; }
  void type(GpuTypeId& type) const { type = fields.type; }
  void value(std::int64_t& value) const { value = fields.value; }
  template <std::int64_t kSteps>
  void value(note::Fixed<kSteps>& value) const {
    value.steps = fields.value;
  }
  void value(Duration& value) const { value.ms = fields.value; }
  void value(GpuTime& value) const { value.gpu_ms = fields.value; }
  void value(JobId& job) const {
    const bool is_row = fields.value >= 0 && fields.value < std::int64_t{JobId::none().row()};
    job = is_row ? JobId(static_cast<std::size_t>(fields.value)) : JobId::none();
  }
};

template <class Kind>
void read(Kind& note, const NoteFields& fields) {
  const FromFields visit{fields};
  Kind::columns(note, visit);
}

template <std::size_t... kKinds>
void read_kind(std::size_t kind, Note& note, const NoteFields& fields,
               std::index_sequence<kKinds...>) {
  (void)((kind == kKinds && (read(note.emplace<kKinds>(), fields), true)) || ...);
}

}  // namespace

const NoteInfo& note_info(std::size_t kind) { return kNotes[kind]; }

NoteFields fields_of(const Note& note) {
  return std::visit(
      []<class Kind>(const Kind& kind) {
        ToFields visit;
        Kind::columns(kind, visit);
        return visit.fields;
      },
      note);
}

Note note_of(std::size_t kind, const NoteFields& fields) {
  Note note;
  read_kind(kind, note, fields, std::make_index_sequence<kNoteKinds>());
  return note;
}

double scaled_value(const Note& note) {
  return static_cast<double>(fields_of(note).value) / note_info(note.index()).scale;
}

}  // namespace fairlead
