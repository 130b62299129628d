// Typed facts that a policy leaves in the journal, on change only, so that reports and `why` can
// say what the policy was thinking. Plain numbers, because notes are written from the hot loop.
//
// The catalogue in note.cc has the name of each kind, what it is about and what its value means.
// Reports and the journal have the same columns for all kinds (NoteFields); columns() lists those that
// a kind has, and its members for them.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

namespace fairlead {

namespace note {

// A number in steps of 1 / kSteps.
template <std::int64_t kSteps>
struct Fixed {
  std::int64_t steps = 0;

  // Rounds to the nearest step.
  static Fixed of(double value) { return {std::llround(value * kSteps)}; }
  double value() const { return static_cast<double>(steps) / kSteps; }
  friend bool operator==(Fixed, Fixed) = default;
};
using Thousandths = Fixed<1'000>;
using Millionths = Fixed<1'000'000>;

struct Queue {
  JobId job;
  std::int64_t queue = 0;  // that it moved to
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.queue);
  }
};

struct Entitlement {
  UserId user;
  GpuTypeId type;
  Thousandths gpus;
  static void columns(auto& self, auto& visit) {
    visit.user(self.user);
    visit.type(self.type);
    visit.value(self.gpus);
  }
};

struct Trade {
  UserId seller;
  UserId buyer;
  GpuTypeId fast;
  Thousandths gpus;  // fast ones sold
  static void columns(auto& self, auto& visit) {
    visit.user(self.seller);
    visit.other_user(self.buyer);
    visit.type(self.fast);
    visit.value(self.gpus);
  }
};

// What a GPU costs; with users, what the trade before pays in slow GPUs per fast GPU.
struct Price {
  UserId seller;
  UserId buyer;
  GpuTypeId type;
  Millionths price;
  static void columns(auto& self, auto& visit) {
    visit.user(self.seller);
    visit.other_user(self.buyer);
    visit.type(self.type);
    visit.value(self.price);
  }
};

struct NodeTimer {
  JobId job;
  Duration left;  // for which it still insists on one node; zero: no more
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.left);
  }
};

struct RackTimer {
  JobId job;
  Duration left;  // for which it still insists on one rack; zero: no more
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.left);
  }
};

struct Pass {
  JobId job;
  Millionths pass;
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.pass);
  }
};

struct Payoff {
  JobId job;
  Millionths payoff;  // what its gang is worth beyond its price
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.payoff);
  }
};

struct Score {
  JobId job;
  Millionths score;  // how much the network matters to it
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.score);
  }
};

struct Saving {
  JobId job;
  GpuTime saved;  // beyond what it costs all
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.saved);
  }
};

struct MadeRoom {
  JobId job;
  JobId stopped_for;
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.stopped_for);
  }
};

struct Debt {
  UserId user;
  GpuTime behind;  // what it is due; negative: ahead
  static void columns(auto& self, auto& visit) {
    visit.user(self.user);
    visit.value(self.behind);
  }
};

struct Rank {
  JobId job;
  Millionths rank;  // of the jobs, the part that has at least as much work left
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.rank);
  }
};

}  // namespace note

// In the order of their numbers in the journal.
using Note = std::variant<note::Queue, note::Entitlement, note::Trade, note::Price, note::NodeTimer,
                          note::Pass, note::Payoff, note::RackTimer, note::Score, note::Saving,
                          note::MadeRoom, note::Debt, note::Rank>;
constexpr std::size_t kNoteKinds = std::variant_size_v<Note>;

struct NoteInfo {
  std::string_view name;
  std::string_view about;  // what it uses of job, user, other user and GPU type
  double scale;            // value = quantity x scale: 1e3 where the value is in thousandths
  std::string_view value;  // what that means
};
// REQUIRES: kind < kNoteKinds, an index of Note.
const NoteInfo& note_info(std::size_t kind);

// A note as journal and reports have it: the same columns for every kind, none where it has none.
struct NoteFields {
  JobId job;
  UserId user;
  UserId other_user;
  GpuTypeId type;
  std::int64_t value = 0;
  friend bool operator==(const NoteFields&, const NoteFields&) = default;
};
NoteFields fields_of(const Note& note);
// The note of that kind with these fields; those that it has no use for are left out.
// REQUIRES: kind < kNoteKinds.
Note note_of(std::size_t kind, const NoteFields& fields);

// The value as the quantity that it stands for: a timer in seconds, a pass as a number of passes.
double scaled_value(const Note& note);

}  // namespace fairlead
