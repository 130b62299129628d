#include "fairlead/replay/decisions.h"

#include <algorithm>
#include <tuple>

namespace fairlead {
namespace {

class Digest {
 public:
  void add(std::uint64_t value) {
    hash_ = (hash_ ^ value) * 0x100000001b3;
    hash_ ^= hash_ >> 29;
    hash_ *= 0x9e3779b97f4a7c15;
    hash_ ^= hash_ >> 32;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

std::uint64_t Decision::digest() const {
  Digest digest;
  digest.add(static_cast<std::uint64_t>(t.ms));
  digest.add(events.size());
  for (const Event& event : events) {
    digest.add(static_cast<std::uint64_t>(event.kind));
    digest.add(std::uint64_t{event.job.row()} << 32 | event.node.row());
  }
  for (const Step& step : steps) {
    digest.add(std::uint64_t{step.job.row()} << 32 | step.copy);
    digest.add(step.stop ? 0 : 1 + step.gang.size());
    for (const Slice slice : step.gang) {
      digest.add(std::uint64_t{slice.node.row()} << 32 | slice.gpus);
    }
  }
  return digest.value();
}

void DecisionReader::on(const Record& record) {
  if (record.t != decision_.t) {
    close();
    decision_.t = record.t;
  }
  switch (record.kind) {
    case RecordKind::kArrived:
    case RecordKind::kRejected:
    case RecordKind::kFinished:
    case RecordKind::kFailed:
    case RecordKind::kCancelled:
    case RecordKind::kEvicted:
    case RecordKind::kNodeDown:
    case RecordKind::kNodeUp:
      decision_.events.push_back({record.kind, record.job, record.node});
      return;
    case RecordKind::kStop:
      decision_.steps.push_back({.job = record.job, .stop = true, .gang = {}});
      return;
    case RecordKind::kPlace:
      decision_.steps.push_back({.job = record.job,
                                 .copy = record.copy,
                                 .gang = {record.gang.begin(), record.gang.end()}});
      return;
    case RecordKind::kEnd:
      return close();
    case RecordKind::kRun:
    case RecordKind::kUser:
    case RecordKind::kNode:
    case RecordKind::kSpeed:
    case RecordKind::kNote:
    case RecordKind::kUnsubmitted:
      return;
  }
}

void DecisionReader::close() {
  if (decision_.events.empty() && decision_.steps.empty()) return;
  std::ranges::sort(decision_.steps, {}, [](const Decision::Step& step) {
    return std::tuple(step.job, !step.stop, step.copy);
  });
  done_(decision_);
  decision_.events.clear();
  decision_.steps.clear();
}

DecisionMatcher::DecisionMatcher(const std::vector<std::uint64_t>& expected)
    : expected_(expected), reader_([this](const Decision& decision) {
        if (match_.other) return;
        if (match_.agreed < expected_.size() && decision.digest() == expected_[match_.agreed]) {
          ++match_.agreed;
        } else {
          match_.other = decision;
        }
      }) {}

}  // namespace fairlead
