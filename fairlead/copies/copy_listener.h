// Accepts the copy programs of other machines that know the token of the job.
//
// A program greets with "hello 1 TOKEN TOTAL SPEED GPU_TYPE", of which the 1 is the version of the messages, and is
// answered by "accepted" or "refused REASON".
#pragma once

#include "fairlead/copies/copy_address.h"
#include "fairlead/copies/copy_stream.h"

#include <list>
#include <optional>

namespace fairlead {

class CopyListener {
 public:
  // Error: the system refuses the address. REQUIRES: the token is not empty.
  static Result<CopyListener> open(const CopyAddress& address, std::string token);

  std::uint16_t port() const { return port_of(socket_); }
  void add_files(std::vector<pollfd>& files) const;

  struct Accepted {
    CopyStream stream;
    std::string gpu_type;
    double speed = 1;         // relative
    std::uint64_t total = 0;  // steps of the job, by its trainer
  };
  // Accepts new connections, and returns the next program that has greeted well. Does not wait.
  std::optional<Accepted> next();

 private:
  CopyListener(Descriptor socket, std::string token)
      : socket_(std::move(socket)), token_(std::move(token)) {}
  std::optional<Accepted> accept(CopyStream& stream, const std::string& greeting) const;

  Descriptor socket_;
  std::string token_;
  std::list<CopyStream> strangers_;  // connections without a greeting yet, oldest first
};

}  // namespace fairlead
