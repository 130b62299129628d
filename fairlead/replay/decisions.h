// The decisions of a run, from its records, and the first difference between the decisions of two runs.
//
// A decision is everything that happens at one time: the events, and the policy's steps in answer. Steps
// are compared by job and gang, not by their order or by GPUs within a node; notes are ignored. A decision
// without event and step leaves no record and is not counted.
#pragma once

#include "fairlead/journal/journal.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace fairlead {

struct Decision {
  struct Event {
    enum class Kind : std::uint8_t {
      kArrived,
      kRejected,
      kFinished,
      kFailed,
      kCancelled,
      kEvicted,
      kNodeDown,
      kNodeUp,
    };
    Kind kind = Kind::kArrived;
    JobId job;
    NodeId node;
    std::uint64_t gpus = 0;  // GPUs of the node that go down or come up
    friend bool operator==(const Event&, const Event&) = default;
  };
  struct Step {
    JobId job;
    bool stop = false;
    std::uint32_t copy = 0;
    std::vector<Slice> gang;  // for a place
    friend bool operator==(const Step&, const Step&) = default;
  };
  Time t;
  std::vector<Event> events;  // in order of arrival
  std::vector<Step> steps;    // by job, stops first
  // Returns a 64-bit hash of time, events and steps.
  std::uint64_t digest() const;
};

// Assembles decisions from records. REQUIRES: the records of one run in journal order.
class DecisionReader : public RecordSink {
 public:
  // The decision is valid during the call.
  explicit DecisionReader(std::function<void(const Decision&)> done) : done_(std::move(done)) {}
  void on(const Record& record) override;

 private:
  void close();

  std::function<void(const Decision&)> done_;
  Decision decision_;
};

// The common part of two runs' decisions.
struct DecisionMatch {
  std::size_t agreed = 0;  // number of equal decisions from the first on
  // The first decision that differs or is not expected; none if there is none.
  std::optional<Decision> other{};
};

// Compares a run with another run, of which it has the digests of the decisions.
class DecisionMatcher : public RecordSink {
 public:
  // `expected` must outlive it.
  explicit DecisionMatcher(const std::vector<std::uint64_t>& expected);
  DecisionMatcher(const DecisionMatcher&) = delete;
  DecisionMatcher& operator=(const DecisionMatcher&) = delete;
  void on(const Record& record) override { reader_.on(record); }
  const DecisionMatch& match() const { return match_; }

 private:
  const std::vector<std::uint64_t>& expected_;
  DecisionMatch match_;
  DecisionReader reader_;
};

}  // namespace fairlead
