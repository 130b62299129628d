#include "fairlead/policy/hadar/auction.h"

#include "fairlead/model/known_speed.h"
#include "fairlead/model/known_work.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/kit/domains.h"
#include "fairlead/policy/kit/placement.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

namespace fairlead {
double rate_on(const View& view, JobId job, Gang gang) {
  if (gang.empty()) return 0;
  const Tier tier = view.cluster.tier_of(gang);
  double slowest = std::numeric_limits<double>::infinity();
  for (Slice slice : gang) {
    const GpuTypeId type = view.cluster.node_type[slice.node];
    const auto rate = view.speed.rate(job, type, gpus_of(gang), tier);
    slowest = std::min(slowest, rate.value_or(Rate{0}).value());
  }
  return slowest;
}

namespace {

// Returns the copy at that place among `present`, the fastest being 0; none if there are fewer.
Gang copy_by_speed(const View& view, JobId job, Gang present, std::uint32_t place) {
  if (copies_of(present) <= 1) return place == 0 ? present : Gang();
  struct Copy {
    double rate;
    Gang gang;
  };
  std::vector<Copy> copies;
  for_each_copy(present, [&](Gang gang) { copies.push_back({rate_on(view, job, gang), gang}); });
  if (place >= copies.size()) return {};
  std::ranges::stable_sort(copies, std::greater<>(), &Copy::rate);
  return copies[place].gang;
}

// Returns the rates by tier of a new gang of that type; 0: it cannot run there.
std::array<double, kTiers> rates_of(const View& view, const HadarBidder& bidder,
                                    const JobKinds::Speeds& speeds, GpuTypeId type) {
  std::array<double, kTiers> rates{};
  // One more copy is whole on a node.
  const auto tiers = bidder.copy == 0 ? kTiers : static_cast<std::size_t>(Tier::kRack);
  for (auto tier = static_cast<std::size_t>(view.cluster.best_tier(bidder.gpus)); tier < tiers;
       ++tier) {
    rates[tier] = speeds.rate(type, Tier(tier));
  }
  return rates;
}

// Gives the job the gang, and returns true. Returns false for one more copy, or if the gang cannot be placed.
bool place_bid(Plan& plan, const HadarBid& bid, Gang gang) {
  if (plan.is_pinned(bid.job)) return plan.place_pinned(bid.job);
  for (Slice slice : gang) plan.take(slice.node, slice.gpus);
  if (!bid.is_forked || !plan.has_gang(bid.job)) return plan.place(bid.job);
  plan.place_copy(bid.job);
  return false;
}

}  // namespace

void HadarAuction::decide(const View& view, Plan& plan, const Weigh& weigh,
                          const Interrupts& interrupts, bool must_bid) {
  if (!dual_ || dual_->nodes() != view.cluster.nodes()) {
    dual_.emplace(view.cluster, options_.search);
  }
  kinds_.update(view, plan);
  settled_.update(view, plan, edited_);
  edited_.clear();
  const bool capacity_changed = std::ranges::any_of(view.news, [](const Event& event) {
    return event.kind == EventKind::kGpusDown || event.kind == EventKind::kGpusUp;
  });
  if (capacity_changed) reach_nodes_ = 0;
  const bool is_round = rounds_.due(view.now, plan);
  in_round_ = is_round;
  bool all = (is_round || must_bid) && options_.preempt;
  const bool may_fill = is_round || options_.between != Between::kWait;
  bool chosen = (all || (may_fill && plan.free().total() > 0)) && choose(view, plan, weigh, all);
  const bool may_bid = options_.preempt && options_.between == Between::kBid;
  if (!all && may_bid && !serves_newcomers(view, chosen, interrupts)) {
    all = true;
    chosen = choose(view, plan, weigh, true);
  }
  if (chosen) {
    carry_out(view, plan);
    if (is_round) note_prices(plan);
  }
  // Residents may then move, and gangs that can have other sizes take the free GPUs.
  const bool may_refit =
      options_.resident || std::ranges::any_of(bidders_, [&](const HadarBidder& bidder) {
        return bidder.gpus != view.jobs.gpus[bidder.job];
      });
  const bool refits = all && may_refit && plan.free().total() > 0;
  if (refits && choose(view, plan, weigh, false)) carry_out(view, plan);
  const bool any_runs = !plan.free().all_free();
  const bool any_waits =
      std::ranges::any_of(view.waiting, [&](JobId job) { return !plan.has_gang(job); });
  const bool is_of_use = any_runs ? any_waits || options_.preempt : any_waits && !may_fill;
  if (is_of_use) rounds_.wake(view.now, plan);
}

// Returns false if nothing changes.
bool HadarAuction::choose(const View& view, Plan& plan, const Weigh& weigh, bool all) {
  if (all && options_.skips) {
    settled_.update(view, plan, edited_);
    if (settled_.all(view)) {
      bidders_.clear();
      return false;
    }
  }
  collect_bids(view, plan, weigh, all);
  std::erase_if(bids_, [&](const HadarBid& bid) { return !plan.examine(bid.job); });
  if (all_are_content(plan)) return false;
  collect_free(view, plan, all);
  clearing_.fit(view.cluster, bids_, free_);
  set_prices(view);
  dual_->solve({bids_, free_, prices_, clearing_});
  return true;
}

// Returns true if the last choice gives a gang to all newly arrived jobs that may interrupt others.
bool HadarAuction::serves_newcomers(const View& view, bool chosen,
                                    const Interrupts& interrupts) const {
  const auto is_served = [&](JobId job) {
    const auto bid = std::ranges::find(bids_, job, &HadarBid::job);
    const bool has_bid = chosen && bid != bids_.end();
    return has_bid && !dual_->gang(static_cast<std::size_t>(bid - bids_.begin())).empty();
  };
  return std::ranges::all_of(view.news, [&](const Event& event) {
    return event.kind != EventKind::kArrived || is_served(event.job) || !interrupts(event.job);
  });
}

void HadarAuction::collect_bidders(const View& view, const Plan& plan, bool all) {
  bidders_.clear();
  const auto add = [&](JobId job) {
    // A job whose known work is done, but whose end is not reported yet, bids for its last moment.
    bidders_.push_back({.job = job,
                        .kind = kinds_.row(view, job),
                        .remaining = std::max(view.work.remaining(job), milliseconds(1)),
                        .gpus = view.jobs.gpus[job]});
  };
  for (JobId job : view.waiting) {
    if (!plan.has_gang(job) && !plan.is_blocked(job)) add(job);
  }
  if (!all) return;
  for (JobId job : view.running) add(job);
}

void HadarAuction::collect_bids(const View& view, const Plan& plan, const Weigh& weigh, bool all) {
  collect_bidders(view, plan, all);
  measure_reach(view, plan);
  weigh(bidders_, all);
  bids_.clear();
  sorting_.order.clear();
  sorting_.offered.least = std::numeric_limits<double>::infinity();
  sorting_.offered.most.clear();
  sorting_.offered.most.resize(view.cluster.type_names.size());
  present_.of.clear();
  present_.slices.clear();
  worths_.clear();
  // Bids point into both.
  worths_.reserve(bidders_.size() * view.cluster.type_names.size() * kTiers);
  std::size_t slices = 0;
  for (const HadarBidder& bidder : bidders_) {
    present_.of.push_back({present_gang(view, plan, bidder), plan.has_gang(bidder.job)});
    slices += present_.of.back().gang.size();
  }
  present_.slices.reserve(slices);
  for (std::size_t i = 0; i < bidders_.size(); ++i) {
    add_bid(view, plan, bidders_[i], present_.of[i]);
  }
  sort_bids();
}

// Sorts by falling worth per GPU.
void HadarAuction::sort_bids() {
  sorting_.bids.clear();
  const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
    return bids_[a].job < bids_[b].job;
  };
  for (const KeyOrder::Row& at : sorting_.order.rising(is_before)) {
    sorting_.bids.push_back(bids_[at.row]);
  }
  std::swap(bids_, sorting_.bids);
}

