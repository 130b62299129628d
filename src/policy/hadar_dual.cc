#include "policy/hadar_dual.h"

#include <algorithm>

namespace fairlead {
namespace {

// Nodes looked at while several drafts are kept: chosen, some 5 ms.
constexpr std::size_t kBeamNodes = 2'000'000;

}  // namespace

HadarDual::HadarDual(const Cluster& cluster, const HadarSearch& search)
    : cluster_(cluster), search_(search), gangs_(cluster, search.mixed) {
  drafts_.resize(search.beam);
  next_drafts_.resize(search.beam);
}

void HadarDual::solve(const Round& round) {
  begin(round);
  std::size_t looked_at = 0;
  for (std::size_t index = 0; index < round.bids.size(); ++index) {
    children_.clear();
    tried_.clear();
    tried_slices_.clear();
    bool somebody_fits = false;
    for (std::uint32_t draft = 0; draft < draft_count_; ++draft) {
      if (drafts_[draft].gpus >= smallest_[index]) somebody_fits = true;
      try_gangs(round, index, draft);
    }
    if (!somebody_fits) break;
    looked_at += draft_count_ * cluster_.nodes();
    keep_best(looked_at < kBeamNodes ? search_.beam : 1);
    make_drafts(index);
  }
  const auto end = drafts_.begin() + static_cast<std::ptrdiff_t>(draft_count_);
  read_back(*std::max_element(drafts_.begin(), end,
                              [](const Draft& a, const Draft& b) { return a.worth < b.worth; }));
  if (search_.work_conserving) fill(round);
}

void HadarDual::begin(const Round& round) {
  const std::span<const HadarBid> bids = round.bids;
  gains_.assign(bids.size() + 1, 0);
  smallest_.assign(bids.size() + 1, std::numeric_limits<std::uint32_t>::max());
  for (std::size_t i = bids.size(); i-- > 0;) {
    gains_[i] = gains_[i + 1] + round.clearing.gain(cluster_, bids[i]);
    smallest_[i] = std::min(smallest_[i + 1], bids[i].gpus);
  }
  choices_.assign(1, {});
  slices_.clear();
  chosen_.assign(bids.size(), {});
  draft_count_ = 1;
  Draft& first = drafts_.front();
  first.free = round.free;
  first.gpus = 0;
  for (std::uint32_t gpus : round.free.of_type) first.gpus += gpus;
  first.worth = 0;
  first.last = 0;
}

double HadarDual::bound(const Round& round, const Draft& draft, std::size_t next) const {
  return draft.worth + gains_[next] + round.clearing.cost(draft.free);
}

// Of the free GPUs by type once `taken` is given out.
std::uint64_t HadarDual::key(const HadarFree& free, Gang taken) const {
  std::uint64_t key = 0;
  for (GpuTypeId type : ids<GpuTypeId>(free.of_type.size())) {
    std::uint32_t gpus = free.of_type[type];
    for (Slice slice : taken) {
      if (cluster_.node_type[slice.node] == type) gpus -= slice.gpus;
    }
    key = key * 0x9e3779b97f4a7c15U + gpus;  // any odd number that mixes well
  }
  return key;
}

void HadarDual::try_gangs(const Round& round, std::size_t index, std::uint32_t draft) {
  const HadarBid& bid = round.bids[index];
  const Draft& from = drafts_[draft];
  const double idle = bound(round, from, index + 1);
  children_.push_back({idle, draft, kSkip, key(from.free, {})});
  if (from.gpus < bid.gpus) return;
  for (const HadarGang& gang : gangs_.find(from.free, bid, round.prices)) {
    if (!(gang.payoff > 0)) continue;
    const Gang slices = gangs_.slices(gang);
    children_.push_back({idle + gang.worth - round.clearing.cost(cluster_, slices), draft,
                         static_cast<std::uint32_t>(tried_.size()), key(from.free, slices)});
    tried_.push_back(gang);
    tried_.back().first = static_cast<std::uint32_t>(tried_slices_.size());
    tried_slices_.insert(tried_slices_.end(), slices.begin(), slices.end());
  }
}

// The best children come first, each with free GPUs of its own.
void HadarDual::keep_best(std::uint32_t width) {
  const auto is_before = [](const Child& a, const Child& b) {
    if (a.key != b.key) return a.key < b.key;
    if (a.score != b.score) return a.score > b.score;
    return std::pair(a.draft, a.gang) < std::pair(b.draft, b.gang);
  };
  std::ranges::sort(children_, is_before);
  const auto is_alike = [](const Child& a, const Child& b) { return a.key == b.key; };
  children_.erase(std::unique(children_.begin(), children_.end(), is_alike), children_.end());
  std::ranges::sort(children_, [](const Child& a, const Child& b) {
    if (a.score != b.score) return a.score > b.score;
    return std::pair(a.draft, a.gang) < std::pair(b.draft, b.gang);
  });
  if (children_.size() > width) children_.resize(width);
}

void HadarDual::make_drafts(std::size_t index) {
  if (children_.size() == 1 && draft_count_ == 1) {
    // One draft goes on as it is, without a copy.
    const Child& child = children_.front();
    if (child.gang == kSkip) return;
    const HadarGang& gang = tried_[child.gang];
    return give(drafts_.front(), index, gang, {tried_slices_.data() + gang.first, gang.slices});
  }
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const Child& child = children_[i];
    next_drafts_[i] = drafts_[child.draft];
    if (child.gang == kSkip) continue;
    const HadarGang& gang = tried_[child.gang];
    give(next_drafts_[i], index, gang, {tried_slices_.data() + gang.first, gang.slices});
  }
  draft_count_ = children_.size();
  std::swap(drafts_, next_drafts_);
}

