#include "fairlead/sim/unreliable_options.h"

#include "fairlead/base/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace fairlead {
namespace {

struct Name {
  std::string_view name;
  std::variant<Duration UnreliableOptions::*, double UnreliableOptions::*,
               Time UnreliableOptions::*>
      field;
  double max;  // maximum of a number
};

constexpr Name kNames[] = {
    {"late_s", &UnreliableOptions::late_max, 0},
    {"start_s", &UnreliableOptions::start_max, 0},
    {"stop_s", &UnreliableOptions::stop_max, 0},
    {"repeat", &UnreliableOptions::repeat, 1},
    {"shuffle", &UnreliableOptions::shuffle, 1},
    {"start_fails", &UnreliableOptions::start_fails, 1},
    {"stop_fails", &UnreliableOptions::stop_fails, 1},
    {"gpu_losses_per_h", &UnreliableOptions::gpu_losses_per_h, 1e4},
    {"gpus_back_s", &UnreliableOptions::gpus_back_max, 0},
    {"operators_per_h", &UnreliableOptions::operators_per_h, 1e4},
    {"users_come", &UnreliableOptions::users_come, 1},
    {"calm_s", &UnreliableOptions::calm_from, 0},
};

bool set(const Name& name, std::string_view value, UnreliableOptions& options) {
  if (const auto* number = std::get_if<double UnreliableOptions::*>(&name.field)) {
    const auto parsed = parse_number(value);
    if (!parsed || *parsed < 0 || *parsed > name.max) return false;
    options.*(*number) = *parsed;
    return true;
  }
  const auto ms = parse_seconds(value);
  if (!ms) return false;
  if (const auto* duration = std::get_if<Duration UnreliableOptions::*>(&name.field)) {
    options.*(*duration) = {*ms};
  } else {
    options.*std::get<Time UnreliableOptions::*>(name.field) = {*ms};
  }
  return true;
}

}  // namespace

bool UnreliableOptions::any() const {
  return late_max.ms > 0 || start_max.ms > 0 || stop_max.ms > 0 || repeat > 0 || shuffle > 0 ||
         start_fails > 0 || stop_fails > 0 || gpu_losses_per_h > 0 || operators_per_h > 0 ||
         users_come > 0;
}

bool parse_unreliable(std::string_view text, UnreliableOptions& options) {
  for (;;) {
    const std::string_view part = text.substr(0, text.find('/'));
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) return false;
    const auto* name = std::ranges::find(kNames, part.substr(0, colon), &Name::name);
    if (name == std::end(kNames) || !set(*name, part.substr(colon + 1), options)) return false;
    if (part.size() == text.size()) return true;
    text.remove_prefix(part.size() + 1);
  }
}

std::string unreliable_text(const UnreliableOptions& options) {
  const UnreliableOptions defaults;
  std::string text;
  const auto add = [&](std::string_view name, double value) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : "/", name, value);
  };
  for (const Name& name : kNames) {
    std::visit(
        [&](auto field) {
          if (options.*field == defaults.*field) return;
          if constexpr (std::is_same_v<decltype(field), double UnreliableOptions::*>) {
            add(name.name, options.*field);
          } else {
            add(name.name, static_cast<double>((options.*field).ms) / 1000);
          }
        },
        name.field);
  }
  return text;
}

}  // namespace fairlead
