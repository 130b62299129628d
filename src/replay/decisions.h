// The decisions of a run, from its records, and where two runs first decide differently.
//
// A decision is all that happens at one time: the events, and the steps that the policy answers
// with. Of steps only job and gang count, not their order nor which GPUs of a node it is; notes do
// not count. Decisions without event and step leave no trace and are none.
#pragma once

#include "fairlead/journal/journal.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace fairlead {

struct Decision {
  struct Event {
    RecordKind kind = RecordKind::kArrived;
    JobId job;
    NodeId node;
    friend bool operator==(const Event&, const Event&) = default;
  };
  struct Step {
    JobId job;
    bool stop = false;
    std::uint32_t copy = 0;
    std::vector<Slice> gang;  // of a place
    friend bool operator==(const Step&, const Step&) = default;
  };
  Time t;
  std::vector<Event> events;  // as they came
  std::vector<Step> steps;    // by job, stops first
  // 64 bits that differ where two decisions do, but for one chance in 2^64.
  std::uint64_t digest() const;
};

// Puts records together to decisions. REQUIRES: the records of one run in journal order.
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

// How far a run decides as another did.
struct DecisionMatch {
  std::size_t agreed = 0;  // from the first on
  // The first that is another, or one too many; none if there is none.
  std::optional<Decision> other{};
};

// Compares a run with one whose decisions are known by their digests.
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