// Returns the job's gang; for a waiting resident or a pinned job, the GPUs with its memory, if those nodes
// are up.
Gang HadarAuction::present_gang(const View& view, const Plan& plan,
                                const HadarBidder& bidder) const {
  const JobId job = bidder.job;
  const bool returns = options_.returns || options_.resident || plan.is_pinned(job);
  if (!returns || plan.has_gang(job)) {
    return copy_by_speed(view, job, plan.gang(job), bidder.copy);
  }
  const Gang last = copy_by_speed(view, job, view.jobs.last_gang(job), bidder.copy);
  const bool is_up = std::ranges::all_of(
      last, [&](Slice slice) { return plan.free().capacity(slice.node) >= slice.gpus; });
  return is_up ? last : Gang();
}

// Returns rate_on() the job's present gang.
double HadarAuction::present_rate(const View& view, const Plan& plan, const HadarBidder& bidder,
                                  Gang present) {
  if (present.empty()) return 0;
  const JobKinds::Speeds& speeds =
      kinds_.speeds(view, plan, bidder.job, bidder.kind, gpus_of(present));
  const Tier tier = view.cluster.tier_of(present);
  double slowest = std::numeric_limits<double>::infinity();
  for (Slice slice : present) {
    slowest = std::min(slowest, speeds.rate(view.cluster.node_type[slice.node], tier));
  }
  return slowest;
}

