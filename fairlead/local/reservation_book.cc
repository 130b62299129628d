#include "fairlead/local/reservation_book.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr const char* kFile = "reservations";

json json_of(const Reservation& one) {
  json gpus = json::array();
  for (const auto& [node, count] : one.gpus) gpus.push_back({node.row(), count});
  return {{"id", one.id},
          {"holder", one.holder},
          {"is_group", one.is_group},
          {"type", one.type.row()},
          {"from_ms", one.from_ms},
          {"to_ms", one.to_ms},
          {"gpus", gpus}};
}

bool is_count(const json& object, const char* name, std::size_t end) {
  return object.contains(name) && object[name].is_number_unsigned() && object[name] < end;
}

// Returns nullopt if the text is not from json_of(), or not of this cluster.
std::optional<Reservation> reservation_of(const json& object, const Cluster& cluster) {
  constexpr std::size_t kIds = std::size_t{1} << 32;
  const auto is = [&](const char* name, json::value_t type) {
    return object.contains(name) && object[name].type() == type;
  };
  if (!object.is_object() || !is_count(object, "id", kIds) ||
      !is("holder", json::value_t::string) || !is("is_group", json::value_t::boolean) ||
      !is_count(object, "type", cluster.type_names.size()) || !object.contains("from_ms") ||
      !object["from_ms"].is_number_integer() || !object.contains("to_ms") ||
      !object["to_ms"].is_number_integer() || !is("gpus", json::value_t::array))
    return std::nullopt;
  Reservation one{.id = object["id"].get<std::uint32_t>(),
                  .holder = object["holder"].get<std::string>(),
                  .is_group = object["is_group"].get<bool>(),
                  .type = GpuTypeId(object["type"].get<std::size_t>()),
                  .from_ms = object["from_ms"].get<std::int64_t>(),
                  .to_ms = object["to_ms"].get<std::int64_t>()};
  for (const json& entry : object["gpus"]) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number_unsigned() ||
        !entry[1].is_number_unsigned() || entry[0] >= cluster.nodes() || entry[1] > kNodeGpusMax)
      return std::nullopt;
    one.gpus[NodeId(entry[0].get<std::size_t>())] = entry[1].get<std::uint32_t>();
  }
  return one;
}

}  // namespace

std::uint32_t Reservation::total() const {
  std::uint32_t sum = 0;
  for (const auto& [node, count] : gpus) sum += count;
  return sum;
}

Status ReservationBook::load() {
  const auto text = io_.read(kFile);
  if (!text) return {};
  const json file = json::parse(*text, nullptr, false);
  const auto bad = [] {
    return run_error("the file `{}` in the daemon's folder has no reservations", kFile);
  };
  if (!file.is_object() || !is_count(file, "next", std::size_t{1} << 32) ||
      !file.contains("list") || !file["list"].is_array())
    return bad();
  for (const json& object : file["list"]) {
    auto one = reservation_of(object, cluster_);
    if (!one) return bad();
    all_.push_back(*std::move(one));
  }
  next_ = file["next"].get<std::uint32_t>();
  return {};
}

Status ReservationBook::write(const std::vector<Reservation>& all, std::uint32_t next) const {
  json list = json::array();
  for (const Reservation& one : all) list.push_back(json_of(one));
  const json file = {{"next", next}, {"list", std::move(list)}};
  return io_.write(kFile, file.dump(-1, ' ', false, json::error_handler_t::replace));
}

// The most that is reserved at a time is reserved at its first moment, or when a reservation begins.
std::uint32_t ReservationBook::free_on(NodeId node, std::int64_t from_ms,
                                       std::int64_t to_ms) const {
  std::uint32_t most = 0;
  const auto look_at = [&](std::int64_t unix_ms) {
    std::uint32_t sum = 0;
    for (const Reservation& one : all_) {
      const auto found = one.gpus.find(node);
      if (one.is_at(unix_ms) && found != one.gpus.end()) sum += found->second;
    }
    most = std::max(most, sum);
  };
  look_at(from_ms);
  for (const Reservation& one : all_) {
    if (one.from_ms > from_ms && one.from_ms < to_ms) look_at(one.from_ms);
  }
  const std::uint32_t has = cluster_.node_gpus[node];
  return has - std::min(has, most);
}

