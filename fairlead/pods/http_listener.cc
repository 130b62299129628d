#include "fairlead/pods/http_listener.h"

#include "fairlead/base/parse.h"

namespace fairlead {

Result<std::unique_ptr<HttpListener>> HttpListener::open(const std::string& address) {
  const std::size_t colon = std::min(address.rfind(':'), address.size());
  const auto port = parse_integer(address.substr(std::min(colon + 1, address.size())));
  if (!port || *port < 1 || *port > 65535) {
    return input_error("--http needs ADDRESS:PORT, for example 0.0.0.0:8080: {}", address);
  }
  FL_TRY_ASSIGN(epoll, Epoll::create());
  std::unique_ptr<HttpListener> made(new HttpListener(std::move(epoll)));
  FL_TRY(made->connections_.open_port(static_cast<std::uint16_t>(*port), address.substr(0, colon)));
  return made;
}

bool HttpListener::handle(const KubeEvent& event) {
  if (event.kind != KubeEvent::Kind::kReady) return false;
  epoll_.look(false);
  while (const auto ready = epoll_.take()) {
    const std::optional<IoEvent> came = connections_.handle(*ready);
    if (!came) continue;
    if (came->kind == IoEvent::Kind::kClosed) readers_.erase(came->connection);
    if (came->kind == IoEvent::Kind::kReceived) receive(came->connection, came->bytes);
  }
  return true;
}

void HttpListener::receive(ConnectionId connection, std::string_view bytes) {
  const auto reader = readers_.try_emplace(connection, HttpReader::Of::kRequests).first;
  const Status status = reader->second.feed(bytes);
  bool goes_on = status.has_value();
  while (const auto request = reader->second.next()) {
    connections_.send(connection, answer_(*request));
    goes_on = goes_on && request->keep_alive;
  }
  if (goes_on) return;
  if (!status) {
    connections_.send(connection, http_response(400, "text/plain", status.error().message, false));
  }
  readers_.erase(connection);
  connections_.close(connection);
}

}  // namespace fairlead
