#include "fairlead/model/note.h"

#include <array>
#include <utility>

namespace fairlead {
namespace {

constexpr std::array<NoteInfo, kNoteKinds> kNotes = {{
    {"queue", "job", 1, "the queue it moved to"},
    {"entitlement", "user, GPU type", 1e3, "GPUs"},
    {"trade", "user (seller), other user (buyer), GPU type (the fast one)", 1e3, "fast GPUs sold"},
    {"price", "GPU type; of a trade also its users", 1e6,
     "what a GPU costs, or what the trade before it pays in slow GPUs per fast GPU"},
    {"node_timer", "job", 1e3, "seconds that it still insists on one node; 0: no more"},
    {"pass", "job", 1e6, "stride pass"},
    {"payoff", "job", 1e6, "what its gang is worth beyond its price"},
    {"rack_timer", "job", 1e3, "seconds that it still insists on one rack; 0: no more"},
    {"score", "job that others were stopped for, or that was moved", 1e6,
     "how much the network matters to it"},
    {"saving", "job that was moved, or that others were stopped for", 1e3,
     "GPU-seconds saved beyond what it costs all"},
    {"made_room", "job that was stopped", 1, "the job that it was stopped for"},
    {"debt", "user", 1e3, "GPU-seconds that it is behind what it is due; below 0: ahead"},
    {"rank", "job", 1e6, "the part of all jobs that has at least as much work left"},
}};

// read() and fields() are each other's inverse, kind by kind.

void read(note::Queue& note, const NoteFields& f) { note = {f.job, f.value}; }
NoteFields fields(const note::Queue& note) { return {.job = note.job, .value = note.queue}; }

void read(note::Entitlement& note, const NoteFields& f) { note = {f.user, f.type, {f.value}}; }
NoteFields fields(const note::Entitlement& note) {
  return {.user = note.user, .type = note.type, .value = note.gpus.steps};
}

void read(note::Trade& note, const NoteFields& f) {
  note = {f.user, f.other_user, f.type, {f.value}};
}
NoteFields fields(const note::Trade& note) {
  return {
      .user = note.seller, .other_user = note.buyer, .type = note.fast, .value = note.gpus.steps};
}

void read(note::Price& note, const NoteFields& f) {
  note = {f.user, f.other_user, f.type, {f.value}};
}
NoteFields fields(const note::Price& note) {
  return {
      .user = note.seller, .other_user = note.buyer, .type = note.type, .value = note.price.steps};
}

void read(note::NodeTimer& note, const NoteFields& f) { note = {f.job, {f.value}}; }
NoteFields fields(const note::NodeTimer& note) { return {.job = note.job, .value = note.left.ms}; }

void read(note::RackTimer& note, const NoteFields& f) { note = {f.job, {f.value}}; }
NoteFields fields(const note::RackTimer& note) { return {.job = note.job, .value = note.left.ms}; }

void read(note::Pass& note, const NoteFields& f) { note = {f.job, {f.value}}; }
NoteFields fields(const note::Pass& note) { return {.job = note.job, .value = note.pass.steps}; }

void read(note::Payoff& note, const NoteFields& f) { note = {f.job, {f.value}}; }
NoteFields fields(const note::Payoff& note) {
  return {.job = note.job, .value = note.payoff.steps};
}

void read(note::Score& note, const NoteFields& f) { note = {f.job, {f.value}}; }
NoteFields fields(const note::Score& note) { return {.job = note.job, .value = note.score.steps}; }

void read(note::Saving& note, const NoteFields& f) { note = {f.job, {f.value}}; }
NoteFields fields(const note::Saving& note) {
  return {.job = note.job, .value = static_cast<std::int64_t>(note.saved.gpu_ms)};
}

// The other job stands in the value by its row; -1 for none.
void read(note::MadeRoom& note, const NoteFields& f) {
  const bool is_row = f.value >= 0 && f.value < std::int64_t{JobId::none().row()};
  note = {f.job, is_row ? JobId(static_cast<std::size_t>(f.value)) : JobId::none()};
}
NoteFields fields(const note::MadeRoom& note) {
  const JobId job = note.stopped_for;
  return {.job = note.job, .value = job.is_none() ? -1 : std::int64_t{job.row()}};
}

void read(note::Debt& note, const NoteFields& f) { note = {f.user, {f.value}}; }
NoteFields fields(const note::Debt& note) {
  return {.user = note.user, .value = static_cast<std::int64_t>(note.behind.gpu_ms)};
}

void read(note::Rank& note, const NoteFields& f) { note = {f.job, {f.value}}; }
NoteFields fields(const note::Rank& note) { return {.job = note.job, .value = note.rank.steps}; }

template <std::size_t... kKinds>
void read_kind(std::size_t kind, Note& note, const NoteFields& fields,
               std::index_sequence<kKinds...>) {
  (void)((kind == kKinds && (read(note.emplace<kKinds>(), fields), true)) || ...);
}

}  // namespace

const NoteInfo& note_info(std::size_t kind) { return kNotes[kind]; }

NoteFields fields_of(const Note& note) {
  return std::visit([](const auto& kind) { return fields(kind); }, note);
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