void HadarAuction::add_bid(const View& view, const Plan& plan, const HadarBidder& bidder,
                           const Present::Of& now) {
  const JobId job = bidder.job;
  const Gang present = now.gang;
  const JobKinds::Asked& asked = kinds_.asked(bidder.kind);
  const std::uint32_t gpus = bidder.gpus;
  TypeMask present_types = 0;
  for (Slice slice : present) present_types |= type_bit(view.cluster.node_type[slice.node]);
  const double rate_there = present_rate(view, plan, bidder, present);
  HadarBid bid{.job = job,
               .gpus = gpus,
               .task_gpus = asked.task_gpus,
               .closeness = asked.closeness,
               .present = {},
               .present_masks = {},
               .present_worth = 0,
               .worth = {},
               .is_forked = bidder.copies > 1};
  const std::size_t first = worths_.size();
  const JobKinds::Speeds& speeds = kinds_.speeds(view, plan, job, bidder.kind, gpus);
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    if ((asked.types & type_bit(type)) == 0) {
      worths_.insert(worths_.end(), kTiers, 0);
      continue;
    }
    const std::array<double, kTiers> rates = rates_of(view, bidder, speeds, type);
    double best = 0;  // the best rate so far: jobs move on to closer tiers only
    for (std::size_t tier = 0; tier < kTiers; ++tier) {
      const double here = rates[tier];
      if (bid.task_gpus == 1 && gpus <= reach_[type][tier]) best = std::max(best, here);
      const bool is_faster = now.runs && present_types == type_bit(type) && here > rate_there;
      const double saved_s =
          is_faster ? saved_by_moving_s(bidder, here) : -to_move_on_s(bidder, here, best);
      const bool is_bound =
          plan.is_pinned(job) || (bidder.stays && (present_types & type_bit(type)) != 0);
      worths_.push_back(is_bound ? 0 : worth(view, bidder, here, saved_s));
    }
  }
  bid.worth = std::span(worths_).subspan(first);
  if (!present.empty()) add_present(view, plan, present, rate_there, bidder, bid);
  note_offer(bid);
  bids_.push_back(bid);
}

// Adds the bid to the order of the bids and to the range of their worths.
void HadarAuction::note_offer(const HadarBid& bid) {
  double best = bid.present_worth;
  for (GpuTypeId type : ids<GpuTypeId>(sorting_.offered.most.size())) {
    double best_on = 0;
    for (double worth : bid.worth.subspan(type.row() * kTiers, kTiers)) {
      best_on = std::max(best_on, worth);
      if (worth > 0) sorting_.offered.least = std::min(sorting_.offered.least, worth / bid.gpus);
    }
    sorting_.offered.most[type] = std::max(sorting_.offered.most[type], best_on / bid.gpus);
    best = std::max(best, best_on);
  }
  sorting_.order.add(falling_key(best / bid.gpus));
}

