// `fairlead ps | top | users | gpus`: who has the GPUs.

#include "fairlead/base/parse.h"
#include "fairlead/base/printable.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/kubernetes.h"
#include "fairlead/cli/live_text.h"
#include "fairlead/io/accounts.h"
#include "fairlead/report/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace fairlead {
namespace {

struct QueueFlags {
  QueryFlags source;
  std::string user;
  bool all = false;
  bool json = false;
};

Status show_queue(const QueueFlags& flags) {
  FL_TRY_ASSIGN(daemon, connect(flags.source));
  std::string query = flags.all ? "all=1" : "";
  if (!flags.user.empty())
    query += fmt::format("{}user={}", query.empty() ? "" : "&", http_encoded(flags.user));
  FL_TRY_ASSIGN(answer, daemon.get(query.empty() ? "/v1/jobs" : "/v1/jobs?" + query));
  if (flags.json) {
    fmt::print("{}", json_text(answer));
    return {};
  }
  FL_TRY_ASSIGN(cluster, daemon.cluster());
  fmt::print("{}", queue_text(cluster, job_answers(answer), stdout_style()));
  return {};
}

Result<std::string> top_text(const DaemonQueries& daemon, TextStyle style) {
  FL_TRY_ASSIGN(cluster, daemon.cluster());
  FL_TRY_ASSIGN(jobs, daemon.jobs());
  FL_TRY_ASSIGN(users, daemon.users());
  return fmt::format("{}\n{}\n{}", queue_text(cluster, jobs, style),
                     gpus_text(cluster, jobs, style), users_text(users, style));
}

// Returns a terminal's picture of `text`: it replaces the previous one without flicker, and fits the terminal.
std::string picture_of(std::string_view text, std::size_t rows) {
  std::string picture = "\x1b[H\x1b[?7l";  // to the corner; long lines are cut
  for (std::size_t row = 0; row + 1 < rows && !text.empty(); ++row) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    picture += fmt::format("{}\x1b[K\n", text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return picture + "\x1b[J\x1b[?7h";
}

std::size_t terminal_rows() {
  winsize size{};
  const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return is_known ? size.ws_row : 24;
}

// Ctrl-C ends it together with the program.
Status top(const QueryFlags& source) {
  const TextStyle style = stdout_style();
  FL_TRY_ASSIGN(daemon, connect(source));
  for (;;) {
    FL_TRY_ASSIGN(text, top_text(daemon, style));
    if (::isatty(STDOUT_FILENO) == 0) {
      fmt::print("{}", text);
      return {};
    }
    fmt::print("{}", picture_of(text, terminal_rows()));
    if (std::fflush(stdout) != 0) return {};
    ::poll(nullptr, 0, 1000);
  }
}

struct ListFlags {
  QueryFlags source;
  bool json = false;
};

CLI::App* add_list(CLI::App& root, std::string name, std::string help, ListFlags& flags) {
  CLI::App* app = root.add_subcommand(std::move(name), std::move(help));
  add_query_flags(*app, flags.source);
  app->add_flag("--json", flags.json, "print JSON instead of a table");
  return app;
}

// Returns the daemon of this machine, for a change. Error: the flags name a scheduler, for which `instead` does it.
Result<Daemon> connect_to_change(const QueryFlags& source, std::string_view instead) {
  if (source.is_kubernetes())
    return input_error("the scheduler on Kubernetes only answers queries; use {}", instead);
  return Daemon::connect(source.socket);
}

Status show_users(const ListFlags& flags) {
  FL_TRY_ASSIGN(daemon, connect(flags.source));
  FL_TRY_ASSIGN(answer, daemon.get("/v1/users"));
  if (flags.json) {
    fmt::print("{}", json_text(answer));
    return {};
  }
  fmt::print("{}", users_text(user_answers(answer), stdout_style()));
  const std::string groups = groups_text(group_answers(answer), stdout_style());
  if (!groups.empty()) fmt::print("\n{}", groups);
  return {};
}

Status show_gpus(const ListFlags& flags) {
  FL_TRY_ASSIGN(daemon, connect(flags.source));
  FL_TRY_ASSIGN(answer, daemon.get("/v1/cluster"));
  if (flags.json) {
    fmt::print("{}", json_text(answer));
    return {};
  }
  FL_TRY_ASSIGN(jobs, daemon.jobs());
  fmt::print("{}", gpus_text(cluster_answer(answer), jobs, stdout_style()));
  return {};
}

struct UserFlags : ListFlags {
  std::string name, what;
  std::int64_t number = 0;
};

// A misspelt group would have no effect. A limit of a removed group can still be ended.
Status limit_group(const UserFlags& flags) {
  FL_TRY_ASSIGN(daemon, connect_to_change(flags.source, "a ResourceQuota"));
  if (flags.number != 0 && !find_group(flags.name))
    return input_error("this machine has no such group: {}", flags.name);
  FL_TRY(daemon.put("/v1/groups/" + http_encoded(flags.name), {{"max_gpus", flags.number}}));
  return {};
}

// The subcommands of `users` come before it, because the first one named is run.
void add_users(CLI::App& root, std::vector<Command>& commands) {
  const auto flags = std::make_shared<UserFlags>();
  CLI::App* app = add_list(root, "users", "Show users, their tickets and their GPUs", *flags);
  app->footer(
      "Examples:\n  fairlead users\n  fairlead users --from kubernetes\n  fairlead users set ann "
      "tickets 3\n  fairlead users set ann max-gpus 4\n  fairlead users set-group vision max-gpus "
      "8\n");
  CLI::App* set =
      app->add_subcommand("set", "Set the tickets of a user, or a limit (administrators)");
  set->fallthrough();  // the flags of the source
  set->add_option("NAME", flags->name, "the user")->required();
  set->add_option(
         "WHAT", flags->what,
         "tickets: a user's share of the GPUs grows with them; max-gpus: the GPUs that the "
         "user's jobs may have at once (0: any number)")
      ->required()
      ->check(CLI::IsMember({"tickets", "max-gpus"}).description(""))
      ->type_name("tickets|max-gpus");
  set->add_option("N", flags->number, "how many")->required();
  commands.push_back(
      {set, [flags]() -> Status {
         FL_TRY_ASSIGN(daemon,
                       connect_to_change(flags->source, "`kubectl edit configmap fairlead`"));
         const char* field = flags->what == "tickets" ? "tickets" : "max_gpus";
         FL_TRY(daemon.put("/v1/users/" + http_encoded(flags->name), {{field, flags->number}}));
         return {};
       }});
  CLI::App* set_group = app->add_subcommand(
      "set-group", "Limit the GPUs of the users of a group of this machine (administrators)");
  set_group->fallthrough();  // the flags of the source
  set_group->add_option("NAME", flags->name, "the group, as `getent group` calls it")->required();
  set_group
      ->add_option("WHAT", flags->what,
                   "max-gpus: the GPUs that the jobs of all its users may have at once (0: any "
                   "number)")
      ->required()
      ->check(CLI::IsMember({"max-gpus"}).description(""))
      ->type_name("max-gpus");
  set_group->add_option("N", flags->number, "how many")->required();
  commands.push_back({set_group, [flags] { return limit_group(*flags); }});
  commands.push_back({app, [flags] { return show_users(*flags); }});
}

void add_gpus(CLI::App& root, std::vector<Command>& commands) {
  struct Flags : ListFlags {
    std::vector<std::string> names;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* app = add_list(root, "gpus", "Show the GPUs and their jobs", *flags);
  app->footer(
      "Examples:\n  fairlead gpus\n  fairlead gpus --from kubernetes\n  fairlead gpus cordon 3\n"
      "  fairlead gpus cordon V100\n");
  const std::pair<const char*, const char*> actions[] = {
      {"cordon",
       "Give no more jobs to GPUs or nodes; their current jobs continue (administrators)"},
      {"uncordon", "Give jobs to GPUs or nodes again (administrators)"}};
  for (const auto& [name, help] : actions) {
    CLI::App* action = app->add_subcommand(name, help);
    action->fallthrough();  // the flags of the source
    action
        ->add_option("GPU", flags->names,
                     "numbers of GPUs, or names of nodes, as `fairlead gpus` calls them")
        ->required();
    commands.push_back(
        {action, [flags, name = std::string(name)]() -> Status {
           FL_TRY_ASSIGN(daemon, connect_to_change(flags->source, "`kubectl " + name + "`"));
           for (const std::string& what : flags->names) {
             FL_TRY(daemon.post(fmt::format("/v1/{}/{}/{}", parse_integer(what) ? "gpus" : "nodes",
                                            http_encoded(what), name)));
           }
           return {};
         }});
  }
  commands.push_back({app, [flags] { return show_gpus(*flags); }});
}

}  // namespace

Status show_queue() { return show_queue(QueueFlags{}); }

Command add_ps(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("ps", "Show the jobs, running ones with their GPUs, and waiting ones");
  const auto flags = std::make_shared<QueueFlags>();
  app->add_flag("-a,--all", flags->all, "also jobs that are done");
  app->add_option("-u,--user", flags->user, "jobs of this user only");
  app->add_flag("--json", flags->json, "print JSON instead of a table");
  add_query_flags(*app, flags->source);
  app->footer(
      "Examples:\n"
      "  fairlead ps -u ann\n"
      "  fairlead ps --from kubernetes -u vision\n"
      "\n"
      "`fairlead` alone is the same as `fairlead ps`.\n");
  return {app, [flags] { return show_queue(*flags); }};
}

Command add_top(CLI::App& root) {
  CLI::App* app = root.add_subcommand("top", "Show jobs, GPUs and users, refreshed each second");
  const auto source = std::make_shared<QueryFlags>();
  add_query_flags(*app, *source);
  app->footer(
      "Example:\n  fairlead top\n\nCtrl-C ends it. If the output is not a terminal, it shows them "
      "once.\n");
  return {app, [source] { return top(*source); }};
}

Command add_page(CLI::App& root) {
  CLI::App* app = root.add_subcommand("page", "Print the address of the daemon's page");
  const auto socket = std::make_shared<std::string>();
  add_socket_flag(*app, *socket);
  app->footer(
      "Example:\n  fairlead page\n\nThe daemon has a page if it runs with --http. The address "
      "contains its token: keep it to yourself.\n");
  return {app, [socket]() -> Status {
            FL_TRY_ASSIGN(daemon, Daemon::connect(*socket));
            FL_TRY_ASSIGN(answer, daemon.get("/v1/page"));
            if (!answer.is_object() || !answer.contains("url") || !answer["url"].is_string())
              return run_error("the fairlead daemon's answer names no page");
            fmt::print("{}\n", printable(answer["url"].get<std::string>()));
            return {};
          }};
}

std::vector<Command> add_users_and_gpus(CLI::App& root) {
  std::vector<Command> commands;
  add_users(root, commands);
  add_gpus(root, commands);
  return commands;
}

}  // namespace fairlead
