#include "fairlead/policy/hadar/dual.h"

#include <algorithm>

namespace fairlead {
namespace {

// Nodes that an exhaustive search visits while several drafts are kept: chosen.
constexpr std::size_t kBeamNodes = 2'000'000;
// Gangs of one bid besides one for each type: its present gang, two mixes, and none.
constexpr std::size_t kOtherGangs = 4;
constexpr std::uint64_t kKeyFactor = 0x9e3779b97f4a7c15U;  // any odd number that mixes well
// Bounds are sums of rounded values: values that differ by less than this fraction may be equal.
constexpr double kRounding = 1e-9;

}  // namespace

HadarDual::HadarDual(const Cluster& cluster, const HadarSearch& search)
    : cluster_(cluster), search_(search), gangs_(cluster, search.mixed) {
  FL_CHECK(search.beam > 0);
  drafts_.resize(search.beam);
  next_drafts_.resize(search.beam);
  key_units_.assign(cluster.type_names.size(), 1);
  for (std::size_t type = 1; type < key_units_.size(); ++type) {
    key_units_[type] = key_units_[type - 1] * kKeyFactor;
  }
}

void HadarDual::solve(const Round& round) {
  begin(round);
  std::size_t looked_at = 0;
  for (std::size_t index = 0; index < round.bids.size(); ++index) {
    const auto has_room = [&](const Draft& draft) { return draft.gpus >= smallest_[index]; };
    if (std::ranges::none_of(std::span(drafts_).first(draft_count_), has_room)) break;
    // A full beam stays full, because every draft may skip a bid; so drafts left out count as well.
    is_full_ = is_full_ || draft_count_ == search_.beam;
    looked_at += (is_full_ ? search_.beam : draft_count_) * cluster_.nodes();
    const std::uint32_t width = looked_at < kBeamNodes ? search_.beam : 1;
    beam_.clear(draft_count_ * (cluster_.type_names.size() + kOtherGangs));
    skip(index, width);
    look_at(round, index);
    for (std::uint32_t draft = 0; draft < draft_count_; ++draft) try_gangs(round, index, draft);
    make_drafts(round, index, beam_.keep(width));
  }
  const auto end = drafts_.begin() + static_cast<std::ptrdiff_t>(draft_count_);
  read_back(*std::max_element(drafts_.begin(), end,
                              [](const Draft& a, const Draft& b) { return a.worth < b.worth; }));
  if (search_.work_conserving) fill(round);
}

void HadarDual::begin(const Round& round) {
  const std::span<const HadarBid> bids = round.bids;
  gangs_.begin(bids);
  gains_.assign(bids.size() + 1, 0);
  smallest_.assign(bids.size() + 1, std::numeric_limits<std::uint32_t>::max());
  for (std::size_t i = bids.size(); i-- > 0;) {
    gains_[i] = gains_[i + 1] + round.clearing.gain(i);
    smallest_[i] = std::min(smallest_[i + 1], bids[i].least_gpus());
  }
  choices_.assign(1, {});
  slices_.clear();
  chosen_.assign(bids.size(), {});
  is_full_ = false;
  draft_count_ = 1;
  Draft& first = drafts_.front();
  first.free = round.free;
  first.free.index(cluster_, gangs_.order());
  first.key = 0;
  first.gpus = 0;
  for (GpuTypeId type : ids<GpuTypeId>(cluster_.type_names.size())) {
    first.key += round.free.of_type[type] * key_units_[type.row()];
    first.gpus += round.free.of_type[type];
  }
  first.free_cost = round.clearing.cost(first.free);
  first.worth = 0;
  first.last = 0;
}

std::uint64_t HadarDual::key(Gang gang) const {
  std::uint64_t key = 0;
  for (Slice slice : gang) key += slice.gpus * key_units_[cluster_.node_type[slice.node].row()];
  return key;
}

// Keeps all drafts as they are. Drafts below the cutoff need not be looked at:
//  - If skipping fills the beam, no draft below the last skipping draft stays in it.
//  - Once the beam was full, a draft whose bound is below another's worth cannot end as the best.
//    It does not matter to the other drafts either. Its children score below the other draft, if
//    that skips all bids. So among equal keys they do not stay, and they are the first to leave the
//    beam.
void HadarDual::skip(std::size_t index, std::uint32_t width) {
  double best_worth = 0;
  double last = std::numeric_limits<double>::infinity();
  const std::span drafts = std::span(drafts_).first(draft_count_);
  for (Draft& draft : drafts) {
    draft.idle = bound(draft, index + 1);
    best_worth = std::max(best_worth, draft.worth);
    last = std::min(last, draft.idle);
  }
  cutoff_ = is_full_ ? best_worth * (1 - kRounding) : -std::numeric_limits<double>::infinity();
  if (draft_count_ >= width) cutoff_ = std::max(cutoff_, last);
  for (std::uint32_t i = 0; i < draft_count_; ++i) {
    if (drafts[i].idle >= cutoff_) beam_.offer({drafts[i].idle, i, kSkip, drafts[i].key});
  }
}

void HadarDual::look_at(const Round& round, std::size_t index) {
  const HadarBid& bid = round.bids[index];
  gangs_.ask(bid);
  tried_.clear();
  tried_slices_.clear();
  of_type_.clear();
  for (GpuTypeId type : ids<GpuTypeId>(cluster_.type_names.size())) {
    of_type_.push_back({bid.best_on(type) - bid.gpus * round.clearing.price(type),
                        bid.gpus * key_units_[type.row()]});
  }
  of_present_ = {bid.present_worth - round.clearing.cost(cluster_, bid.present), key(bid.present)};
}

// Leaves out gangs that would lead to the place of a better draft.
HadarGangs::Wanted HadarDual::wanted(const HadarBid& bid, const Draft& draft) const {
  const auto may_stay = [&](const Addition& addition) {
    const double most = (draft.idle + addition.gain) * (1 + kRounding) + draft.idle * kRounding;
    return most >= cutoff_ && !beam_.has_better(draft.key - addition.key, most);
  };
  HadarGangs::Wanted wanted{.types = 0, .present = !bid.present.empty() && may_stay(of_present_)};
  for (GpuTypeId type : ids<GpuTypeId>(of_type_.size())) {
    const bool has_room = draft.free.of_type[type] >= bid.gpus;
    if (has_room && may_stay(of_type_[type.row()])) wanted.types |= type_bit(type);
  }
  return wanted;
}

const HadarFree& HadarDual::free_for(const Round& round, std::size_t index, const Draft& draft) {
  const HadarBid& bid = round.bids[index];
  if (!bid.is_forked) return draft.free;
  apart_ = draft.free;
  for (std::uint32_t at = draft.last; at != 0; at = choices_[at].before) {
    if (round.bids[choices_[at].bid].job != bid.job) continue;
    const HadarGang& gang = choices_[at].gang;
    for (Slice slice : Gang{slices_.data() + gang.first, gang.slices}) {
      const Slice rest{slice.node, apart_.on[slice.node]};
      apart_.take(cluster_, {&rest, 1});
    }
  }
  return apart_;
}

void HadarDual::try_gangs(const Round& round, std::size_t index, std::uint32_t draft) {
  const HadarBid& bid = round.bids[index];
  const Draft& from = drafts_[draft];
  const double most = from.idle * (1 + kRounding) + round.clearing.surplus(index);
  if (from.gpus < bid.least_gpus() || most < cutoff_ * (1 - kRounding)) return;
  for (const HadarGang& gang :
       gangs_.find(free_for(round, index, from), round.prices, wanted(bid, from))) {
    if (!(gang.payoff > 0)) continue;
    const Gang slices = gangs_.slices(gang);
    const double score = from.idle + gang.worth - round.clearing.cost(cluster_, slices);
    if (score < cutoff_) continue;
    beam_.offer({score, draft, static_cast<std::uint32_t>(tried_.size()), from.key - key(slices)});
    tried_.push_back(gang);
    tried_.back().first = static_cast<std::uint32_t>(tried_slices_.size());
    tried_slices_.insert(tried_slices_.end(), slices.begin(), slices.end());
  }
}

void HadarDual::make_drafts(const Round& round, std::size_t index,
                            std::span<const Child> children) {
  // Behind the winners usually no job buys, and drafts stay as they are.
  std::uint32_t same = 0;
  while (same < children.size() && children[same].gang == kSkip && children[same].draft == same) {
    ++same;
  }
  if (same == children.size()) {
    draft_count_ = same;
    return;
  }
  if (children.size() == 1 && draft_count_ == 1) {
    // One draft goes on without a copy.
    const HadarGang& gang = tried_[children.front().gang];
    const Gang slices{tried_slices_.data() + gang.first, gang.slices};
    return give(round, drafts_.front(), index, gang, slices);
  }
  // Copies first, because a skipping draft can then take the old draft itself.
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (children[i].gang == kSkip) continue;
    next_drafts_[i] = drafts_[children[i].draft];
    const HadarGang& gang = tried_[children[i].gang];
    give(round, next_drafts_[i], index, gang, {tried_slices_.data() + gang.first, gang.slices});
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (children[i].gang == kSkip) std::swap(next_drafts_[i], drafts_[children[i].draft]);
  }
  draft_count_ = children.size();
  std::swap(drafts_, next_drafts_);
}

