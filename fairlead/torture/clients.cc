#include "fairlead/torture/clients.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

using nlohmann::json;
using Kind = Ask::Kind;

// Tokens: below these, the number of an action.
constexpr std::uint64_t kRetry = std::uint64_t{1} << 40;  // an action that found no daemon
constexpr std::uint64_t kSweep = std::uint64_t{2} << 40;
constexpr std::uint64_t kFinish = std::uint64_t{3} << 40;
constexpr std::uint64_t kDeadline = std::uint64_t{4} << 40;

// Streams of a world's seed, numbered behind the streams of its plan.
constexpr std::uint64_t kActionStream = 1000;
constexpr std::uint64_t kSweepStream = std::uint64_t{1} << 32;
constexpr std::uint64_t kTimeStream = 999;

constexpr Duration kSweepEvery = seconds(600);

// Behind it nothing else is asked over the connection.
bool is_last(const Ask& ask) { return ask.kind == Kind::kEnd || ask.kind == Kind::kGarbage; }

bool is_end(std::string_view state) {
  return state == "finished" || state == "failed" || state == "cancelled" || state == "rejected";
}

}  // namespace

Clients::Clients(SimIo& io, const WorldPlan& plan, Promises& promises)
    : io_(io), plan_(plan), promises_(promises), asks_(plan, promises), of_seed_(plan.seed) {
  io_.network().set_clients(this);
  io_.network().wake(0, Time{1});
}

void Clients::wake(std::uint64_t token) {
  if (is_over_) return;
  if (token >= kDeadline) {
    is_over_ = true;
    promises_.wrong("jobs have not ended long after all faults did");
    return io_.terminate();
  }
  if (token >= kFinish) return finish();
  if (token >= kSweep) return sweep();
  if (token >= kRetry) return act(token - kRetry);
  if (token >= plan_.actions) return begin_quiet();
  Rng rng = of_seed_.split(kTimeStream).split(token);
  const bool at_once = rng.below(4) == 0;
  const double gap_ms = rng.exponential(static_cast<double>(plan_.gap.ms));
  io_.network().wake(token + 1,
                     io_.time() + Duration{at_once ? 0 : static_cast<std::int64_t>(gap_ms)});
  act(token);
}

void Clients::act(std::uint64_t action) {
  if (is_quiet_) return;  // it found no daemon for too long
  Rng rng = of_seed_.split(kActionStream + action);
  if (rng.below(100) == 0) return io_.terminate();
  if (io_.calls().is_dead()) return io_.network().wake(kRetry + action, io_.time() + seconds(2));
  const Asker asker = asks_.asker(rng);
  std::vector<Ask> asks = {asks_.draw(rng, asker, io_.unix_ms(io_.time()))};
  while (rng.below(4) == 0 && !is_last(asks.back())) {
    Ask next = asks_.draw(rng, asker, io_.unix_ms(io_.time()));
    if (next.kind != Kind::kGarbage) asks.push_back(std::move(next));
  }
  ask(asker, std::move(asks), rng, true);
}

