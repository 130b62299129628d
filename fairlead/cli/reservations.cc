// `fairlead reservations`: GPUs for a user or a group, from one time to another.

#include "fairlead/base/printable.h"
#include "fairlead/base/time_text.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/daemon.h"
#include "fairlead/cli/wall_instant.h"
#include "fairlead/io/accounts.h"
#include "fairlead/report/json.h"
#include "fairlead/report/table.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

namespace fairlead {
namespace {

using nlohmann::json;

struct Flags {
  std::string socket, user, group, type, from = "now", length;
  std::int64_t gpus = 1;
  std::int64_t id = 0;
  bool json = false;
};

std::int64_t unix_ms_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::string reservations_text(const std::vector<ReservationAnswer>& all, TextStyle style) {
  using enum Align;
  Table table({{"ID"},
               {"FOR", kLeft},
               {"GPUS"},
               {"TYPE", kLeft},
               {"FROM", kLeft},
               {"TO", kLeft},
               {"STATE", kLeft}});
  for (const ReservationAnswer& one : all) {
    const std::string holder = one.group.empty() ? one.user : "group " + one.group;
    table.add_row({fmt::format("{}", one.id), printable(holder), fmt::format("{}", one.gpus),
                   one.gpu_type, wall_text(one.from_unix_ms), wall_text(one.to_unix_ms),
                   one.state});
  }
  return table.text(style);
}

Status show(const Flags& flags) {
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.socket));
  FL_TRY_ASSIGN(answer, daemon.get("/v1/reservations"));
  if (flags.json) {
    fmt::print("{}", json_text(answer));
    return {};
  }
  const auto all = reservation_answers(answer);
  fmt::print("{}", all.empty() ? "no GPUs are reserved\n" : reservations_text(all, stdout_style()));
  return {};
}

// Returns the times that are free, if the daemon refuses for that reason.
Status refusal_with_times(const HttpMessage& response, const Flags& flags) {
  const json body = json::parse(response.body, nullptr, false);
  if (response.status != 409 || !body.is_object() || !body.contains("free_from_unix_ms")) return {};
  return input_error("only {} of {} GPUs can be reserved all that time; {} can for {} from '{}' on",
                     body.value("free_gpus", 0), flags.gpus, flags.gpus, flags.length,
                     wall_text(body.value("free_from_unix_ms", std::int64_t{0})));
}

Status add(const Flags& flags) {
  if (!flags.group.empty() && !find_group(flags.group))
    return input_error("this machine has no such group: {}", flags.group);
  const std::string user = flags.group.empty() && flags.user.empty() ? own_name() : flags.user;
  if (flags.group.empty() && !has_account(user))
    return input_error("this machine has no such user: {}", user);
  FL_TRY_ASSIGN(from_ms, parse_wall_instant(flags.from, unix_ms_now()));
  FL_TRY_ASSIGN(length_s, parse_span_s(flags.length));
  json asked = {{"gpus", flags.gpus},
                {"from_unix_ms", from_ms},
                {"to_unix_ms", from_ms + std::llround(length_s * 1000)}};
  asked[flags.group.empty() ? "user" : "group"] = flags.group.empty() ? user : flags.group;
  if (!flags.type.empty()) asked["gpu_type"] = flags.type;
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.socket));
  FL_TRY_ASSIGN(response, daemon.ask("/v1/reservations", asked));
  FL_TRY(refusal_with_times(response, flags));
  FL_TRY_ASSIGN(answer, body_of(response));
  fmt::print("{}\n", answer.value("id", 0));
  return {};
}

void add_flags_of_add(CLI::App& app, Flags& flags) {
  app.add_option("-g,--gpus", flags.gpus, "number of GPUs (default: 1)");
  app.add_option("--from", flags.from,
                 "its start: 'tue 9:00', '2026-12-01 9:00', 'tomorrow 9:00', '14:30', 'in 2h' "
                 "(default: now)")
      ->type_name("TIME");
  app.add_option("--for", flags.length, "its length: 3h, 2d")->required()->type_name("TIME");
  CLI::Option* user = app.add_option("-u,--user", flags.user,
                                     "the user that gets them for its jobs (default: you)");
  app.add_option("--group", flags.group,
                 "the group of this machine that gets them for the jobs of its users")
      ->excludes(user);
  app.add_option("--type", flags.type, "the type of GPU, if the machine has several")
      ->type_name("TYPE");
}

}  // namespace

// The subcommands come before it, because the first one named is run.
std::vector<Command> add_reservations(CLI::App& root) {
  std::vector<Command> commands;
  const auto flags = std::make_shared<Flags>();
  CLI::App* app = root.add_subcommand("reservations", "Show the reservations of GPUs");
  add_socket_flag(*app, flags->socket);
  app->add_flag("--json", flags->json, "print JSON instead of a table");
  app->footer(
      "Examples:\n"
      "  fairlead reservations\n"
      "  fairlead reservations add -g 4 --from 'tue 9:00' --for 3h --user ann\n"
      "  fairlead reservations cancel 3\n"
      "\n"
      "Times are in the time zone of this shell.\n");
  CLI::App* adding = app->add_subcommand(
      "add",
      "Reserve GPUs for the jobs of a user or a group, and print the number of the "
      "reservation (administrators)");
  adding->fallthrough();  // the socket
  add_flags_of_add(*adding, *flags);
  commands.push_back({adding, [flags] { return add(*flags); }});
  CLI::App* cancelling =
      app->add_subcommand("cancel", "End a reservation (administrators, and the user that has it)");
  cancelling->fallthrough();
  cancelling->add_option("ID", flags->id, "its number, as `fairlead reservations` lists it")
      ->required();
  commands.push_back({cancelling, [flags]() -> Status {
                        FL_TRY_ASSIGN(daemon, Daemon::connect(flags->socket));
                        FL_TRY(daemon.post(fmt::format("/v1/reservations/{}/cancel", flags->id)));
                        return {};
                      }});
  commands.push_back({app, [flags] { return show(*flags); }});
  return commands;
}

}  // namespace fairlead
