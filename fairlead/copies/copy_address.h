// Addresses of trackers: "node7:7070", "0.0.0.0:7070", "[::1]:7070".
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/descriptor.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

struct CopyAddress {
  std::string host;
  std::string port;
};
// Error: the text has another form.
Result<CopyAddress> parse_copy_address(std::string_view text);

// Returns a socket that listens there. Error: the system refuses.
Result<Descriptor> listen_at(const CopyAddress& address);
std::uint16_t port_of(const Descriptor& socket);

// Returns a connected socket; none: nothing answers within the limit. Names are looked up without one.
Descriptor connect_to(const CopyAddress& address, std::chrono::milliseconds limit);

}  // namespace fairlead