void HadarDual::give(Draft& draft, std::size_t index, const HadarGang& gang, Gang slices) {
  Choice choice{draft.last, static_cast<std::uint32_t>(index), gang};
  choice.gang.first = static_cast<std::uint32_t>(slices_.size());
  slices_.insert(slices_.end(), slices.begin(), slices.end());
  draft.free.take(cluster_, slices);
  draft.gpus -= gpus_of(slices);
  draft.worth += gang.worth;
  draft.last = static_cast<std::uint32_t>(choices_.size());
  choices_.push_back(choice);
}

void HadarDual::read_back(const Draft& draft) {
  worth_ = draft.worth;
  free_ = draft.free;
  for (std::uint32_t at = draft.last; at != 0; at = choices_[at].before) {
    chosen_[choices_[at].bid] = choices_[at].gang;
  }
}

// Gives what is left to whoever fits, in order, also at a price above its worth.
void HadarDual::fill(const Round& round) {
  Draft& rest = drafts_.front();
  std::swap(rest.free, free_);
  rest.gpus = 0;
  for (std::uint32_t gpus : rest.free.of_type) rest.gpus += gpus;
  rest.worth = worth_;
  for (std::size_t i = 0; i < round.bids.size() && rest.gpus >= smallest_[i]; ++i) {
    if (chosen_[i].slices > 0 || round.bids[i].gpus > rest.gpus) continue;
    const auto found = gangs_.find(rest.free, round.bids[i], round.prices);
    const auto best = std::ranges::max_element(found, {}, &HadarGang::payoff);
    if (best == found.end() || !(best->worth > 0)) continue;
    give(rest, i, *best, gangs_.slices(*best));
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
  if (index == round.bids.size() || bound(round, draft, index) <= best_.worth) return;
  std::vector<std::pair<HadarGang, std::vector<Slice>>> gangs;
  for (const HadarGang& gang : gangs_.find(draft.free, round.bids[index], round.prices)) {
    const Gang slices = gangs_.slices(gang);
    if (gang.payoff > 0) gangs.emplace_back(gang, std::vector(slices.begin(), slices.end()));
  }
  for (const auto& [gang, slices] : gangs) {
    Draft with = draft;
    give(with, index, gang, slices);
    branch(round, index + 1, with);
  }
  branch(round, index + 1, draft);
}

}  // namespace fairlead
