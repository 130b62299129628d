// The requests that make and cancel reservations of GPUs (docs/openapi.yaml).
#pragma once

#include "fairlead/http/http.h"
#include "fairlead/live/queries.h"
#include "fairlead/local/reservations.h"

#include <optional>
#include <string_view>

namespace fairlead {

// Answers POST /v1/reservations and POST /v1/reservations/ID/cancel; nullopt: this is another request. Administrators alone
// may reserve. The holder of a reservation may cancel it. A change is on the disk, and the next batch has its effect.
// `user`: the name of the peer's account.
std::optional<JsonAnswer> reservation_answer(Reservations& reservations, const Cluster& cluster,
                                             const HttpMessage& request, const Peer& peer,
                                             std::string_view user, std::int64_t now_unix_ms);

}  // namespace fairlead
