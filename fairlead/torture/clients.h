// The clients of a tortured daemon: users and an administrator. They connect, send requests in pieces or
// several at once, hang up too early or too late, and send garbage. An answer is a promise, and is
// compared with the expected one.
//
// After their last action faults stop, and an administrator makes it possible for all jobs to end: it
// uncordons nodes, releases held jobs and cancels hanging jobs. Then all jobs must end.
#pragma once

#include "fairlead/http/http.h"
#include "fairlead/torture/asks.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

class Clients : public SimClients {
 public:
  // The arguments must outlive this object.
  Clients(SimIo& io, const WorldPlan& plan, Promises& promises);

  void wake(std::uint64_t token) override;
  void received(ConnectionId connection, std::string_view bytes) override;
  void closed(ConnectionId connection) override;

  // Returns whether all jobs have ended, or should have.
  bool is_over() const { return is_over_; }
  // Returns whether the actions and faults have ended.
  bool is_quiet() const { return is_quiet_; }

 private:
  struct Exchange {
    Asker asker;
    std::vector<Ask> asks;
    std::size_t answered = 0;
    HttpReader reader{HttpReader::Of::kResponses};
    bool closes = false;   // the daemon must close the connection after its answer
    bool was_cut = false;  // the client hung up before the end of its request
  };

  void act(std::uint64_t action);
  void begin_quiet();
  void sweep();
  void finish();
  bool ask(Asker asker, std::vector<Ask> asks, Rng& rng, bool is_rude);
  void send(ConnectionId connection, std::string_view bytes, Rng& rng);
  void note_asked(const Ask& ask);
  void on_answer(const Exchange& exchange, const Ask& ask, const HttpMessage& answer);
  void on_submitted(const Ask& ask, const HttpMessage& answer);
  void acknowledge(JobId id, std::size_t submission);
  void on_changed(const Exchange& exchange, const Ask& ask, const HttpMessage& answer);
  void note_changed(const Ask& ask, bool is_done);
  void on_job(const Ask& ask, const HttpMessage& answer);
  void on_sweep(const HttpMessage& answer);
  bool owns(Asker asker, JobId job) const;

  SimIo& io_;
  const WorldPlan& plan_;
  Promises& promises_;
  Asks asks_;
  const Rng of_seed_;
  std::map<ConnectionId, Exchange> exchanges_;
  bool is_quiet_ = false;
  bool is_over_ = false;
  bool is_finishing_ = false;
  std::uint64_t sweeps_ = 0;
};

}  // namespace fairlead
