#include "fairlead/policy/gandiva_fair/holes.h"

#include "fairlead/policy/gandiva_fair/home_choice.h"

namespace fairlead {

Move join_holes(const View& view, const Homes& homes, const CoolDown& cool_down, GpuTypeId type) {
  Move best;
  double best_gain = 0;
  for (NodeId node : homes.of_type(type)) {
    const Homes::Node& books = homes.node(node);
    if (books.is_down || books.wanted == 0 || books.wanted >= books.gpus) continue;
    const double hole = books.gpus - books.wanted;
    for (const StrideClient& client : books.queue) {
      if (!cool_down.may_move(view, client.job)) continue;
      const NodeId to = homes.spare(type, client.gpus);
      if (to.is_none() || to == node || !fits_when_idle(view, client.job, to)) continue;
      const double other = homes.node(to).gpus - homes.node(to).wanted;
      const double gain = hole - other + client.gpus;  // sum of squares, per GPU moved
      if (gain <= best_gain) continue;
      best_gain = gain;
      best = {client.job, {.node = to}};
    }
  }
  return best;
}

}  // namespace fairlead
