#include "fairlead/replay/decisions.h"

#include "fairlead/base/overloaded.h"

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
    digest.add(event.gpus);
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
  using Kind = Decision::Event::Kind;
  const auto of_job = [&](Kind kind, JobId job) {
    decision_.events.push_back({kind, job, NodeId::none(), 0});
  };
  const auto of_node = [&](Kind kind, const auto& what) {
    decision_.events.push_back({kind, JobId::none(), what.node, what.gpus});
  };
  std::visit(
      Overloaded{
          [&](const record::Arrived& arrived) { of_job(Kind::kArrived, arrived.asked.job); },
          [&](const record::Rejected& rejected) { of_job(Kind::kRejected, rejected.asked.job); },
          [&](const record::Finished& finished) { of_job(Kind::kFinished, finished.job); },
          [&](const record::Failed& failed) { of_job(Kind::kFailed, failed.job); },
          [&](const record::Cancelled& cancelled) { of_job(Kind::kCancelled, cancelled.job); },
          [&](const record::Evicted& evicted) { of_job(Kind::kEvicted, evicted.job); },
          [&](const record::GpusDown& down) { of_node(Kind::kNodeDown, down); },
          [&](const record::GpusUp& up) { of_node(Kind::kNodeUp, up); },
          [&](const record::Stop& stop) {
            decision_.steps.push_back({.job = stop.job, .stop = true, .gang = {}});
          },
          [&](const record::Place& place) {
            decision_.steps.push_back({.job = place.job,
                                       .copy = place.copy,
                                       .gang = {place.gang.begin(), place.gang.end()}});
          },
          [&](const record::End&) { close(); },
          [](const auto&) {},
      },
      record.what);
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
