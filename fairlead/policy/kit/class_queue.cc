#include "fairlead/policy/kit/class_queue.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

constexpr std::size_t kArity = 4;

// Packs into one word: the GPUs of a task above 1, and the levels that the job asks for.
std::uint64_t kind_of(GangAsked gang) {
  return std::uint64_t{gang.closeness.bits()} << 20 | (gang.task_gpus - 1);
}

}  // namespace

ClassQueue::Key ClassQueue::key_of(const Class& of) {
  return {(std::uint64_t{of.level_} << 32) | of.gang_.gpus, (kind_of(of.gang_) << 32) | of.types_,
          of.gang_.pinned, of.gang_.limited};
}

ClassQueue::Class& ClassQueue::class_of(std::uint32_t level, GangAsked gang, TypeMask types) {
  Class wanted;
  wanted.level_ = level;
  wanted.gang_ = gang;
  wanted.types_ = types;
  const Key key = key_of(wanted);
  if (const auto found = index_.find(key); found != index_.end()) return classes_[found->second];
  // The class of a pinned job, or of limits that few jobs have, is used again once its jobs have left.
  const auto is_rare = [](const GangAsked& of) { return !of.pinned.is_none() || of.limited != 0; };
  const auto left = [&](const Class& each) { return is_rare(each.gang_) && each.heap_.empty(); };
  const auto at = is_rare(gang) ? std::ranges::find_if(classes_, left) : classes_.end();
  index_[key] = static_cast<std::uint32_t>(at - classes_.begin());
  if (at == classes_.end()) return classes_.emplace_back(std::move(wanted));
  index_.erase(key_of(*at));
  return *at = std::move(wanted);
}

void ClassQueue::add(std::uint32_t level, GangAsked gang, TypeMask types, const OrderKey& key) {
  FL_CHECK(!contains(key.job), "job {} waits already", key.job.row());
  reserve(key.job.row() + std::size_t{1});
  Class& in = class_of(level, gang, types);
  slots_[key.job].class_index = static_cast<std::uint32_t>(&in - classes_.data());
  in.heap_.push_back(key);
  sift_up(in, in.heap_.size() - 1, key);
  ++size_;
  gpus_ += gang.gpus;
  is_open_stale_ = true;
}

void ClassQueue::erase(JobId job) {
  if (!contains(job)) return;
  const Slot slot = slots_[job];
  is_open_stale_ = true;
  remove(classes_[slot.class_index], slot.position);
}

void ClassQueue::unblock() {
  for (Class& each : classes_) each.blocked_ = false;
  is_open_stale_ = true;
}

ClassQueue::Class* ClassQueue::first_open() {
  const auto later = [this](std::uint32_t a, std::uint32_t b) { return is_later(a, b); };
  if (is_open_stale_) {
    open_.clear();
    for (std::uint32_t i = 0; i < classes_.size(); ++i) {
      if (!classes_[i].blocked_ && !classes_[i].heap_.empty()) open_.push_back(i);
    }
    std::ranges::make_heap(open_, later);
    is_open_stale_ = false;
  }
  while (!open_.empty()) {
    Class& first = classes_[open_.front()];
    if (!first.blocked_) return &first;
    std::ranges::pop_heap(open_, later);
    open_.pop_back();
  }
  return nullptr;
}

OrderKey ClassQueue::pop(Class& from) {
  const OrderKey head = from.head();
  const auto later = [this](std::uint32_t a, std::uint32_t b) { return is_later(a, b); };
  const bool is_first = !is_open_stale_ && !open_.empty() && &classes_[open_.front()] == &from;
  if (is_first) std::ranges::pop_heap(open_, later);
  remove(from, 0);
  if (!is_first) {
    is_open_stale_ = true;
  } else if (from.heap_.empty()) {
    open_.pop_back();
  } else {
    std::ranges::push_heap(open_, later);
  }
  return head;
}

void ClassQueue::remove(Class& from, std::size_t position) {
  slots_[from.heap_[position].job].class_index = kAbsent;
  const OrderKey last = from.heap_.back();
  from.heap_.pop_back();
  --size_;
  gpus_ -= from.gang_.gpus;
  if (position == from.heap_.size()) return;
  sift_up(from, position, last);
  sift_down(from, slots_[last.job].position, last);
}

void ClassQueue::put(Class& in, std::size_t position, const OrderKey& key) {
  in.heap_[position] = key;
  slots_[key.job].position = static_cast<std::uint32_t>(position);
}

void ClassQueue::sift_up(Class& in, std::size_t position, const OrderKey& key) {
  while (position > 0) {
    const std::size_t parent = (position - 1) / kArity;
    if (in.heap_[parent] <= key) break;
    put(in, position, in.heap_[parent]);
    position = parent;
  }
  put(in, position, key);
}

void ClassQueue::sift_down(Class& in, std::size_t position, const OrderKey& key) {
  for (;;) {
    const std::size_t first = position * kArity + 1;
    if (first >= in.heap_.size()) break;
    const std::size_t end = std::min(first + kArity, in.heap_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (in.heap_[child] < in.heap_[least]) least = child;
    }
    if (key <= in.heap_[least]) break;
    put(in, position, in.heap_[least]);
    position = least;
  }
  put(in, position, key);
}

void ClassQueue::Class::fields(Archive& archive) {
  constexpr std::uint64_t kPinnedBit = std::uint64_t{1} << 60;
  constexpr std::uint64_t kLimitedBit = std::uint64_t{1} << 61;
  std::uint64_t asked = kind_of(gang_) << 32 | gang_.gpus;
  if (!gang_.pinned.is_none()) asked |= kPinnedBit;
  if (gang_.limited != 0) asked |= kLimitedBit;
  archive(level_, asked, types_, blocked_, heap_);
  gang_ = {.gpus = static_cast<std::uint32_t>(asked),
           .task_gpus = static_cast<std::uint32_t>(asked >> 32 & 0xfffff) + 1,
           .closeness = Closeness::of_bits(static_cast<std::uint32_t>(asked >> 52 & 0xff)),
           .pinned = gang_.pinned,
           .limited = gang_.limited};
  if ((asked & kPinnedBit) != 0) archive(gang_.pinned);
  if ((asked & kLimitedBit) != 0) archive(gang_.limited);
  for (const OrderKey& key : heap_) archive.expect(!key.job.is_none());
}

void ClassQueue::fields(Archive& archive) {
  if (!archive.reads()) return archive(classes_);
  std::vector<Class> classes;
  archive(classes);
  *this = ClassQueue();
  if (!archive.ok()) return;
  for (const Class& each : classes) {
    index_[key_of(each)] = static_cast<std::uint32_t>(classes_.size());
    classes_.push_back(each);
    classes_.back().heap_.clear();
  }
  for (const Class& each : classes) {
    for (const OrderKey& key : each.heap_) add(each.level_, each.gang_, each.types_, key);
  }
}

}  // namespace fairlead
