#include "fairlead/policy/hadar/dual.h"

#include <algorithm>

namespace fairlead {
namespace {

// Nodes that an exhaustive search visits while several drafts are kept: chosen.
constexpr std::size_t kBeamNodes = 2'000'000;
// Gangs of one bid besides one for each of its types: its present gang, two mixes, and none.
constexpr std::size_t kOtherGangs = 4;
constexpr std::size_t kSkipRun = 0;  // run of the beam; a gang's is its place + 1
constexpr std::uint64_t kKeyFactor = 0x9e3779b97f4a7c15U;  // any odd number that mixes well
// Bounds are sums of rounded values: values that differ by less than this fraction may be equal.
constexpr double kRounding = 1e-9;

}  // namespace

HadarDual::HadarDual(const Cluster& cluster, const HadarSearch& search)
    : cluster_(cluster),
      search_(search),
      gangs_(cluster, search.mixed),
      drafts_(search.beam, cluster.type_names.size()) {
  FL_CHECK(search.beam > 0);
  key_units_.assign(cluster.type_names.size(), 1);
  for (std::size_t type = 1; type < key_units_.size(); ++type) {
    key_units_[type] = key_units_[type - 1] * kKeyFactor;
  }
}

void HadarDual::solve(const Round& round) {
  begin(round);
  std::size_t looked_at = 0;
  for (std::size_t index = 0; index < round.bids.size(); ++index) {
    const auto has_room = [&](const HadarDraft& draft) { return draft.gpus >= smallest_[index]; };
    if (std::ranges::none_of(drafts_.all(), has_room)) break;
    // A full beam stays full, because every draft may skip a bid; so drafts left out count as well.
    is_full_ = is_full_ || drafts_.size() == search_.beam;
    looked_at += (is_full_ ? search_.beam : drafts_.size()) * cluster_.nodes();
    const std::uint32_t width = looked_at < kBeamNodes ? search_.beam : 1;
    look_at(round, index);
    beam_.clear(asked_.of_types.size() + kOtherGangs, drafts_.size());
    skip(index, width);
    choose_drafts(round, index);
    try_gangs(round, index);
    make_drafts(round, index, beam_.keep(width));
    if (parts_.is_full()) collect();
  }
  HadarDraft& best = *std::ranges::max_element(drafts_.all(), {}, &HadarDraft::worth);
  read_back(round, best.worth, best.last);
  if (search_.work_conserving) fill(round, best);
}

void HadarDual::collect() {
  parts_.collect([&](const auto& visit) {
    for (const HadarDraft& draft : drafts_.all()) visit(drafts_.rest(draft));
  });
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
  choices_.begin();
  chosen_.assign(bids.size(), {});
  is_full_ = false;
  HadarDraft& first = drafts_.begin();
  parts_.begin(cluster_, gangs_.order(), round.free, apart_);
  for (GpuTypeId type : ids<GpuTypeId>(apart_.size())) {
    price(round, type, *apart_[type.row()]);
    first.parts[type.row()] = apart_[type.row()];
  }
  first.key = 0;
  first.gpus = 0;
  for (GpuTypeId type : ids<GpuTypeId>(cluster_.type_names.size())) {
    first.key += round.free.of_type[type] * key_units_[type.row()];
    first.gpus += round.free.of_type[type];
  }
  first.free_cost = free_cost(first);
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
  const std::span drafts = drafts_.all();
  for (HadarDraft& draft : drafts) {
    draft.idle = bound(draft, index + 1);
    best_worth = std::max(best_worth, draft.worth);
    last = std::min(last, draft.idle);
  }
  cutoff_ = is_full_ ? best_worth * (1 - kRounding) : -std::numeric_limits<double>::infinity();
  if (drafts_.size() >= width) cutoff_ = std::max(cutoff_, last);
  for (std::uint32_t i = 0; i < drafts_.size(); ++i) {
    if (drafts[i].idle >= cutoff_) beam_.offer(kSkipRun, drafts[i].idle, i, kSkip, drafts[i].key);
  }
}

void HadarDual::look_at(const Round& round, std::size_t index) {
  const HadarBid& bid = round.bids[index];
  gangs_.ask(bid);
  tried_.clear();
  asked_.of_types.clear();
  for (GpuTypeId type : gangs_.types()) {
    asked_.of_types.push_back({.gain = bid.best_on(type) - bid.gpus * round.clearing.price(type),
                               .key = bid.gpus * key_units_[type.row()],
                               .type = type});
  }
  if (bid.present.empty()) return;
  asked_.of_present = {.gain = bid.present_worth - round.clearing.cost(cluster_, bid.present),
                       .key = key(bid.present),
                       .type = cluster_.node_type[bid.present.front().node]};
  const auto is_of_type = [&](Slice slice) {
    return cluster_.node_type[slice.node] == asked_.of_present.type;
  };
  if (!std::ranges::all_of(bid.present, is_of_type)) asked_.of_present.type = GpuTypeId::none();
}

void HadarDual::price(const Round& round, GpuTypeId type, HadarPart& part) {
  part.price = round.prices.price(type, part.gpus);
  part.cost = part.gpus * round.clearing.price(type);
}

// Returns the cost of the free GPUs, at clearing prices.
double HadarDual::free_cost(const HadarDraft& draft) const {
  double cost = 0;
  for (const HadarPart* part : drafts_.rest(draft)) cost += part->cost;
  return cost;
}

HadarRest HadarDual::rest_for(const Round& round, std::size_t index, const HadarDraft& draft) {
  const HadarBid& bid = round.bids[index];
  if (!bid.is_forked) return drafts_.rest(draft);
  std::ranges::copy(drafts_.rest(draft), apart_.begin());
  TypeMask copied = 0;
  choices_.for_each(draft.last, [&](const HadarChoices::Choice& choice) {
    if (round.bids[choice.bid].job != bid.job) return;
    for (Slice slice : choices_.slices(choice.gang)) {
      const GpuTypeId type = cluster_.node_type[slice.node];
      HadarPart*& part = apart_[type.row()];
      if ((copied & type_bit(type)) == 0) part = &parts_.copy(*part);
      copied |= type_bit(type);
      part->set(gangs_.order().place[slice.node], 0);
      price(round, type, *part);
    }
  });
  return apart_;
}

void HadarDual::choose_drafts(const Round& round, std::size_t index) {
  const std::uint32_t least = round.bids[index].least_gpus();
  const double surplus = round.clearing.surplus(index);
  const double cutoff = cutoff_ * (1 - kRounding);
  asked_.able.clear();
  for (std::uint32_t i = 0; i < drafts_.size(); ++i) {
    const double most = drafts_[i].idle * (1 + kRounding) + surplus;
    if (drafts_[i].gpus >= least && !(most < cutoff)) asked_.able.push_back(i);
  }
}

// Returns how much more the present gang adds than a gang with that addition, if it takes as many GPUs of the same type,
// less an error of rounding; else -1.
double HadarDual::lead_of_present(const HadarBid& bid, const Addition& addition) const {
  const bool is_alike = !bid.present.empty() && asked_.of_present.type == addition.type &&
                        asked_.of_present.key == addition.key;
  return is_alike ? asked_.of_present.gain - addition.gain - bid.present_worth * kRounding : -1;
}

void HadarDual::try_gangs(const Round& round, std::size_t index) {
  const HadarBid& bid = round.bids[index];
  if (!bid.is_forked) {
    return try_kinds(round, bid, asked_.able,
                     [&](std::uint32_t draft) { return drafts_.rest(drafts_[draft]); });
  }
  for (const std::uint32_t& draft : asked_.able) {
    const HadarRest apart = rest_for(round, index, drafts_[draft]);
    try_kinds(round, bid, {&draft, 1}, [&](std::uint32_t /*draft*/) { return apart; });
  }
}

// Tries kind by kind, so that the children of a kind come in the order of the drafts.
template <class RestOf>
void HadarDual::try_kinds(const Round& round, const HadarBid& bid,
                          std::span<const std::uint32_t> drafts, const RestOf& rest_of) {
  std::uint32_t place = 0;
  if (!bid.present.empty()) {
    for (std::uint32_t draft : drafts) {
      try_one(round, draft, rest_of(draft), asked_.of_present, place);
    }
  }
  for (const Addition& addition : asked_.of_types) {
    ++place;
    const double lead = lead_of_present(bid, addition);
    for (std::uint32_t draft : drafts) {
      if (drafts_[draft].parts[addition.type.row()]->gpus < bid.gpus) continue;
      const HadarRest from = rest_of(draft);
      // Its present gang leads to the same place, and is worth more.
      if (lead > drafts_[draft].idle * kRounding && has_present(from, addition.type)) continue;
      try_one(round, draft, from, addition, place);
    }
  }
  if (!gangs_.may_mix()) return;
  for (std::uint32_t draft : drafts) {
    std::uint32_t mix = place;
    for (const HadarGang& gang : gangs_.find_mixes(rest_of(draft))) {
      if (gang.payoff > 0) offer(draft, note(round, gang), ++mix);
    }
  }
}

// Returns true if the bid found that its present gang, of that type, is free.
bool HadarDual::has_present(HadarRest from, GpuTypeId type) const {
  const Found& present = from[type.row()]->found[0];
  return present.ask == gangs_.asked() && present.gang != HadarPart::kNone;
}

// Tries the present gang of the bid (place 0), or a gang of one type.
inline void HadarDual::try_one(const Round& round, std::uint32_t draft, HadarRest from,
                               const Addition& addition, std::uint32_t place) {
  const auto find = [&] { return find_one(round, drafts_[draft], from, addition, place); };
  if (addition.type.is_none()) {
    const Found found = find();
    if (found.gang != HadarPart::kNone) offer(draft, found, place);
    return;
  }
  Found& found = from[addition.type.row()]->found[place == 0 ? 0 : 1];
  if (found.ask != gangs_.asked()) found = find();
  if (found.gang != HadarPart::kNone) offer(draft, found, place);
}

// Returns an old result if no such gang of the draft is of use.
HadarPart::Found HadarDual::find_one(const Round& round, const HadarDraft& draft, HadarRest from,
                                     const Addition& addition, std::uint32_t place) {
  const double most = (draft.idle + addition.gain) * (1 + kRounding) + draft.idle * kRounding;
  if (most < cutoff_) return {};
  const std::span<const HadarGang> gangs =
      place == 0 ? gangs_.find_present(from) : gangs_.find_on(from, addition.type);
  const bool is_bought = !gangs.empty() && gangs.front().payoff > 0;
  return is_bought ? note(round, gangs.front()) : Found{.ask = gangs_.asked()};
}

HadarPart::Found HadarDual::note(const Round& round, const HadarGang& gang) {
  const Gang slices = gangs_.slices(gang);
  const std::uint64_t key_of_gpus = key(slices);
  return {.ask = gangs_.asked(),
          .gang = tried_.add(cluster_, gang, slices, key_of_gpus),
          .worth = gang.worth,
          .cost = round.clearing.cost(cluster_, slices),
          .key = key_of_gpus};
}

inline void HadarDual::offer(std::uint32_t draft, const Found& found, std::uint32_t place) {
  const HadarDraft& from = drafts_[draft];
  const double score = from.idle + found.worth - found.cost;
  if (score < cutoff_) return;
  FL_DCHECK(found.gang <= kTriedMask && place < kSkip >> kPlaceShift);
  beam_.offer(place + 1, score, draft, place << kPlaceShift | found.gang, from.key - found.key);
}

void HadarDual::make_drafts(const Round& round, std::size_t index,
                            std::span<const Child> children) {
  // Behind the winners usually no job buys, and drafts stay as they are.
  std::uint32_t same = 0;
  while (same < children.size() && children[same].gang() == kSkip &&
         children[same].draft() == same) {
    ++same;
  }
  if (same == children.size()) {
    drafts_.keep(same);
    return;
  }
  if (children.size() == 1 && drafts_.size() == 1) {
    // One draft goes on without a copy.
    return give(round, drafts_[0], Parts::kOwn, index, children.front().gang() & kTriedMask);
  }
  // Copies first, because a skipping draft can then take the old draft itself.
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (children[i].gang() == kSkip) continue;
    drafts_.copy(drafts_[children[i].draft()], drafts_.next(i));
    give(round, drafts_.next(i), Parts::kShared, index, children[i].gang() & kTriedMask);
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (children[i].gang() == kSkip) std::swap(drafts_.next(i), drafts_[children[i].draft()]);
  }
  drafts_.advance(children.size());
}