void HadarAuction::add_present(const View& view, const Plan& plan, Gang present, double rate,
                               const HadarBidder& bidder, HadarBid& bid) {
  // All copies that run pause if one changes.
  const double pausing = plan.has_gang(bid.job) ? copies_of(plan.gang(bid.job)) : 1;
  const double gpus = view.jobs.gpus[bidder.job];  // the unit in which its work is counted
  bid.present_worth =
      std::max(worth(view, bidder, rate,
                     pausing * to_seconds(options_.switch_cost) + saved_work_s(view, bidder, rate)),
               bidder.kept_weight * gpus * rate);
  const std::size_t first = present_.slices.size();
  for (Slice slice : present) present_.slices.push_back({slice.node, slice.gpus});
  bid.present = Gang(present_.slices).subspan(first);
  if (!options_.resident && !plan.is_pinned(bid.job)) return;
  const Gang last = view.jobs.last_gang(bid.job);
  const auto own = std::ranges::find(last, present[0].node, &Slice::node) - last.begin();
  const auto masks = view.jobs.gangs.gpu_masks(view.jobs.last[bid.job]);
  bid.present_masks = masks.subspan(static_cast<std::size_t>(own), present.size());
}

// Returns the worth of a round on a gang of that rate. A job that goes on at its place saves its work, and a
// switch: of its own if it would move, or of its next start if it would wait. The switch may have
// to be saved every round, or once if the job ends sooner. A waiting job must start some time, so
// it is not charged for that.
double HadarAuction::worth(const View& view, const HadarBidder& bidder, double rate,
                           double saved_s) const {
  if (!(rate > 0)) return 0;
  const double running_s =
      std::min(to_seconds(options_.round), to_seconds(bidder.remaining) / rate);
  const double gpus = view.jobs.gpus[bidder.job];  // the unit in which its work is counted
  return std::max(0.0, bidder.weight * gpus * rate * (running_s + saved_s) / running_s);
}

// Returns this round's part of the work that the job would lose in a move: a move is worth it if the gain up to the
// job's end is larger. (ours)
double HadarAuction::saved_work_s(const View& view, const HadarBidder& bidder, double rate) const {
  const double lost_s = to_seconds(view.jobs.lost_by_move(bidder.job, view.now));
  if (lost_s <= 0) return 0;
  return lost_s * std::min(1.0, to_seconds(options_.round) * rate / to_seconds(bidder.remaining));
}

// A job that starts at a slower rate than possible on that type, and does not end within the round,
// will move later. It then pays a switch for the part of its speed that it gains: in seconds at its
// rate there. (ours)
double HadarAuction::to_move_on_s(const HadarBidder& bidder, double rate, double best) const {
  const bool will_move =
      rate > 0 && rate < best && to_seconds(bidder.remaining) / rate > to_seconds(options_.round);
  return will_move ? to_seconds(options_.switch_cost) * (best / rate - 1) : 0;
}

// A job that goes on in a faster place saves a switch as if it stayed, less its part of the switch
// that it makes. (ours)
double HadarAuction::saved_by_moving_s(const HadarBidder& bidder, double rate) const {
  const double round_s = to_seconds(options_.round);
  const double left_s = std::max(round_s, to_seconds(bidder.remaining) / rate);
  return to_seconds(options_.switch_cost) * (1 - round_s / left_s);
}

// Finds the largest gang that each type could have at each tier with the GPUs that are up, if idle.
void HadarAuction::measure_reach(const View& view, const Plan& plan) {
  if (std::exchange(reach_nodes_, view.cluster.nodes()) == view.cluster.nodes()) return;
  reach_.resize(view.cluster.type_names.size());
  const auto up = [&](NodeId node) { return plan.free().capacity(node); };
  for (GpuTypeId type : ids<GpuTypeId>(reach_.size())) {
    for (Tier tier : {Tier::kNode, Tier::kRack, Tier::kSpine}) {
      reach_[type][static_cast<std::size_t>(tier)] =
          most_in_domain(view.cluster, tier, type_bit(type), up);
    }
    reach_[type][0] = reach_[type][static_cast<std::size_t>(Tier::kNode)];
  }
}

// Copies are chosen again each time; unchanged copies still go on undisturbed.
bool HadarAuction::keeps(const Plan& plan, const HadarBid& bid, Gang gang) const {
  return !bid.is_forked && std::ranges::equal(plan.gang(bid.job), gang);
}

// Returns true if every job runs, and none could have anything better.
bool HadarAuction::all_are_content(const Plan& plan) const {
  return std::ranges::all_of(bids_, [&](const HadarBid& bid) {
    return plan.has_gang(bid.job) && keeps(plan, bid, bid.present) &&
           bid.present_worth >= bid.best();
  });
}

