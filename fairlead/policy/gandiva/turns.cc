#include "fairlead/policy/gandiva/turns.h"

namespace fairlead {

void TurnOrder::reserve(std::size_t queues, std::size_t jobs) {
  if (queues_.size() < queues) queues_.resize(queues);
  if (places_.size() >= jobs) return;
  places_.resize(jobs);
  queue_of_.resize(jobs, kNone);
}

void TurnOrder::add(JobId job) {
  FL_CHECK(places_[job].side == Side::kOutside, "job {} takes turns already", job.row());
  places_[job] = {Side::kRan, ++last_ran_};
}

void TurnOrder::remove(JobId job) {
  if (waits(job)) end_wait(job);
  places_[job] = {};
}

void TurnOrder::sort(std::vector<JobId>& jobs) const {
  std::ranges::sort(jobs, {}, [this](JobId job) { return places_[job]; });
}

void TurnOrder::wait(JobId job, std::size_t queue) {
  FL_CHECK(!waits(job), "job {} waits for its turn already", job.row());
  std::vector<JobId>& jobs = queues_[queue];
  const auto place_of = [this](JobId each) { return places_[each]; };
  jobs.insert(std::ranges::upper_bound(jobs, places_[job], {}, place_of), job);
  queue_of_[job] = static_cast<std::uint32_t>(queue);
  ++waiting_;
}

void TurnOrder::end_wait(JobId job) {
  FL_CHECK(waits(job), "job {} does not wait for its turn", job.row());
  std::vector<JobId>& jobs = queues_[queue_of_[job]];
  const auto place_of = [this](JobId each) { return places_[each]; };
  jobs.erase(std::ranges::lower_bound(jobs, places_[job], {}, place_of));
  queue_of_[job] = kNone;
  --waiting_;
}

void TurnOrder::end_turn(std::span<const JobId> running) {
  moving_.clear();
  std::ranges::copy_if(running, std::back_inserter(moving_),
                       [this](JobId job) { return places_[job].side == Side::kWaited; });
  sort(moving_);
  for (auto job = moving_.rbegin(); job != moving_.rend(); ++job) {
    places_[*job] = {Side::kRan, --first_ran_};
  }
  // In each queue the jobs that started to wait in this turn are last, and stay there.
  moving_.clear();
  for (const std::vector<JobId>& jobs : queues_) {
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
      if (places_[*job].side == Side::kWaited) break;
      moving_.push_back(*job);
    }
  }
  sort(moving_);
  for (JobId job : moving_) places_[job] = {Side::kWaited, ++last_waited_};
}

void TurnOrder::fields(Archive& archive) {
  if (archive.reads()) *this = TurnOrder();
  std::uint64_t queues = queues_.size();
  archive(first_ran_, last_ran_, last_waited_, queues);
  std::vector<JobId> present;
  for (JobId job : ids<JobId>(places_.size())) {
    if (places_[job].side != Side::kOutside) present.push_back(job);
  }
  std::vector<std::pair<JobId, std::uint64_t>> queued;
  archive.ids(present, [&](JobId job) {
    reserve(0, job.row() + std::size_t{1});
    Place& place = places_[job];
    bool ran = place.side == Side::kRan;
    std::uint64_t queue = waits(job) ? queue_of_[job] + std::uint64_t{1} : 0;
    archive(ran, place.number, queue);
    archive.expect(queue <= queues);
    place.side = ran ? Side::kRan : Side::kWaited;
    if (queue > 0) queued.emplace_back(job, queue - 1);
  });
  if (!archive.reads() || !archive.ok()) return;
  reserve(queues, 0);
  for (const auto& [job, queue] : queued) wait(job, queue);
}

}  // namespace fairlead