void HadarDual::give(const Round& round, HadarDraft& draft, Parts parts, std::size_t index,
                     std::uint32_t tried) {
  HadarTried::Tried& of = tried_[tried];
  if (of.chosen == 0) of.chosen = choices_.add_slices(tried_.slices(of));
  take(round, draft, parts, round.bids[index], tried);
  draft.key -= of.key;
  draft.gpus -= of.gpus;
  draft.free_cost = free_cost(draft);
  draft.worth += of.gang.worth;
  HadarChoices::Choice choice{draft.last, static_cast<std::uint32_t>(index), of.gang};
  choice.gang.first = of.chosen;
  draft.last = choices_.add(choice);
}

// Takes the slices out of the draft's own parts, or gives it new parts without them. Another draft with the same part
// may have got the new part already.
void HadarDual::take(const Round& round, HadarDraft& draft, Parts parts, const HadarBid& bid,
                     std::uint32_t tried) {
  const HadarTried::Tried& of = tried_[tried];
  Found* found = nullptr;
  if (parts == Parts::kShared && !of.type.is_none()) {
    HadarPart*& part = draft.parts[of.type.row()];
    for (Found& one : part->found) {
      if (one.ask == gangs_.asked() && one.gang == tried) found = &one;
    }
    if (found != nullptr && found->rest != nullptr) {
      part = found->rest;
      return;
    }
  }
  const Gang slices = tried_.slices(of);
  const bool is_present = std::ranges::equal(slices, bid.present) && !bid.present_masks.empty();
  TypeMask copied = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Slice slice = slices[i];
    const GpuTypeId type = cluster_.node_type[slice.node];
    HadarPart*& part = draft.parts[type.row()];
    if (parts == Parts::kShared && (copied & type_bit(type)) == 0) part = &parts_.copy(*part);
    copied |= type_bit(type);
    part->forget_asked();
    const std::uint32_t place = gangs_.order().place[slice.node];
    part->set(place, std::uint32_t{part->on[place]} - slice.gpus);
    if (part->room.is_limited()) part->room.take(bid.job, slice.node, slice.gpus / bid.task_gpus);
    if (is_present) part->keep(place, bid.present_masks[i]);
    price(round, type, *part);
    if (found != nullptr) found->rest = part;
  }
}

