#include "fairlead/serve/reservation_requests.h"

#include "fairlead/base/parse.h"
#include "fairlead/base/time_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr std::string_view kReservations = "/v1/reservations/";
constexpr std::string_view kCancel = "/cancel";
constexpr std::int64_t kYearMs = std::int64_t{366} * 24 * 60 * 60 * 1000;

// Returns the type of GPU that the request names, or the only one.
Result<GpuTypeId> type_of(const json& body, const Cluster& cluster) {
  const auto& names = cluster.type_names;
  const json& name = body.contains("gpu_type") ? body["gpu_type"] : json();
  if (name.is_null() && names.size() == 1) return GpuTypeId(0);
  const auto list = [&] { return fmt::format("{}", fmt::join(names.begin(), names.end(), ", ")); };
  if (name.is_null())
    return input_error("gpu_type: this machine has several types of GPU; name one of {}", list());
  const auto found =
      std::find(names.begin(), names.end(), name.is_string() ? name.get<std::string>() : "");
  if (found == names.end())
    return input_error("gpu_type: there is no such type (there are: {})", list());
  return GpuTypeId(static_cast<std::size_t>(found - names.begin()));
}

Result<ReservationBook::Asked> asked_of(const json& body, const Cluster& cluster,
                                        std::int64_t now_unix_ms) {
  const auto is_text = [&](const char* name) {
    return body.contains(name) && body[name].is_string() && !body[name].get<std::string>().empty();
  };
  if (!body.is_object()) return input_error("the request must be a JSON object");
  const bool is_group = is_text("group");
  if (is_group == is_text("user")) return input_error("name either a user or a group");
  FL_TRY_ASSIGN(type, type_of(body, cluster));
  const std::uint32_t most = cluster.type_gpus[type];
  const json& gpus = body.contains("gpus") ? body["gpus"] : json();
  if (!gpus.is_number_integer() || gpus < 1 || gpus > most)
    return input_error("gpus must be a whole number from 1 to {}, the {} GPUs of this machine",
                       most, cluster.type_names[type]);
  const auto is_time = [&](const char* name) {
    return body.contains(name) && body[name].is_number_integer() && body[name] >= 0 &&
           body[name] <= kMsMax;
  };
  if (!is_time("from_unix_ms") || !is_time("to_unix_ms"))
    return input_error("from_unix_ms and to_unix_ms must be milliseconds since 1970");
  ReservationBook::Asked asked{
      .holder = body[is_group ? "group" : "user"].get<std::string>(),
      .is_group = is_group,
      .type = type,
      .gpus = gpus.get<std::uint32_t>(),
      .from_ms = std::max(now_unix_ms, body["from_unix_ms"].get<std::int64_t>()),
      .to_ms = body["to_unix_ms"].get<std::int64_t>()};
  if (asked.to_ms <= asked.from_ms)
    return input_error("the reservation ends before it begins, or is over");
  if (asked.to_ms - asked.from_ms > kYearMs || asked.from_ms - now_unix_ms > kYearMs)
    return input_error("a reservation begins within a year, and lasts no longer than a year");
  return asked;
}

JsonAnswer add(Reservations& reservations, const Cluster& cluster, const HttpMessage& request,
               std::int64_t now_unix_ms) {
  const auto asked = asked_of(json::parse(request.body, nullptr, false), cluster, now_unix_ms);
  if (!asked) return error_answer(400, asked.error().message);
  const auto added = reservations.add(*asked);
  if (!added)
    return error_answer(added.error().kind == Error::Kind::kRun ? 503 : 409, added.error().message);
  if (added->id > 0) return {201, {{"id", added->id}}};
  JsonAnswer refusal = error_answer(
      409, fmt::format("{} of {} {} GPUs are free all that time; {} are free for {} from {} UTC on",
                       added->free_gpus, asked->gpus, cluster.type_names[asked->type], asked->gpus,
                       span_text(asked->to_ms - asked->from_ms), date_text(added->free_from_ms)));
  refusal.body["free_gpus"] = added->free_gpus;
  refusal.body["free_from_unix_ms"] = added->free_from_ms;
  return refusal;
}

JsonAnswer cancel(Reservations& reservations, const Peer& peer, std::string_view user,
                  std::string_view number) {
  const auto id = parse_integer(number);
  const auto& all = reservations.all();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Reservation& one) {
    return id && std::cmp_equal(one.id, *id);
  });
  if (found == all.end())
    return error_answer(
        404, fmt::format("no such reservation; `fairlead reservations` lists them: {}", number));
  const bool is_own = !peer.is_unknown && !found->is_group && found->holder == user;
  if (!peer.is_admin && !is_own)
    return error_answer(403, fmt::format("only administrators{} may cancel reservation {}",
                                         found->is_group ? "" : " and " + found->holder, number));
  const auto cancelled = reservations.cancel(found->id);
  if (!cancelled) return error_answer(503, cancelled.error().message);
  return {};
}

}  // namespace

std::optional<JsonAnswer> reservation_answer(Reservations& reservations, const Cluster& cluster,
                                             const HttpMessage& request, const Peer& peer,
                                             std::string_view user, std::int64_t now_unix_ms) {
  std::string_view path = request.path;
  if (request.method != "POST") return std::nullopt;
  if (path == "/v1/reservations") {
    if (!peer.is_admin) return error_answer(403, "only administrators may reserve GPUs");
    return add(reservations, cluster, request, now_unix_ms);
  }
  if (!path.starts_with(kReservations) || !path.ends_with(kCancel)) return std::nullopt;
  path.remove_prefix(kReservations.size());
  path.remove_suffix(kCancel.size());
  return cancel(reservations, peer, user, path);
}

}  // namespace fairlead