void HadarDual::give(const Round& round, Draft& draft, std::size_t index, const HadarGang& gang,
                     Gang slices) {
  Choice choice{draft.last, static_cast<std::uint32_t>(index), gang};
  choice.gang.first = static_cast<std::uint32_t>(slices_.size());
  slices_.insert(slices_.end(), slices.begin(), slices.end());
  draft.free.take(cluster_, slices);
  const HadarBid& bid = round.bids[index];
  if (draft.free.room.is_limited()) {
    for (Slice slice : slices)
      draft.free.room.take(bid.job, slice.node, slice.gpus / bid.task_gpus);
  }
  if (std::ranges::equal(slices, bid.present)) draft.free.keep(bid.present, bid.present_masks);
  draft.key -= key(slices);
  draft.gpus -= gpus_of(slices);
  draft.free_cost = round.clearing.cost(draft.free);
  draft.worth += gang.worth;
  draft.last = static_cast<std::uint32_t>(choices_.size());
  choices_.push_back(choice);
}

void HadarDual::read_back(const Draft& draft) {
  worth_ = draft.worth;
  free_ = draft.free;
  last_ = draft.last;
  for (std::uint32_t at = draft.last; at != 0; at = choices_[at].before) {
    chosen_[choices_[at].bid] = choices_[at].gang;
  }
}