void HadarDual::read_back(const Round& round, double worth, std::uint32_t last) {
  worth_ = worth;
  last_ = last;
  free_.on = round.free.on;
  free_.of_type = round.free.of_type;
  choices_.for_each(last, [&](const HadarChoices::Choice& choice) {
    chosen_[choice.bid] = choice.gang;
    free_.take(cluster_, choices_.slices(choice.gang));
  });
}

// Gives the remaining GPUs to the jobs that fit, in order, also at a price above their worth.
void HadarDual::fill(const Round& round, HadarDraft& rest) {
  for (std::size_t i = 0; i < round.bids.size() && rest.gpus >= smallest_[i]; ++i) {
    if (chosen_[i].slices > 0 || round.bids[i].least_gpus() > rest.gpus) continue;
    gangs_.ask(round.bids[i]);
    const auto found = gangs_.find(rest_for(round, i, rest));
    const auto best = std::ranges::max_element(found, {}, &HadarGang::payoff);
    if (best == found.end() || !(best->worth > 0)) continue;
    free_.take(cluster_, gangs_.slices(*best));
    tried_.clear();
    note(round, *best);
    give(round, rest, Parts::kOwn, i, 0);
    chosen_[i] = choices_[rest.last].gang;
  }
  worth_ = rest.worth;
}

