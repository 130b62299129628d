#include "fairlead/policy/gandiva_fair/weights.h"

#include <algorithm>

namespace fairlead {

void Weights::begin() {
  constexpr double kLeast = 1e-3;  // a user without a due still takes GPUs that no other needs
  const auto turns = [&](double debt, double gpus) {
    return debt / (std::max(kLeast, gpus) * static_cast<double>(quantum_.ms));
  };
  const Ledger& ledger = accounts_.ledger();
  const Entitlements& due = accounts_.due();
  standings_.resize(due.users(), homes_.nodes().types());
  for (UserId user : due.demand().active()) {
    const double lag = turns(ledger.debt(user), due.due(user));
    for (GpuTypeId type : ids<GpuTypeId>(homes_.nodes().types())) {
      const double of_type = due.traded(user, type);
      const double on_type = homes_.nodes().types() == 1
                                 ? 0
                                 : std::clamp(turns(ledger.debt(user, type), of_type), -1.0, 1.0);
      standings_(user, type) = {
          .lag = lag + on_type, .due = std::max(kLeast, of_type), .has_all = due.has_all(user)};
    }
  }
}

double Weights::impatience(const StrideClient& client) const {
  constexpr double kPatience = 20;
  if (homes_.of(client.job).runs) return 0;
  const double waited = homes_.quanta_since(client.job) * client.tickets / client.gpus;
  return std::max(0.0, waited - kPatience);
}

double Weights::urgency(const View& view, const StrideClient& client, double ahead) const {
  constexpr double kSlack = 5;
  constexpr double kHasAll = 0.5;
  constexpr double kNewcomer = 10;
  constexpr double kLeast = 1e-3;
  const UserId user = view.jobs.user[client.job];
  const Standing& standing = standings_(user, homes_.of(client.job).type);
  double turns = kSlack + standing.lag - (ahead + client.gpus / 2.0) / standing.due;
  if (standing.has_all) turns += kHasAll;
  const bool is_newcomer = ahead == 0 && standing.lag >= 0 &&
                           accounts_.ledger().allocated(user) == 0 &&
                           view.jobs.last[client.job].empty();
  if (is_newcomer) turns += kNewcomer;
  return std::max(kLeast, turns) + impatience(client);
}

double Weights::weight(const View& view, const StrideClient& client, double ahead) const {
  const double turns = urgency(view, client, ahead);
  return client.gpus * turns * turns * turns;
}

void Weights::count_turn(const View& view, const StrideClient& client) {
  const UserId user = view.jobs.user[client.job];
  Standing& standing = standings_(user, homes_.of(client.job).type);
  standing.lag -= client.gpus / standing.due;
}

}  // namespace fairlead
