// The requests of clients: their kinds, permissions and answers (docs/openapi.yaml).
//
// A request that changes nothing is answered at once. A change goes to the engine with the next batch,
// and is answered once its journal record is on disk.
#pragma once

#include "fairlead/http/http.h"
#include "fairlead/live/queries.h"
#include "fairlead/local/local_backend.h"
#include "fairlead/serve/door.h"
#include "fairlead/serve/job_request.h"
#include "fairlead/serve/server.h"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

class Api {
 public:
  // The objects passed by reference must outlive this one, except the options.
  Api(Io& io, const Views& views, LocalBackend& backend, StartConditions& conditions, Inbox& inbox,
      const ServeOptions& options);

  void on_connected(ConnectionId connection, const Peer& peer);
  void on_received(ConnectionId connection, std::string_view bytes);
  void on_closed(ConnectionId connection);
  // Returns the time of the next on_time(): a client has not completed its request in time.
  Time deadline() const;
  // Disconnects clients that have not completed their requests in time.
  void on_time(Time now);
  // Called after everything in the inbox was applied to the tables and is on disk.
  void answer_due();

 private:
  struct Client {
    Peer peer;
    HttpReader reader{HttpReader::Of::kRequests};
    bool is_waiting = false;   // its last request has no answer yet
    std::size_t kept = 0;      // bytes of its requests that the daemon keeps
    Time due = Time::never();  // it must have completed its request; never: it has none
  };
  using Answer = JsonAnswer;
  struct Submitted {
    JobId job;              // the first job; none: the request is not a submission
    std::size_t tasks = 0;  // number of jobs; 0: the request is of one job without tasks
  };
  struct Due {  // an answer that waits for the disk
    ConnectionId connection = 0;
    bool keep_alive = true;
    Submitted submitted{};
  };

  void serve_next(ConnectionId connection, Client& client);
  bool is_within_bounds(ConnectionId connection, Client& client);
  void set_kept(Client& client, std::size_t bytes);
  void set_due(ConnectionId connection, Client& client, Time due);
  void handle(ConnectionId connection, Client& client, const HttpMessage& request);
  bool handle_text(ConnectionId connection, const HttpMessage& request);
  bool refuse(ConnectionId connection, const HttpMessage& request);
  Answer page() const;
  // Returns nullopt if the answer comes later.
  std::optional<Answer> answer(ConnectionId connection, const Peer& peer,
                               const HttpMessage& request);
  std::optional<Answer> answer_job(ConnectionId connection, const Peer& peer,
                                   const HttpMessage& request, const JobPath& of);
  nlohmann::json whole_job(JobId job) const;
  std::string metrics() const;
  std::optional<Answer> submit(ConnectionId connection, const Peer& peer,
                               const HttpMessage& request);
  std::optional<Answer> set_user(ConnectionId connection, const HttpMessage& request,
                                 std::string_view name);
  std::optional<Answer> set_group(ConnectionId connection, const HttpMessage& request,
                                  std::string_view name);
  std::optional<Answer> forget_model(ConnectionId connection, const Peer& peer,
                                     const HttpMessage& request);
  std::optional<Answer> cordon(ConnectionId connection, const HttpMessage& request,
                               std::string_view rest);
  std::optional<Answer> cordon_gpu(ConnectionId connection, const HttpMessage& request,
                                   std::string_view rest);
  std::optional<JobId> unknown_job(std::span<const Dependency> conditions) const;
  Status take_types_with_memory(JobRequest& job) const;
  Status check_size(const Submission& what) const;
  Status store(JobId first, std::span<const JobRequest> jobs);
  std::optional<Answer> hold(ConnectionId connection, const HttpMessage& request, JobId job,
                             bool is_held);
  std::optional<Answer> set_priority(ConnectionId connection, const Peer& peer,
                                     const HttpMessage& request, JobId job);
  void defer(ConnectionId connection, const HttpMessage& request) {
    defer(connection, request, {});
  }
  void defer(ConnectionId connection, const HttpMessage& request, Submitted submitted);
  Time now() const;
  void leave(ConnectionId connection);
  void send(ConnectionId connection, const Answer& answer, bool keep_alive);
  UserId user_of(std::string_view name) { return inbox_.user_of(name, tables_.users); }
  bool may_change(const Peer& peer, JobId job) const;
  bool is_of(JobId job, const Peer& peer) const;
  // Returns whether the job is over and its processes have ended.
  bool has_ended(JobId job) const;

  Io& io_;
  const Views& views_;
  const Tables& tables_;
  LocalBackend& backend_;
  StartConditions& conditions_;
  Inbox& inbox_;
  Door door_;
  const bool notifies_;  // jobs may ask for notifications
  const HostSize host_;
  std::string page_;  // the page's address over TCP; empty: there is none
  std::map<ConnectionId, Client> clients_;
  std::map<std::uint32_t, std::size_t> kept_;           // bytes of requests, by user
  std::set<std::pair<Time, ConnectionId>> incomplete_;  // clients by Client::due
  std::vector<Due> due_;
  std::multimap<JobId, Due> until_end_;              // clients that wait for the end of a job
  std::multimap<ConnectionId, JobId> at_terminals_;  // jobs that end when their client disconnects
  std::vector<JobId> left_alone_;                    // such jobs whose client has disconnected
  std::size_t next_job_;
};

}  // namespace fairlead