Gang HadarDual::gang(std::size_t bid) const { return choices_.slices(chosen_[bid]); }

void HadarDual::solve_exactly(const Round& round) {
  begin(round);
  worth_ = 0;
  last_ = 0;
  branch(round, 0, drafts_[0]);
  read_back(round, worth_, last_);
}

void HadarDual::branch(const Round& round, std::size_t index, const HadarDraft& draft) {
  if (draft.worth > worth_) {
    worth_ = draft.worth;
    last_ = draft.last;
  }
  if (index == round.bids.size() || bound(draft, index) <= worth_) return;
  const std::size_t used = parts_.used();
  std::vector<std::pair<HadarGang, std::vector<Slice>>> gangs;
  gangs_.ask(round.bids[index]);
  for (const HadarGang& gang : gangs_.find(rest_for(round, index, draft))) {
    const Gang slices = gangs_.slices(gang);
    if (gang.payoff > 0) gangs.emplace_back(gang, std::vector(slices.begin(), slices.end()));
  }
  for (const auto& [gang, slices] : gangs) {
    std::vector<HadarPart*> parts(key_units_.size());
    HadarDraft with;
    with.parts = parts.data();
    drafts_.copy(draft, with);
    tried_.clear();
    tried_.add(cluster_, gang, slices, key(slices));
    give(round, with, Parts::kShared, index, 0);
    branch(round, index + 1, with);
    parts_.release(used);
  }
  branch(round, index + 1, draft);
}

}  // namespace fairlead