// Gives the remaining GPUs to the jobs that fit, in order, also at a price above their worth.
void HadarDual::fill(const Round& round) {
  Draft& rest = drafts_.front();
  std::swap(rest.free, free_);
  rest.gpus = 0;
  for (std::uint32_t gpus : rest.free.of_type) rest.gpus += gpus;
  rest.worth = worth_;
  rest.last = last_;
  for (std::size_t i = 0; i < round.bids.size() && rest.gpus >= smallest_[i]; ++i) {
    if (chosen_[i].slices > 0 || round.bids[i].least_gpus() > rest.gpus) continue;
    gangs_.ask(round.bids[i]);
    const auto found = gangs_.find(free_for(round, i, rest), round.prices);
    const auto best = std::ranges::max_element(found, {}, &HadarGang::payoff);
    if (best == found.end() || !(best->worth > 0)) continue;
    give(round, rest, i, *best, gangs_.slices(*best));
    chosen_[i] = choices_.back().gang;
  }
  worth_ = rest.worth;
  std::swap(rest.free, free_);
}

Gang HadarDual::gang(std::size_t bid) const {
  return {slices_.data() + chosen_[bid].first, chosen_[bid].slices};
}

void HadarDual::solve_exactly(const Round& round) {
  begin(round);
  best_ = drafts_.front();
  branch(round, 0, Draft(best_));
  read_back(best_);
}

void HadarDual::branch(const Round& round, std::size_t index, const Draft& draft) {
  if (draft.worth > best_.worth) best_ = draft;
  if (index == round.bids.size() || bound(draft, index) <= best_.worth) return;
  std::vector<std::pair<HadarGang, std::vector<Slice>>> gangs;
  gangs_.ask(round.bids[index]);
  for (const HadarGang& gang : gangs_.find(free_for(round, index, draft), round.prices)) {
    const Gang slices = gangs_.slices(gang);
    if (gang.payoff > 0) gangs.emplace_back(gang, std::vector(slices.begin(), slices.end()));
  }
  for (const auto& [gang, slices] : gangs) {
    Draft with = draft;
    give(round, with, index, gang, slices);
    branch(round, index + 1, with);
  }
  branch(round, index + 1, draft);
}

}  // namespace fairlead
