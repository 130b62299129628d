// Saving and loading of Homes.
#include "fairlead/policy/gandiva_fair/homes.h"

namespace fairlead {

void Homes::save(Writer& writer) const {
  writer.u64(next_order_);
  save_nodes(writer);
  writer.u64(spreads_.size());
  for (const Spread& spread : spreads_) {
    spread.client.save(writer);
    writer.u64(spread.slices.size());
    for (Slice slice : spread.slices) {
      writer.id(slice.node);
      writer.u64(slice.gpus);
    }
  }
  save_residences(writer);
}

void Homes::save_nodes(Writer& writer) const {
  writer.u64(nodes_.size());
  for (const Node& books : nodes_) {
    writer.u64(books.is_down ? 1 : 0);
    writer.u64(books.gpus);
    writer.u64(books.wanted);
    writer.real(books.load);
    writer.u64(books.queue.size());
    for (const StrideClient& client : books.queue) client.save(writer);
    writer.u64(books.spreads.size());
    for (JobId job : books.spreads) writer.id(job);
  }
  writer.u64(contended_.size());
  for (NodeId node : contended_) writer.id(node);
}

void Homes::save_residences(Writer& writer) const {
  const Entitlements& due = accounts_.due();
  for (std::size_t list = 0; list < due.users() * due.types(); ++list) {
    for (JobId job = kept_.first(list); !job.is_none(); job = kept_.after(job)) {
      const Residence& residence = residences_[job];
      writer.id(job);
      writer.id(residence.node);
      writer.u64(residence.spread);
      writer.id(residence.type);
      writer.time(residence.since);
      writer.u64(residence.holds ? 1 : 0);
    }
    writer.id(JobId::none());
  }
}

void Homes::load(Reader& reader) {
  next_order_ = reader.u32();
  load_nodes(reader);
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    Spread& spread = spreads_.emplace_back();
    spread.client = StrideClient::load(reader);
    for (std::uint64_t slices = reader.u64(); slices > 0 && reader.ok(); --slices) {
      const NodeId node = reader.id<NodeId>();
      spread.slices.push_back({node, static_cast<std::uint16_t>(reader.u32())});
    }
  }
  load_residences(reader);
}

void Homes::load_nodes(Reader& reader) {
  const std::uint64_t nodes = reader.u64();
  if (nodes > reader.left()) return reader.fail();
  nodes_.resize(nodes);
  slot_.resize(nodes);
  for (Node& books : nodes_) {
    books.is_down = reader.u64() != 0;
    books.gpus = reader.u32();
    books.wanted = reader.u32();
    books.load = reader.real();
    for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
      books.queue.push_back(StrideClient::load(reader));
    }
    for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
      books.spreads.push_back(reader.id<JobId>());
    }
  }
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    const NodeId node = reader.id<NodeId>();
    if (!nodes_.has(node)) return reader.fail();
    nodes_[node].is_contended = true;
    slot_[node] = static_cast<std::uint32_t>(contended_.size());
    contended_.push_back(node);
  }
}

void Homes::load_residences(Reader& reader) {
  const Entitlements& due = accounts_.due();
  const std::size_t lists = due.users() * due.types();
  kept_ = JobLists(lists);
  for (std::size_t list = 0; list < lists && reader.ok(); ++list) {
    for (JobId job = reader.id<JobId>(); !job.is_none() && reader.ok(); job = reader.id<JobId>()) {
      Residence& residence = residences_.grow_to(job);
      residence.node = reader.id<NodeId>();
      residence.spread = reader.u32();
      residence.type = reader.id<GpuTypeId>();
      residence.since = reader.time();
      residence.holds = reader.u64() != 0;
      kept_.push_back(list, job);
      if (residence.is_spread() && !residence.holds) ++spread_waits_;
    }
  }
}

}  // namespace fairlead
