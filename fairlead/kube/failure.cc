#include "fairlead/kube/failure.h"

#include "fairlead/kube/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fairlead {

std::string failure_text(const KubeEvent& event) {
  if (event.status == 0) return event.text;
  const Json body = parsed_json(event.text).value_or(Json());
  const std::string& message = text_at(body, {"message"});
  return fmt::format("{} {}", event.status, message.empty() ? event.text.substr(0, 200) : message);
}

}  // namespace fairlead
