#include "fairlead/serve/door.h"

#include <fmt/format.h>

namespace fairlead {
namespace {

constexpr std::string_view kCookie = "fairlead_token";

// Protects against DNS rebinding, by which a page of another site reaches this one under its own name.
// Only the host is compared: behind a tunnel the port differs.
bool is_of_this_machine(std::string_view host) {
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "localhost" || name == "127.0.0.1";
}

}  // namespace

// Takes the same time for all texts of one length.
bool Door::is_token(std::string_view text) const {
  if (token_.empty() || text.size() != token_.size()) return false;
  volatile unsigned differs = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    differs = differs | static_cast<unsigned>(text[i] ^ token_[i]);
  return differs == 0;
}

Door::Refusal Door::refusal(const HttpMessage& request) const {
  if (!is_of_this_machine(request.host))
    return {403, "here it is localhost or 127.0.0.1, and no other host"};
  const bool has_token = is_token(request.token) || is_token(query_value(request.query, "token")) ||
                         is_token(cookie_value(request.cookies, kCookie));
  if (!has_token) return {401, "this needs the daemon's token: `fairlead page` prints the address"};
  if (request.method != "GET") return {405, "what changes something goes over the Unix socket"};
  return {};
}

std::string Door::cookie_for(const HttpMessage& request) const {
  if (!is_token(query_value(request.query, "token"))) return {};
  return fmt::format("Set-Cookie: {}={}; Path=/; HttpOnly; SameSite=Strict\r\n", kCookie, token_);
}

}  // namespace fairlead