std::uint32_t ReservationBook::free_gpus(const Asked& asked) const {
  std::uint32_t sum = 0;
  for (NodeId node : ids<NodeId>(cluster_.nodes())) {
    if (cluster_.node_type[node] == asked.type) sum += free_on(node, asked.from_ms, asked.to_ms);
  }
  return sum;
}

std::optional<ReservationBook::Gpus> ReservationBook::place(const Asked& asked) const {
  Gpus gpus;
  std::uint32_t missing = asked.gpus;
  for (NodeId node : ids<NodeId>(cluster_.nodes())) {
    if (cluster_.node_type[node] != asked.type) continue;
    const std::uint32_t free = free_on(node, asked.from_ms, asked.to_ms);
    if (free >= asked.gpus) return Gpus{{node, asked.gpus}};
    if (const std::uint32_t taken = std::min(free, missing); taken > 0) gpus[node] = taken;
    missing -= std::min(free, missing);
  }
  if (missing > 0) return std::nullopt;
  return gpus;
}

bool ReservationBook::is_crowded(const Asked& asked) const {
  const auto is_full = [&](std::int64_t unix_ms) {
    const auto at_once =
        std::ranges::count_if(all_, [&](const Reservation& one) { return one.is_at(unix_ms); });
    return std::cmp_greater_equal(at_once, kAtOnceMax);
  };
  return is_full(asked.from_ms) || std::ranges::any_of(all_, [&](const Reservation& one) {
           return one.from_ms > asked.from_ms && one.from_ms < asked.to_ms && is_full(one.from_ms);
         });
}

Result<ReservationBook::Added> ReservationBook::add(const Asked& asked) {
  if (all_.size() >= kMost) return input_error("there are {} reservations already", all_.size());
  if (is_crowded(asked))
    return input_error(
        "{} reservations are in force at once in that time already: cancel or join some",
        kAtOnceMax);
  const auto gpus = place(asked);
  if (!gpus) {
    Added refused{.free_gpus = free_gpus(asked)};
    std::vector<std::int64_t> ends;
    for (const Reservation& one : all_) {
      if (one.to_ms > asked.from_ms) ends.push_back(one.to_ms);
    }
    std::ranges::sort(ends);
    for (const std::int64_t end_ms : ends) {
      const std::int64_t from_ms = (end_ms + 59'999) / 60'000 * 60'000;
      Asked later = asked;
      later.from_ms = from_ms;
      later.to_ms = from_ms + (asked.to_ms - asked.from_ms);
      refused.free_from_ms = from_ms;
      if (place(later) && !is_crowded(later)) break;
    }
    return refused;
  }
  std::vector<Reservation> all = all_;
  all.push_back({.id = next_,
                 .holder = asked.holder,
                 .is_group = asked.is_group,
                 .type = asked.type,
                 .from_ms = asked.from_ms,
                 .to_ms = asked.to_ms,
                 .gpus = *gpus});
  FL_TRY(write(all, next_ + 1));
  all_ = std::move(all);
  return Added{.id = next_++};
}

Result<bool> ReservationBook::cancel(std::uint32_t id) {
  std::vector<Reservation> all = all_;
  if (std::erase_if(all, [&](const Reservation& one) { return one.id == id; }) == 0) return false;
  FL_TRY(write(all, next_));
  all_ = std::move(all);
  return true;
}

void ReservationBook::end(std::int64_t unix_ms) {
  if (std::erase_if(all_, [&](const Reservation& one) { return one.to_ms <= unix_ms; }) > 0)
    (void)write(all_, next_);
}

}  // namespace fairlead
