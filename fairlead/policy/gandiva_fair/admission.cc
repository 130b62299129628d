#include "fairlead/policy/gandiva_fair/admission.h"

#include "fairlead/model/step.h"

#include <algorithm>
#include <limits>

namespace fairlead {

void Admission::begin(const View& view) {
  outside_.grow(view.users.size() * kClasses);
  if (class_.size() < view.jobs.size()) class_.resize(view.jobs.size());
}

// --- Outside ----------------------------------------------------------------------------------

std::size_t Admission::class_of(const View& view, JobId job) {
  constexpr double kFirst = 3'600'000;  // GPU-milliseconds: a GPU-hour
  const auto attained = static_cast<double>(view.jobs.attained(job, view.now).gpu_ms);
  std::size_t in_class = 0;
  for (double limit = kFirst; attained >= limit && in_class + 1 < kClasses; limit *= 4) ++in_class;
  return in_class;
}

std::size_t Admission::list(const View& view, JobId job) const {
  return view.jobs.user[job].row() * kClasses + class_[job];
}

// Returns the user's next job to admit; none if it has none outside.
JobId Admission::first(UserId user) const {
  for (std::size_t in_class = 0; in_class < kClasses; ++in_class) {
    const JobId job = outside_.first(user.row() * kClasses + in_class);
    if (!job.is_none()) return job;
  }
  return {};
}

void Admission::enter(const View& view, JobId job) {
  class_[job] = static_cast<std::uint8_t>(class_of(view, job));
  ++count_;
}

void Admission::put_last(const View& view, JobId job) {
  enter(view, job);
  outside_.push_back(list(view, job), job);
  consider(view.jobs.user[job]);
}

void Admission::put_first(const View& view, JobId job) {
  enter(view, job);
  outside_.push_front(list(view, job), job);
  consider(view.jobs.user[job]);
}

void Admission::remove(const View& view, JobId job) {
  outside_.erase(list(view, job), job);
  --count_;
}

// --- Coming in --------------------------------------------------------------------------------

// A turn is a quantum of the user's due.
double Admission::turns_behind(UserId user) const {
  constexpr double kLeastDue = 1e-3;
  const double due = std::max(kLeastDue, accounts_.due().due(user));
  return accounts_.ledger().debt(user) / (due * static_cast<double>(options_.quantum.ms));
}

void Admission::consider(UserId user) {
  if (first(user).is_none()) return coming_in_.erase(user);
  coming_in_.set(user, -turns_behind(user));
}

void Admission::consider_all() {
  for (UserId user : accounts_.due().demand().active()) consider(user);
}

void Admission::consider_group(UserId user) {
  if (accounts_.due().groups().has_quota(user)) return consider_all();
  consider(user);
}

// Returns true if the quota of its user's group has room for the job.
bool Admission::has_room(const View& view, JobId job) const {
  return view.jobs.gpus[job] <= accounts_.due().groups().left(view.jobs.user[job]);
}

bool Admission::may_come_in(const View& view, JobId job) {
  const UserId user = view.jobs.user[job];
  if (!has_room(view, job)) return false;
  if (accounts_.due().kept().gpus(user) == 0) return true;
  double due = accounts_.due().base().of(user);
  if (due == 0) {
    accounts_.update(view.now);
    due = accounts_.due().base().of(user);
  }
  const auto kept = static_cast<double>(accounts_.due().kept().gpus(user));
  return kept + view.jobs.gpus[job] <= options_.jobs_per_gpu_max * due;
}

void Admission::let_in(const View& view, Plan& plan) {
  if (homes_.nodes().types() > 1) accounts_.update(view.now);
  while (!coming_in_.empty()) {
    const UserId user = coming_in_.top().id;
    const JobId job = first(user);
    if (job.is_none() || !may_come_in(view, job)) {
      coming_in_.erase(user);
      continue;
    }
    if (!plan.examine_again(job)) return;
    const Home home = choice_.find(view, job);
    if (home.is_none()) {
      if (!view.jobs.is_pinned(job) && choice_.fits_when_empty(view, job)) return;
      coming_in_.erase(user);
      continue;
    }
    homes_.move_in(view, job, home);
    remove(view, job);
    consider(user);
  }
}

// --- Rotation ---------------------------------------------------------------------------------

void Admission::rotate(const View& view, Plan& plan, const PutOut& put_out) {
  for (UserId user : accounts_.due().demand().active()) {
    if (!first(user).is_none()) rotate(view, user, put_out);
  }
  for (UserId user : accounts_.due().demand().active()) {
    if (accounts_.due().groups().has_quota(user)) make_room_in_group(view, user, put_out);
  }
  consider_all();
  let_in(view, plan);
  while (!plan.is_cut() && make_room(view, put_out)) let_in(view, plan);
}

void Admission::rotate(const View& view, UserId user, const PutOut& put_out) {
  const std::size_t places = places_to_give(view, user);
  for (std::size_t i = 0; i < places; ++i) put_out(kept_[i].job, StopCause::kTurn);
}

// Lists the user's admitted jobs of a higher class than `least`, the jobs with the most GPU time first.
void Admission::list_kept(const View& view, UserId user, std::size_t least) {
  kept_.clear();
  for (GpuTypeId type : ids<GpuTypeId>(homes_.nodes().types())) {
    for (JobId job = homes_.first_kept(user, type); !job.is_none(); job = homes_.next_kept(job)) {
      const std::size_t in_class = class_of(view, job);
      if (in_class > least) kept_.push_back({2 * in_class + (homes_.of(job).runs ? 0 : 1), job});
    }
  }
  std::ranges::stable_sort(kept_, std::greater(), &Kept::rank);
}

// Returns how many of kept_, from the first on, must make room for jobs of lesser classes. Lists them
// only once a job finds no room.
std::size_t Admission::places_to_give(const View& view, UserId user) {
  const Entitlements& due = accounts_.due();
  auto kept = static_cast<double>(due.kept().gpus(user));
  const double room =
      std::min(options_.jobs_per_gpu_max * due.base().of(user), kept + due.groups().left(user));
  bool is_listed = false;
  std::size_t given = 0;
  for (std::size_t in_class = 0; in_class < kClasses; ++in_class) {
    JobId job = outside_.first(user.row() * kClasses + in_class);
    for (; !job.is_none(); job = outside_.after(job)) {
      kept += view.jobs.gpus[job];
      if (kept > room && !is_listed) {
        list_kept(view, user, in_class);
        is_listed = true;
      }
      std::size_t next = given;
      for (; kept > room && next < kept_.size() && kept_[next].rank / 2 > in_class; ++next) {
        kept -= view.jobs.gpus[kept_[next].job];
      }
      if (kept > room) return given;
      given = next;
    }
  }
  return given;
}

// Makes room in the quota of its group for the user's next job, if users that are more than a turn
// ahead of it have enough.
void Admission::make_room_in_group(const View& view, UserId user, const PutOut& put_out) {
  const JobId newcomer = first(user);
  if (newcomer.is_none() || has_room(view, newcomer)) return;
  double wanted = view.jobs.gpus[newcomer] - accounts_.due().groups().left(user);
  list_ahead(user);
  kept_.clear();
  for (UserId other : ahead_) {
    const auto first_of_other = static_cast<std::ptrdiff_t>(kept_.size());
    for (GpuTypeId type : ids<GpuTypeId>(homes_.nodes().types())) {
      JobId job = homes_.first_kept(other, type);
      for (; !job.is_none(); job = homes_.next_kept(job)) kept_.push_back({.job = job});
    }
    // By id, so that a restarted policy chooses as one that ran all the time.
    std::ranges::sort(kept_.begin() + first_of_other, kept_.end(), std::greater(), &Kept::job);
  }
  std::size_t places = 0;
  for (; wanted > 0 && places < kept_.size(); ++places) {
    wanted -= view.jobs.gpus[kept_[places].job];
  }
  kept_.resize(places);
  if (wanted > 0) return;
  for (const Kept& kept : kept_) put_out(kept.job, StopCause::kQuota);
}

// Lists the users that share a quota with the user and are more than a turn ahead of it.
void Admission::list_ahead(UserId user) {
  const double least = turns_behind(user) - 1;
  ahead_.clear();
  for (UserId other : accounts_.due().demand().active()) {
    const bool is_ahead =
        accounts_.due().groups().share_quota(user, other) && turns_behind(other) < least;
    if (is_ahead) ahead_.push_back(other);
  }
  std::ranges::stable_sort(ahead_, {}, [&](UserId other) { return turns_behind(other); });
}

// Makes room for the user that is furthest behind and has no admitted job; true if there is some.
bool Admission::make_room(const View& view, const PutOut& put_out) {
  if (coming_in_.empty()) return false;
  const UserId user = coming_in_.top().id;
  const JobId newcomer = first(user);
  if (newcomer.is_none() || accounts_.due().kept().gpus(user) > 0 || !has_room(view, newcomer)) {
    return false;
  }
  kept_.clear();
  if (const JobId job = furthest_ahead(view, newcomer); !job.is_none()) {
    kept_.push_back({.job = job});
  } else {
    list_several_ahead(view, newcomer);
  }
  for (const Kept& kept : kept_) put_out(kept.job, StopCause::kShare);
  return !kept_.empty();
}

// Returns a job whose place would do, of the user that is furthest ahead, if that user is more than
// a turn ahead of the newcomer's.
JobId Admission::furthest_ahead(const View& view, JobId newcomer) const {
  JobId best;
  double least = turns_behind(view.jobs.user[newcomer]) - 1;
  for (NodeId node : homes_.nodes().contended()) {
    if ((view.jobs.types[newcomer] & type_bit(view.cluster.node_type[node])) == 0) continue;
    const auto consider = [&](JobId job, std::uint32_t on_node) {
      if (!homes_.nodes().has_room(node, view.jobs.gpus[newcomer], on_node)) return;
      const double behind = turns_behind(view.jobs.user[job]);
      if (behind >= least) return;
      least = behind;
      best = job;
    };
    for (const StrideClient& client : homes_.nodes()[node].queue) consider(client.job, client.gpus);
    for (JobId job : homes_.nodes()[node].spreads)
      consider(job, homes_.spread(job).need_on(node).gpus);
  }
  return best;
}

// Lists in kept_ jobs that together have enough places, on one node, or on several for a gang that is larger than all
// nodes. Their users are more than a turn ahead of the newcomer's, and users further ahead come first. Types are mixed
// only if none has enough GPUs, as by HomeChoice.
void Admission::list_several_ahead(const View& view, JobId newcomer) {
  if (view.jobs.closeness[newcomer].required != kAnywhere)
    return;  // its nodes must be near each other
  const std::uint32_t gpus = view.jobs.gpus[newcomer];
  const TypeMask types = view.jobs.types[newcomer];
  std::uint32_t largest = 0;  // node
  TypeMask large = 0;         // types that have enough GPUs
  for (GpuTypeId type : ids<GpuTypeId>(homes_.nodes().types())) {
    if ((types & type_bit(type)) == 0) continue;
    largest = std::max(largest, view.cluster.type_node_gpus_max[type]);
    if (homes_.nodes().gpus_of_type(type) >= gpus) large |= type_bit(type);
  }
  const double least = turns_behind(view.jobs.user[newcomer]) - 1;
  std::vector<Place> places;
  for (NodeId node : ids<NodeId>(homes_.nodes().size())) {
    const GpuTypeId type = view.cluster.node_type[node];
    if (((large == 0 ? types : large) & type_bit(type)) == 0) continue;
    const std::uint32_t usable = homes_.nodes()[node].usable();
    Place place = place_on(view, node, gpus > largest ? std::min(gpus, usable) : gpus, least);
    place.type = large == 0 ? GpuTypeId(0) : type;
    if (place.gpus > 0) places.push_back(std::move(place));
  }
  std::ranges::stable_sort(places, {}, &Place::behind);
  std::vector<std::uint32_t> found(homes_.nodes().types());
  const auto last = std::ranges::find_if(
      places, [&](const Place& place) { return (found[place.type.row()] += place.gpus) >= gpus; });
  if (last == places.end()) return;
  for (auto place = places.begin(); place <= last; ++place) {
    if (place->type != last->type) continue;
    for (JobId job : place->jobs) kept_.push_back({.job = job});
  }
  std::ranges::sort(kept_, {}, &Kept::job);  // a job may have slices of several of these nodes
  const auto twice = std::unique(kept_.begin(), kept_.end(),
                                 [](const Kept& a, const Kept& b) { return a.job == b.job; });
  kept_.erase(twice, kept_.end());
}

// Takes the jobs from the furthest ahead on, until that many GPUs have room. Without jobs: there is room already; without
// GPUs: there would not be enough.
Admission::Place Admission::place_on(const View& view, NodeId node, std::uint32_t gpus,
                                     double least) const {
  struct Candidate {
    double behind;
    std::uint32_t gpus;
    JobId job;
  };
  std::vector<Candidate> ahead;
  const auto add = [&](JobId job, std::uint32_t on_node) {
    const double behind = turns_behind(view.jobs.user[job]);
    if (behind < least) ahead.push_back({behind, on_node, job});
  };
  for (const StrideClient& client : homes_.nodes()[node].queue) add(client.job, client.gpus);
  for (JobId job : homes_.nodes()[node].spreads) add(job, homes_.spread(job).need_on(node).gpus);
  std::ranges::stable_sort(ahead, {}, &Candidate::behind);
  Place place;
  place.behind = -std::numeric_limits<double>::infinity();
  place.gpus = gpus;
  std::uint32_t given = 0;
  for (const Candidate& candidate : ahead) {
    if (homes_.nodes().has_room(node, gpus, given)) break;
    given += candidate.gpus;
    place.behind = candidate.behind;
    place.jobs.push_back(candidate.job);
  }
  if (!homes_.nodes().has_room(node, gpus, given)) return {};
  return place;
}

// --- Saving and loading -----------------------------------------------------------------------

void Admission::fields(Archive& archive) {
  const std::size_t users = accounts_.due().users();
  if (archive.reads()) outside_ = JobLists(users * kClasses);
  for (std::size_t list = 0; list < users * kClasses && archive.ok(); ++list) {
    archive.ids(outside_.jobs(list), [&](JobId job) {
      if (!archive.reads()) return;
      outside_.push_back(list, job);
      class_.grow_to(job) = static_cast<std::uint8_t>(list % kClasses);
      ++count_;
    });
  }
  std::vector<std::pair<UserId, double>> coming_in;
  for (const auto& [key, user] : coming_in_.entries()) coming_in.emplace_back(user, key);
  archive(coming_in);
  if (!archive.reads()) return;
  for (const auto& [user, key] : coming_in) {
    archive.expect(user.row() < users);
    if (archive.ok()) coming_in_.set(user, key);
  }
}

}  // namespace fairlead