void Clients::begin_quiet() {
  is_quiet_ = true;
  io_.faults().stop();
  Duration all = hours(24);
  for (const Submitted& job : promises_.submissions) {
    all += {2 * (1 + std::int64_t{job.work.retries}) * job.work.work.ms + 600'000};
  }
  io_.network().wake(kDeadline, io_.time() + all);
  io_.network().wake(kSweep, io_.time() + seconds(30));
}

// An administrator looks after it.
void Clients::sweep() {
  Rng rng = of_seed_.split(kSweepStream + ++sweeps_);
  std::vector<Ask> asks;
  for (const std::string& node : plan_.machine.cluster.node_names) {
    asks.push_back(asks_.uncordon(node));
  }
  for (const auto& [user, asked] : promises_.limits_asked) asks.push_back(asks_.limit(user, 0));
  for (std::uint32_t id = 1; id <= promises_.reservations_asked; ++id)
    asks.push_back(asks_.cancel_reservation(id));
  asks.push_back(asks_.sweep());
  const bool is_asked = ask({.uid = 0}, std::move(asks), rng, false);
  if (!is_finishing_)
    io_.network().wake(kSweep, io_.time() + (is_asked ? kSweepEvery : seconds(5)));
}

void Clients::on_sweep(const HttpMessage& answer) {
  const json list = json::parse(answer.body, nullptr, false);
  if (!list.is_object() || !list.contains("jobs") || !list["jobs"].is_array())
    return promises_.wrong("/v1/jobs has no jobs");
  if (list["jobs"].empty() && !std::exchange(is_finishing_, true)) {
    return io_.network().wake(kFinish, io_.time() + seconds(60));
  }
  std::vector<Ask> asks;
  for (const json& job : list["jobs"]) {
    const JobId id(job["id"].get<std::size_t>());
    const auto known = promises_.by_name.find(job["name"].get<std::string>());
    const bool hangs =
        known != promises_.by_name.end() && promises_.submissions[known->second].work.hangs;
    if (job["state"] == "held") asks.push_back(asks_.about_job(Kind::kRelease, id));
    if (hangs) asks.push_back(asks_.about_job(Kind::kCancel, id));
  }
  Rng rng = of_seed_.split(kSweepStream + ++sweeps_);
  if (!asks.empty()) ask({.uid = 0}, std::move(asks), rng, false);
}

void Clients::finish() {
  is_over_ = true;
  for (const auto& [id, exchange] : exchanges_) {
    if (exchange.was_cut || exchange.answered == exchange.asks.size()) continue;
    const Ask& ask = exchange.asks[exchange.answered];
    promises_.wrong(fmt::format("never answered: {}", ask.bytes.substr(0, ask.bytes.find('\r'))));
  }
  io_.terminate();
}

bool Clients::ask(Asker asker, std::vector<Ask> asks, Rng& rng, bool is_rude) {
  const ConnectionId id =
      io_.network().connect({.uid = asker.uid, .gid = asker.uid, .is_admin = asker.is_admin()});
  if (id == 0) return false;
  std::string bytes;
  for (const Ask& one : asks) bytes += one.bytes;
  Exchange& exchange = exchanges_[id];
  exchange.asker = asker;
  exchange.closes = asks.back().kind == Kind::kGarbage;
  for (const Ask& one : asks) note_asked(one);
  exchange.asks = std::move(asks);
  exchange.was_cut = is_rude && rng.below(12) == 0;
  if (exchange.was_cut) bytes.resize(rng.below(bytes.size() + 1));
  send(id, bytes, rng);
  // Before or after the answer, which of them only the daemon knows.
  if (exchange.was_cut || (is_rude && rng.below(12) == 0)) {
    exchange.was_cut = true;
    io_.network().hang_up(id, {static_cast<std::int64_t>(rng.below(20))});
  }
  return true;
}

void Clients::send(ConnectionId connection, std::string_view bytes, Rng& rng) {
  while (!bytes.empty()) {
    const std::size_t most = rng.below(3) == 0 ? rng.below(bytes.size()) + 1 : bytes.size();
    io_.network().send(connection, std::string(bytes.substr(0, most)),
                       {static_cast<std::int64_t>(rng.below(5))});
    bytes.remove_prefix(most);
  }
}

// From now on it may be so or not.
void Clients::note_asked(const Ask& ask) {
  if (ask.kind == Kind::kCancel) promises_.cancels_asked.insert(ask.job);
  if (ask.kind == Kind::kHold || ask.kind == Kind::kRelease) {
    promises_.held.erase(ask.job);
    promises_.holds_asked[ask.job].add();
  }
  if (ask.kind == Kind::kTickets) {
    promises_.tickets.erase(ask.user);
    promises_.tickets_asked[ask.user].add();
  }
  if (ask.kind == Kind::kLimit) {
    promises_.limits.erase(ask.user);
    promises_.limits_asked[ask.user].add();
  }
}

void Clients::received(ConnectionId connection, std::string_view bytes) {
  const auto found = exchanges_.find(connection);
  if (found == exchanges_.end()) return;
  Exchange& exchange = found->second;
  if (!exchange.reader.feed(bytes)) return promises_.wrong("an answer that is not HTTP");
  while (const auto answer = exchange.reader.next()) {
    if (exchange.answered == exchange.asks.size()) {
      return promises_.wrong("an answer without a request");
    }
    on_answer(exchange, exchange.asks[exchange.answered++], *answer);
  }
  if (exchange.answered < exchange.asks.size() || exchange.closes || exchange.was_cut) return;
  exchange.was_cut = true;
  io_.network().hang_up(connection, {5});
}

void Clients::closed(ConnectionId connection) {
  const auto found = exchanges_.find(connection);
  if (found == exchanges_.end()) return;
  const Exchange& exchange = found->second;
  const bool is_short = exchange.answered < exchange.asks.size();
  if (is_short && !exchange.was_cut && !exchange.closes && !io_.calls().is_dead()) {
    promises_.wrong("a connection is ended without an answer");
  }
  exchanges_.erase(found);
}

void Clients::on_answer(const Exchange& exchange, const Ask& ask, const HttpMessage& answer) {
  if (answer.status >= 500 && answer.status != 503) {
    return promises_.wrong(fmt::format("status {}: {}", answer.status, answer.body));
  }
  const auto wants = [&](bool is_right) {
    if (is_right) return;
    promises_.wrong(
        fmt::format("status {} to {}", answer.status, ask.bytes.substr(0, ask.bytes.find('\r'))));
  };
  switch (ask.kind) {
    case Kind::kSubmit:
      return on_submitted(ask, answer);
    case Kind::kCancel:
    case Kind::kHold:
    case Kind::kRelease:
    case Kind::kTickets:
    case Kind::kLimit:
    case Kind::kCordon:
      return on_changed(exchange, ask, answer);
    case Kind::kJob:
    case Kind::kEnd:
      return on_job(ask, answer);
    case Kind::kRead:
      return wants(answer.status == 200);
    case Kind::kSweep:
      wants(answer.status == 200);
      return on_sweep(answer);
    case Kind::kReserve:
      return wants(exchange.asker.is_admin() || answer.status != 201);
    case Kind::kNowhere:
      return wants(answer.status == 404 || answer.status == 405);
    case Kind::kGarbage:
      return wants(answer.status == 400);
  }
}

void Clients::on_submitted(const Ask& ask, const HttpMessage& answer) {
  const Submitted& job = promises_.submissions[ask.submission];
  if (answer.status != 201) {
    const bool is_refused = answer.status == 400 && !ask.is_valid.value_or(false);
    if (!is_refused && answer.status != 503) {
      promises_.wrong(fmt::format("{} is refused: {} {}", job.name, answer.status, answer.body));
    }
    return;
  }
  const json body = json::parse(answer.body, nullptr, false);
  if (!body.is_object() || !body.contains("id") || !body["id"].is_number_unsigned()) {
    return promises_.wrong("a submission is acknowledged without an id");
  }
  if (!ask.is_valid.value_or(true)) promises_.wrong(fmt::format("{} is taken", job.name));
  const auto first = body["id"].get<std::size_t>();
  const std::uint32_t jobs = std::max(1U, ask.tasks);
  if (ask.tasks > 0 && body.value("last", std::size_t{0}) != first + jobs - 1)
    return promises_.wrong(fmt::format("{} tasks are acknowledged as {}", jobs, answer.body));
  for (std::uint32_t i = 0; i < jobs; ++i) acknowledge(JobId(first + i), ask.submission + i);
  if (ask.at_once > 0)
    promises_.arrays.push_back({JobId(first), JobId(first + jobs - 1), ask.at_once});
}

void Clients::acknowledge(JobId id, std::size_t submission) {
  promises_.submissions[submission].acknowledged = id;
  if (!promises_.acknowledged.emplace(id, submission).second)
    promises_.wrong(fmt::format("id {} is given twice", id.row()));
}

bool Clients::owns(Asker asker, JobId job) const {
  const auto known = promises_.acknowledged.find(job);
  return known != promises_.acknowledged.end() &&
         promises_.submissions[known->second].uid == asker.uid;
}

void Clients::on_changed(const Exchange& exchange, const Ask& ask, const HttpMessage& answer) {
  const bool is_operators =
      ask.kind == Kind::kTickets || ask.kind == Kind::kLimit || ask.kind == Kind::kCordon;
  const bool may = exchange.asker.is_admin() ||
                   (!is_operators &&
                    (owns(exchange.asker, ask.job) || !promises_.acknowledged.contains(ask.job)));
  if (answer.status == 200 && !may) {
    return promises_.wrong(fmt::format("{} may: {}", exchange.asker.name(),
                                       ask.bytes.substr(0, ask.bytes.find('\r'))));
  }
  const bool is_refused = answer.status != 200 && answer.status != 503;  // 503: the disk is full
  if (is_operators && exchange.asker.is_admin() && is_refused) {
    return promises_.wrong(
        fmt::format("an administrator may not: {} {}", answer.status, answer.body));
  }
  note_changed(ask, answer.status == 200);
}

void Clients::note_changed(const Ask& ask, bool is_done) {
  if (ask.kind == Kind::kCancel && is_done) promises_.cancelled.insert(ask.job);
  if (ask.kind == Kind::kTickets && promises_.tickets_asked[ask.user].settle() && is_done) {
    promises_.tickets[ask.user] = ask.tickets;
  }
  if (ask.kind == Kind::kLimit && promises_.limits_asked[ask.user].settle() && is_done)
    promises_.limits[ask.user] = ask.gpus_max;
  if (ask.kind != Kind::kHold && ask.kind != Kind::kRelease) return;
  const bool is_settled = promises_.holds_asked[ask.job].settle();
  if (is_settled && is_done && ask.kind == Kind::kHold) promises_.held.insert(ask.job);
}

void Clients::on_job(const Ask& ask, const HttpMessage& answer) {
  if (answer.status == 404 && !promises_.acknowledged.contains(ask.job)) return;
  const json body = json::parse(answer.body, nullptr, false);
  if (answer.status != 200 || !body.is_object()) {
    return promises_.wrong(fmt::format("job {}: {} {}", ask.job.row(), answer.status, answer.body));
  }
  if (!body.contains("state")) return;  // why it is so
  const auto state = body["state"].get<std::string>();
  if (is_end(state)) promises_.ended[ask.job] = state;
  if (ask.kind == Kind::kEnd && !is_end(state)) {
    promises_.wrong(fmt::format("job {} was reported as ended: {}", ask.job.row(), state));
  }
}

}  // namespace fairlead
