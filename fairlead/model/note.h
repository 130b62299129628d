// Typed facts that a policy writes to the journal when they change, so that reports and `why` can explain its
// decisions. They are plain numbers, because notes are written from the hot loop.
//
// The catalogue in note.cc has the name, the subject and the meaning of the value of each kind. Reports and the journal
// have the same columns for all kinds (NoteFields). columns() lists the columns of a kind and its members for them.
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
  std::int64_t queue = 0;  // the job's new queue
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

// The price of a GPU; with users, the price of the previous trade in slow GPUs per fast GPU.
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
  Duration left;  // remaining time in which the job insists on one node; zero: no more
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.left);
  }
};

struct RackTimer {
  JobId job;
  Duration left;  // remaining time in which the job insists on one rack; zero: no more
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
  Millionths payoff;  // worth of the job's gang minus its price
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.payoff);
  }
};

struct Score {
  JobId job;
  Millionths score;  // importance of the network to the job
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.score);
  }
};

struct Saving {
  JobId job;
  GpuTime saved;  // net of the cost to all jobs
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
  GpuTime behind;  // GPU time by which the user is behind its due; negative: ahead
  static void columns(auto& self, auto& visit) {
    visit.user(self.user);
    visit.value(self.behind);
  }
};

struct Rank {
  JobId job;
  Millionths rank;  // value of a step for early finishes, in fractions of the largest
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.rank);
  }
};

// A decision ended because its budget was used up (policy/decision_budget.h).
struct Cut {
  JobId job;                     // the first job that it did not examine
  std::int64_t evaluations = 0;  // of the decision
  static void columns(auto& self, auto& visit) {
    visit.job(self.job);
    visit.value(self.evaluations);
  }
};

}  // namespace note

// In the order of their numbers in the journal.
using Note = std::variant<note::Queue, note::Entitlement, note::Trade, note::Price, note::NodeTimer,
                          note::Pass, note::Payoff, note::RackTimer, note::Score, note::Saving,
                          note::MadeRoom, note::Debt, note::Rank, note::Cut>;
constexpr std::size_t kNoteKinds = std::variant_size_v<Note>;

struct NoteInfo {
  std::string_view name;
  std::string_view about;  // used fields: job, user, other user, GPU type
  double scale;            // value = quantity x scale: 1e3 for a value in thousandths
  std::string_view value;  // meaning of the quantity
};
// Returns the catalogue entry of a kind. REQUIRES: kind < kNoteKinds, an index of Note.
const NoteInfo& note_info(std::size_t kind);

// A note in the form of the journal and reports: the same columns for every kind; unused columns are none.
struct NoteFields {
  JobId job;
  UserId user;
  UserId other_user;
  GpuTypeId type;
  std::int64_t value = 0;
  friend bool operator==(const NoteFields&, const NoteFields&) = default;
};
NoteFields fields_of(const Note& note);
// Returns the note of that kind with these fields; fields that the kind does not use are ignored.
// REQUIRES: kind < kNoteKinds.
Note note_of(std::size_t kind, const NoteFields& fields);

// Returns the value as a quantity: a timer in seconds, a pass as a number of passes.
double scaled_value(const Note& note);

}  // namespace fairlead
