#include "fairlead/pods/resources.h"

#include "fairlead/base/parse.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace fairlead {
namespace {

constexpr std::string_view kHostPort = "hostPort ";

struct Suffix {
  std::string_view text;
  long double factor;
};
constexpr std::array<Suffix, 16> kSuffixes = {{{"", 1.0L},
                                               {"n", 1e-9L},
                                               {"u", 1e-6L},
                                               {"m", 1e-3L},
                                               {"k", 1e3L},
                                               {"M", 1e6L},
                                               {"G", 1e9L},
                                               {"T", 1e12L},
                                               {"P", 1e15L},
                                               {"E", 1e18L},
                                               {"Ki", 0x1p10L},
                                               {"Mi", 0x1p20L},
                                               {"Gi", 0x1p30L},
                                               {"Ti", 0x1p40L},
                                               {"Pi", 0x1p50L},
                                               {"Ei", 0x1p60L}}};

Amount saturated(long double value) {
  return value >= static_cast<long double>(kAmountMax)
             ? kAmountMax
             : static_cast<Amount>(std::max(std::ceil(value), 0.0L));
}

Amount sum_of(Amount a, Amount b) { return a > kAmountMax - b ? kAmountMax : a + b; }

// Returns a container's requests. A resource with a limit and no request counts as requested.
Resources container_requests(const Json& container) {
  Resources requests = parse_resources(json_at(container, {"resources", "limits"}));
  for (const auto& [name, amount] :
       parse_resources(json_at(container, {"resources", "requests"}))) {
    requests[name] = amount;
  }
  return requests;
}

// Adds a container's host ports. On the host's network, all of its ports are ports of the host.
void add_host_ports(Resources& requests, const Json& container, bool is_on_host) {
  for (const Json& port : json_at(container, {"ports"})) {
    const std::int64_t of_host = integer_at(port, {"hostPort"});
    const std::int64_t number =
        of_host > 0 || !is_on_host ? of_host : integer_at(port, {"containerPort"});
    if (number == 0) continue;
    const std::string& protocol = text_at(port, {"protocol"});
    requests[fmt::format("{}{}/{}", kHostPort, number, protocol.empty() ? "TCP" : protocol)] = 1000;
  }
}

}  // namespace

std::uint32_t count_at(const Json& value, JsonPath path) {
  const std::string& text = text_at(value, path);
  // The server writes 1000 as "1k".
  const std::int64_t count =
      text.empty() ? integer_at(value, path) : parse_quantity(text).value_or(0) / 1000;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 0, 1'000'000));
}

std::optional<Amount> parse_quantity(std::string_view text) {
  long double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{} || !(number >= 0)) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(last - end));
  const auto found = std::ranges::find(kSuffixes, unit, &Suffix::text);
  if (found == kSuffixes.end()) return std::nullopt;
  // "0.1" is not a sum of powers of two: digits after the twelfth of a thousandth come from parsing, not
  // from the text.
  const long double thousandths = number * found->factor * 1000;
  const long double nearest = std::round(thousandths);
  return saturated(std::abs(thousandths - nearest) < 1e-12L * nearest ? nearest : thousandths);
}

Resources parse_resources(const Json& amounts) {
  Resources parsed;
  if (!amounts.is_object()) return parsed;
  for (const auto& [name, value] : amounts.items()) {
    if (value.is_number()) {
      parsed[name] = saturated(value.get<long double>() * 1000);
    } else {
      const std::string text = value.is_string() ? value.get<std::string>() : std::string();
      parsed[name] = parse_quantity(text).value_or(0);
    }
  }
  return parsed;
}

void add(Resources& sum, const Resources& more) {
  for (const auto& [name, amount] : more) {
    Amount& total = sum[name];
    total = sum_of(total, amount);
  }
}

void raise(Resources& amounts, const Resources& other) {
  for (const auto& [name, amount] : other) {
    Amount& least = amounts[name];
    least = std::max(least, amount);
  }
}

Resources times(const Resources& amounts, std::int64_t count) {
  Resources product = amounts;
  for (auto& [name, amount] : product) {
    amount = saturated(static_cast<long double>(amount) * static_cast<long double>(count));
  }
  return product;
}

Resources pod_requests(const Json& pod_spec) {
  const bool is_on_host = is_true_at(pod_spec, {"hostNetwork"});
  Resources ports;
  Resources sidecars;  // sidecars started so far
  Resources first;     // the largest need during initialisation
  for (const Json& container : json_at(pod_spec, {"initContainers"})) {
    Resources now = container_requests(container);
    const bool is_sidecar = text_at(container, {"restartPolicy"}) == "Always";
    if (is_sidecar) {
      add_host_ports(ports, container, is_on_host);
      add(sidecars, now);
      now = sidecars;
    } else {
      add(now, sidecars);
    }
    raise(first, now);
  }
  Resources requests = sidecars;
  for (const Json& container : json_at(pod_spec, {"containers"})) {
    add_host_ports(ports, container, is_on_host);
    add(requests, container_requests(container));
  }
  raise(requests, first);
  // Amounts for the pod as a whole replace the sums over its containers.
  for (const auto& [name, amount] : container_requests(pod_spec)) requests[name] = amount;
  add(requests, parse_resources(json_at(pod_spec, {"overhead"})));
  add(requests, ports);
  requests["pods"] = 1000;
  return requests;
}

Amount offered(const Resources& allocatable, const std::string& name) {
  if (name.starts_with(kHostPort)) return 1000;
  const auto found = allocatable.find(name);
  return found == allocatable.end() ? 0 : found->second;
}

std::string lacking(const Resources& allocatable, const Resources& used, const Resources& wanted) {
  for (const auto& [name, amount] : wanted) {
    const auto found = used.find(name);
    const Amount taken = found == used.end() ? 0 : found->second;
    if (amount > 0 && sum_of(taken, amount) > offered(allocatable, name)) return name;
  }
  return {};
}

}  // namespace fairlead
