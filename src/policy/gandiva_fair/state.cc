// Saving and loading Gandiva_fair: what decide() remembers between calls.
#include "fairlead/policy/gandiva_fair/gandiva_fair.h"

namespace fairlead {
void GandivaFair::save(Writer& writer) const {
  entitlements_.save(writer);
  for (Time time : {next_quantum_, next_balance_, next_trade_, wake_}) writer.time(time);
  writer.u64(was_contended_ ? 1 : 0);
  writer.u64(next_order_);
  writer.u64(nodes_.size());
  for (const NodeState& state : nodes_) {
    writer.u64(state.is_down ? 1 : 0);
    writer.u64(state.gpus);
    writer.u64(state.wanted);
    writer.real(state.load);
    writer.u64(state.queue.size());
    for (const StrideClient& client : state.queue) client.save(writer);
    writer.u64(state.spreads.size());
    for (JobId job : state.spreads) writer.id(job);
  }
  writer.u64(contended_.size());
  for (NodeId node : contended_) writer.id(node);
  writer.u64(spreads_.size());
  for (const Spread& spread : spreads_) {
    spread.client.save(writer);
    writer.u64(spread.slices.size());
    for (Slice slice : spread.slices) {
      writer.id(slice.node);
      writer.u64(slice.gpus);
    }
  }
  writer.u64(coming_in_.size());
  for (const auto& [key, user] : coming_in_.entries()) {
    writer.id(user);
    writer.real(key);
  }
  save_lists(writer);
}

void GandivaFair::save_lists(Writer& writer) const {
  const auto save_list = [&](const JobLists& lists, std::size_t list) {
    for (JobId job = lists.first(list); !job.is_none(); job = lists.after(job)) {
      const Residence& residence = residences_[job];
      writer.id(job);
      writer.id(residence.home);
      writer.u64(residence.spread);
      writer.id(residence.type);
      writer.time(residence.charged);
      writer.time(residence.moved);
      writer.u64(residence.holds ? 1 : 0);
    }
    writer.id(JobId::none());
  };
  const std::size_t users = entitlements_.users();
  for (std::size_t user = 0; user < users; ++user) save_list(outside_, user);
  for (std::size_t list = 0; list < users * entitlements_.types(); ++list) save_list(kept_, list);
}

void GandivaFair::load(Reader& reader) {
  entitlements_.load(reader);
  for (Time* time : {&next_quantum_, &next_balance_, &next_trade_, &wake_}) *time = reader.time();
  was_contended_ = reader.u64() != 0;
  next_order_ = reader.u32();
  const std::uint64_t nodes = reader.u64();
  if (nodes > reader.left()) return reader.fail();
  nodes_.resize(nodes);
  for (NodeState& state : nodes_) {
    state.is_down = reader.u64() != 0;
    state.gpus = reader.u32();
    state.wanted = reader.u32();
    state.load = reader.real();
    for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
      state.queue.push_back(StrideClient::load(reader));
    }
    for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
      state.spreads.push_back(reader.id<JobId>());
    }
  }
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    const NodeId node = reader.id<NodeId>();
    if (!nodes_.has(node)) return reader.fail();
    nodes_[node].is_contended = true;
    nodes_[node].slot = static_cast<std::uint32_t>(contended_.size());
    contended_.push_back(node);
  }
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    Spread& spread = spreads_.emplace_back();
    spread.client = StrideClient::load(reader);
    for (std::uint64_t slices = reader.u64(); slices > 0 && reader.ok(); --slices) {
      const NodeId node = reader.id<NodeId>();
      spread.slices.push_back({node, static_cast<std::uint16_t>(reader.u32())});
    }
  }
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    const UserId user = reader.id<UserId>();
    coming_in_.set(user, reader.real());
  }
  load_lists(reader);
}

void GandivaFair::load_lists(Reader& reader) {
  const auto load_list = [&](JobLists& lists, std::size_t list) {
    std::int64_t length = 0;
    for (JobId job = reader.id<JobId>(); !job.is_none() && reader.ok(); job = reader.id<JobId>()) {
      Residence& residence = residences_.grow_to(job);
      residence.home = reader.id<NodeId>();
      residence.spread = reader.u32();
      residence.type = reader.id<GpuTypeId>();
      residence.charged = reader.time();
      residence.moved = reader.time();
      residence.holds = reader.u64() != 0;
      lists.push_back(list, job);
      ++length;
    }
    return length;
  };
  const std::size_t users = entitlements_.users();
  const std::size_t kept_lists = users * entitlements_.types();
  outside_ = JobLists(users);
  kept_ = JobLists(kept_lists);
  for (std::size_t user = 0; user < users; ++user) {
    outside_count_ += load_list(outside_, user);
  }
  for (std::size_t list = 0; list < kept_lists; ++list) load_list(kept_, list);
  for (const Spread& spread : spreads_) {
    if (!residences_[spread.client.job].holds) ++spread_waits_;
  }
}

}  // namespace fairlead