void HadarAuction::collect_free(const View& view, const Plan& plan, bool all) {
  free_.on.resize(view.cluster.nodes());
  for (NodeId node : ids<NodeId>(free_.on.size())) {
    free_.on[node] = static_cast<std::uint16_t>(plan.free().on(node));
  }
  free_.sum(view.cluster);
  capacity_.resize(free_.of_type.size());
  for (GpuTypeId type : ids<GpuTypeId>(free_.of_type.size())) {
    capacity_[type.row()] = plan.free().capacity(type);
  }
  collect_kept(view, plan, all);
  free_.room = plan.room();
  if (!all) return;
  for (JobId job : view.running) {
    free_.give(view.cluster, plan.gang(job));
    if (!free_.room.is_limited()) continue;
    for (Slice slice : plan.gang(job))
      free_.room.give(job, slice.node, slice.gpus / plan.task_gpus(job));
  }
}

// Lists the GPUs of running jobs that do not bid: of pinned jobs and, among residents, of all.
void HadarAuction::collect_kept(const View& view, const Plan& plan, bool all) {
  free_.kept.clear();
  if (all) return;
  const auto keep = [&](JobId job) {
    if (!options_.resident && !plan.is_pinned(job)) return;
    const Gang last = view.jobs.last_gang(job);
    // A job on other nodes than last gets GPUs when it starts, among the GPUs that no job keeps.
    if (!std::ranges::equal(plan.gang(job), last)) return;
    free_.keep(last, view.jobs.gangs.gpu_masks(view.jobs.last[job]));
  };
  for (JobId job : view.running) keep(job);
  for (JobId job : view.waiting) keep(job);
}

void HadarAuction::set_prices(const View& view) {
  ranges_.assign(view.cluster.type_names.size(), {});
  if (options_.prices == Prices::kNone) return prices_.set(ranges_, capacity_);
  // When idle, a quarter of the smallest worth of any bid: so every job buys.
  const double idle = sorting_.offered.least / 4;
  for (GpuTypeId type : ids<GpuTypeId>(ranges_.size())) {
    double full = sorting_.offered.most[type];
    // DEVIATION: a full type costs the bid of the first job that gets none, not the highest bid of
    // any job: at that price only the first job in order would buy the last GPUs.
    if (options_.prices == Prices::kClearing) full = std::min(full, clearing_.price(type));
    ranges_[type.row()] = {.idle = std::min(idle, full), .full = full};
  }
  prices_.set(ranges_, capacity_);
}

void HadarAuction::carry_out(const View& view, Plan& plan) {
  for (std::size_t i = 0; i < bids_.size(); ++i) {
    const JobId job = bids_[i].job;
    if (plan.has_gang(job) && !keeps(plan, bids_[i], dual_->gang(i))) {
      plan.stop(job, dual_->gang(i).empty() ? StopCause::kRound : StopCause::kMove);
      edited_.push_back(job);
    }
  }
  for (std::size_t i = 0; i < bids_.size(); ++i) {
    const JobId job = bids_[i].job;
    const Gang gang = dual_->gang(i);
    if (gang.empty() || keeps(plan, bids_[i], gang)) continue;
    edited_.push_back(job);
    if (place_bid(plan, bids_[i], gang))
      plan.note(note::Payoff{job, note::Millionths::of(dual_->payoff(i))});
  }
  if (plan.is_cut()) keep_running(view, plan);
}

// Gives jobs back the gangs that they lost to bids which a cut left out. Copies are chosen again each time.
void HadarAuction::keep_running(const View& view, Plan& plan) const {
  for (const HadarBid& bid : bids_) {
    const bool has_lost =
        view.jobs.state[bid.job] == JobState::kRunning && !plan.has_gang(bid.job) && !bid.is_forked;
    if (has_lost) place_back(view.jobs, plan, bid.job);
  }
}

void HadarAuction::note_prices(Plan& plan) {
  noted_prices_.resize(capacity_.size());
  for (GpuTypeId type : ids<GpuTypeId>(capacity_.size())) {
    const double price = prices_.price(type, dual_->free().of_type[type]);
    const note::Millionths noted = note::Millionths::of(price);
    if (noted.steps == noted_prices_[type.row()]) continue;
    noted_prices_[type.row()] = noted.steps;
    plan.note(note::Price{UserId::none(), UserId::none(), type, noted});
  }
}

void HadarAuction::fields(Archive& archive) { archive(rounds_, noted_prices_); }

}  // namespace fairlead
