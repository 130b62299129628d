// `fairlead run | submit`: a command as a job.

#include "fairlead/base/parse.h"
#include "fairlead/base/printable.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/container.h"
#include "fairlead/cli/daemon.h"
#include "fairlead/cli/follow.h"
#include "fairlead/cli/live_text.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/cli/session.h"
#include "fairlead/cli/tasks.h"
#include "fairlead/measure/command_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace fairlead {
namespace {

using nlohmann::json;

// By value of the field `pinned` of a request.
const std::vector<std::string> kMoves = {"yes", "no", "auto"};

struct Flags {
  std::string socket, name, model, time, limit, idle_end, checkpoint_every, priority, notify;
  std::int64_t gpus = 1;
  std::int64_t processes = 1;
  std::int64_t retries = 0;
  std::vector<std::string> types;
  std::string copies, moves, gpu_mem, mem, cpus;
  ContainerAsk container{};
  std::vector<std::string> after, after_ok;
  TaskFlags tasks{};  // `submit` alone
  std::int64_t round_steps = 0;
  bool is_plain = false;
  bool has_no_hook = false;
  bool has_terminal = false;  // `run` alone
  bool has_input = false;     // the same
};

void add_resource_flags(CLI::App& app, Flags& flags) {
  app.add_option("--types", flags.types, "types of GPU that it can use (default: all)")
      ->delimiter(',')
      ->type_name("TYPE,TYPE");
  app.add_option("--gpu-mem", flags.gpu_mem,
                 "memory that it needs of each GPU, like 20G or 500M; it then takes turns only "
                 "with jobs beside which it fits")
      ->type_name("SIZE");
  app.add_option("--mem", flags.mem,
                 "memory of the machine that it may have, like 32G or 500M; it starts once that is "
                 "left, and is ended if it needs more (default: no limit)")
      ->type_name("SIZE");
  app.add_option("--cpus", flags.cpus,
                 "processors that it may use at once, like 4 or 0.5 (default: all, in proportion "
                 "to its GPUs while they are busy; 1 without GPUs)")
      ->type_name("N");
}

void add_container_flags(CLI::App& app, ContainerAsk& container) {
  app.add_option("--container", container.image,
                 "run the command in a container of this image, by podman")
      ->type_name("IMAGE");
  app.add_option("--container-option", container.options,
                 "option of `podman run`, as in --container-option=--volume=/data:/data; may be "
                 "repeated")
      ->needs("--container")
      ->type_name("OPTION")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_flags(CLI::App& app, Flags& flags) {
  app.add_option("-g,--gpus", flags.gpus,
                 "GPUs that it needs, all at once (default: 1); 0: none, and it starts once its "
                 "processors (--cpus) and memory are left")
      ->check(at_least(0))
      ->type_name("N");
  app.add_option("-n,--name", flags.name,
                 "name of the job (default: its model, or its script or program)");
  app.add_option(
      "-m,--model", flags.model,
      "model that it trains; jobs of one model are expected to behave alike (default: its command "
      "without numbers and paths)");
  app.add_option("-t,--time", flags.time,
                 "expected run time, like 90s, 30m, 2h or 1h30m; not a limit")
      ->type_name("TIME");
  app.add_option("--limit", flags.limit,
                 "how long it may have GPUs, or run without GPUs, all of its turns together; then "
                 "it is ended")
      ->type_name("TIME");
  app.add_option("--idle-end", flags.idle_end,
                 "cancel it once all of its GPUs have been idle for so long, at least 10m")
      ->type_name("TIME");
  app.add_option("--priority", flags.priority,
                 "its order among your own jobs: while it waits, none of a lower priority runs "
                 "(default: normal); urgent, for administrators: among the jobs of all users")
      ->check(CLI::IsMember({"low", "normal", "high", "urgent"}).description(""))
      ->type_name("low|normal|high|urgent");
  app.add_option("--notify", flags.notify,
                 "send a notification, by mail for example, when it ends, or only if it fails or "
                 "another user cancels it (default: never)")
      ->check(CLI::IsMember({"end", "fail", "never"}).description(""))
      ->type_name("end|fail|never");
  app.add_option("--retries", flags.retries, "number of restarts if it fails (default: 0)")
      ->check(at_least(0))
      ->type_name("N");
  add_resource_flags(app, flags);
  add_container_flags(app, flags.container);
  app.add_option("--processes", flags.processes,
                 "copies of the command, each with a RANK of its own (default: 1)")
      ->check(at_least(1))
      ->type_name("N");
  app.add_option("--copies", flags.copies,
                 "copies that it may train as, on as many nodes of different speed: max, or a "
                 "number; its command has to know how (docs/copies.md)")
      ->type_name("N");
  app.add_option(
         "--moves", flags.moves,
         "whether the job saves its work at SIGTERM, and may therefore move to other GPUs; auto: "
         "if its processes have a handler (default: auto)")
      ->check(CLI::IsMember(kMoves).description(""))
      ->type_name("yes|no|auto");
  app.add_option(
         "--checkpoint-every", flags.checkpoint_every,
         "interval at which it saves its work, if it does not do so at SIGTERM; it may then "
         "move, and loses the work since the last checkpoint")
      ->type_name("TIME");
  app.add_option("--after", flags.after,
                 "start it when these jobs have ended: numbers, ranges as 12-31, or names")
      ->delimiter(',')
      ->type_name("JOB,JOB");
  app.add_option("--after-ok", flags.after_ok,
                 "the same, but cancel it if one of them does not end well")
      ->delimiter(',')
      ->type_name("JOB,JOB");
  app.add_flag("--no-hook", flags.has_no_hook,
               "start its Python processes without the hook that counts optimizer steps");
  add_socket_flag(app, flags.socket);
  app.allow_extras();  // an unknown flag gets an error that explains where to put it
}

bool is_utf8(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace) ==
         json(text).dump(-1, ' ', false, json::error_handler_t::ignore);
}

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  bool is_unbuffered = false;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    is_unbuffered = is_unbuffered || variable.starts_with("PYTHONUNBUFFERED=");
    if (is_utf8(variable)) {
      environment.push_back(variable);
    } else {
      fmt::print(stderr, "fairlead: this variable is not UTF-8, and left out: {}\n",
                 variable.substr(0, variable.find('=')));
    }
  }
  // Shows its output while it runs.
  if (!is_unbuffered) environment.emplace_back("PYTHONUNBUFFERED=1");
  return environment;
}

// Checks that the command line has a command, and that no word of it is before the --.
Status check_words(const CLI::App& app, const std::vector<std::string>& command) {
  const auto extras = app.remaining();
  if (!extras.empty() && extras.front().starts_with('-'))
    return input_error(
        "no such flag of `fairlead {0}` (`fairlead {0} --help` lists them; the "
        "command and its flags follow --): {1}",
        app.get_name(), extras.front());
  if (!extras.empty())
    return input_error("put -- before the command, as in `fairlead {} -g 1 -- python train.py`: {}",
                       app.get_name(), extras.front());
  if (command.empty())
    return input_error("name a command, as in `fairlead {} -g 1 -- python train.py`",
                       app.get_name());
  const auto bad = std::ranges::find_if_not(command, is_utf8);
  if (bad == command.end()) return {};
  return input_error("a command is UTF-8 text: word {}", bad - command.begin() + 1);
}

// Returns the number of copies; 0: any number.
Result<std::int64_t> copies_of(const Flags& flags) {
  if (flags.copies.empty()) return 1;
  if (flags.copies == "max") return 0;
  const auto count = parse_integer(flags.copies);
  if (count && *count >= 1) return *count;
  return input_error("--copies is max, or a number from 1: {}", flags.copies);
}

Result<std::string> own_program() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return run_error("/proc/self/exe: {}", error.message());
  return program.string();
}

// Returns the command with its tracker before it.
Result<std::vector<std::string>> with_tracker(const Flags& flags,
                                              const std::vector<std::string>& command) {
  FL_TRY_ASSIGN(program, own_program());
  std::vector<std::string> words = {std::move(program), "tracker"};
  if (flags.round_steps > 0) words.push_back(fmt::format("--round-steps={}", flags.round_steps));
  if (flags.is_plain) words.emplace_back("--plain");
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

// Returns the command with the one that starts its container before it. Errors: this machine has no podman; a container
// does not go with the other flags.
Result<std::vector<std::string>> with_container(const Flags& flags,
                                                const std::vector<std::string>& command) {
  const ContainerAsk& container = flags.container;
  if (!flags.copies.empty()) return input_error("--copies and --container exclude each other");
  if (flags.processes != 1)
    return input_error(
        "--processes would start as many containers: start the processes in one, as in "
        "`--container {} -- torchrun --nproc-per-node {} train.py`",
        container.image, flags.processes);
  const char* const path = std::getenv("PATH");
  FL_TRY(find_podman(path == nullptr ? "" : path));
  FL_TRY_ASSIGN(program, own_program());
  std::vector<std::string> words = {std::move(program), "container"};
  for (const std::string& option : container.options) words.push_back("--option=" + option);
  words.push_back(container.image);
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  const auto bad = std::ranges::find_if_not(words, is_utf8);
  if (bad != words.end()) return input_error("--container: not UTF-8: {}", *bad);
  return words;
}

// Returns the words that the daemon starts.
Result<std::vector<std::string>> words_of(const Flags& flags,
                                          const std::vector<std::string>& command) {
  if (!flags.container.image.empty()) return with_container(flags, command);
  if (!flags.copies.empty()) return with_tracker(flags, command);
  return command;
}

Status put_spans(const Flags& flags, json& request) {
  for (const auto& [field, text] : {std::pair("declared_s", &flags.time),
                                    {"limit_s", &flags.limit},
                                    {"idle_end_s", &flags.idle_end}}) {
    if (text->empty()) continue;
    FL_TRY_ASSIGN(span_s, parse_span_s(*text));
    request[field] = span_s;
  }
  return {};
}

// Puts the memory of each GPU and of the machine, and the processors. G is 10^9 bytes, as in the names of GPUs.
Status put_sizes(const Flags& flags, json& request) {
  for (const auto& [flag, field, text] : {std::tuple("--gpu-mem", "gpu_memory_mb", &flags.gpu_mem),
                                          {"--mem", "memory_mb", &flags.mem}}) {
    if (text->empty()) continue;
    const char unit = text->back();
    const auto number = parse_number(std::string_view(*text).substr(0, text->size() - 1));
    const bool is_size = (unit == 'G' || unit == 'M') && number && *number > 0 && *number < 1e6;
    if (!is_size) return input_error("{}: like 20G or 500M: {}", flag, *text);
    request[field] = std::llround(std::ceil(unit == 'G' ? *number * 1000 : *number));
  }
  if (flags.cpus.empty()) return {};
  const auto cpus = parse_number(flags.cpus);
  if (!cpus || !(*cpus >= 0.01 && *cpus <= 1e5))
    return input_error("--cpus: a number from 0.01, like 4 or 0.5: {}", flags.cpus);
  request["cpus"] = *cpus;
  return {};
}

Status put_moves(const Flags& flags, json& request) {
  if (!flags.moves.empty())
    request["pinned"] = std::ranges::find(kMoves, flags.moves) - kMoves.begin();
  if (flags.checkpoint_every.empty()) return {};
  FL_TRY_ASSIGN(every_s, parse_span_s(flags.checkpoint_every));
  request["checkpoint_every_s"] = std::llround(every_s);
  return {};
}

// Puts texts that the daemon reads, unless they are empty.
void put_texts(const Flags& flags, json& request) {
  for (const auto& [field, text] :
       {std::pair("priority", &flags.priority), {"notify", &flags.notify}}) {
    if (!text->empty()) request[field] = *text;
  }
}

Status put_values(const Flags& flags, json& request) {
  put_texts(flags, request);
  FL_TRY(put_moves(flags, request));
  FL_TRY(put_spans(flags, request));
  return put_sizes(flags, request);
}

Result<std::string> present_folder() {
  std::error_code error;
  std::string folder = std::filesystem::current_path(error).string();
  if (error) return input_error("the folder of this shell is gone: {}", error.message());
  if (!is_utf8(folder)) return input_error("a job's folder is UTF-8 text");
  return folder;
}

Result<json> request_of(const CLI::App& app, const Flags& flags,
                        const std::vector<std::string>& command) {
  FL_TRY(check_words(app, command));
  FL_TRY_ASSIGN(folder, present_folder());
  FL_TRY_ASSIGN(copies, copies_of(flags));
  if (copies != 1 && flags.has_terminal)
    return input_error("--copies and --tty exclude each other");
  FL_TRY_ASSIGN(words, words_of(flags, command));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  json request = {{"name", flags.name},       {"model", flags.model},
                  {"command", words},         {"environment", own_environment()},
                  {"folder", folder},         {"umask", mask},
                  {"gpus", flags.gpus},       {"processes", flags.processes},
                  {"retries", flags.retries}, {"copies_max", copies}};
  if (!flags.types.empty()) request["types"] = flags.types;
  FL_TRY(put_values(flags, request));
  if (flags.has_no_hook) request["hook"] = false;
  const std::string name = !flags.name.empty()    ? flags.name
                           : !flags.model.empty() ? flags.model
                                                  : program_of(command);
  FL_TRY_ASSIGN(tasks, task_fields(flags.tasks, name, words));
  request.update(tasks);
  if (flags.has_terminal) request["terminal"] = true;
  if (flags.has_input) request["input"] = true;
  return request;
}

// Adds the jobs that must end before.
Status add_after(Daemon& daemon, const Flags& flags, json& request) {
  for (const auto& [field, names] :
       {std::pair("after", &flags.after), {"after_ok", &flags.after_ok}}) {
    for (const std::string& name : *names) {
      FL_TRY_ASSIGN(ids, daemon.jobs_named(name));
      for (const std::int64_t id : ids) request[field].push_back(id);
    }
  }
  return {};
}

struct Submitted {
  std::int64_t first = 0;
  std::int64_t last = 0;  // the last task; without tasks the same job
};

Result<Submitted> submit(Daemon& daemon, const Flags& flags, json& request, int terminal = -1) {
  FL_TRY(add_after(daemon, flags, request));
  FL_TRY_ASSIGN(answer, daemon.post("/v1/jobs", request, terminal));
  const auto number = [&](const char* field) {
    const bool has =
        answer.is_object() && answer.contains(field) && answer[field].is_number_integer();
    return has ? std::optional(answer[field].get<std::int64_t>()) : std::nullopt;
  };
  const auto first = number("id");
  if (!first) return run_error("the fairlead daemon's answer names no job");
  return Submitted{*first, number("last").value_or(*first)};
}

// Prints that a job waits, if it does.
Status tell_wait(Daemon& daemon, const JobAnswer& job) {
  if (job.state == "held" && !job.reason.empty())
    fmt::print(stderr, "job {} waits: it starts {} (fairlead why {})\n", job.id,
               printable(job.reason), job.id);
  if (job.state != "waiting") return {};
  FL_TRY_ASSIGN(jobs, daemon.jobs());
  const auto before = std::ranges::count_if(
      jobs, [&](const JobAnswer& other) { return other.is_waiting() && other.id < job.id; });
  fmt::print(stderr, "job {} waits: {} {} before it (fairlead why {}, fairlead when {})\n", job.id,
             before, before == 1 ? "job" : "jobs", job.id, job.id);
  return {};
}

// Returns whether standard input has bytes for the job: it is a pipe, a file or a socket. A terminal stays with the
// shell.
bool has_input() {
  struct stat now {};
  if (::fstat(STDIN_FILENO, &now) != 0) return false;
  return S_ISFIFO(now.st_mode) || S_ISREG(now.st_mode) || S_ISSOCK(now.st_mode);
}

Result<int> run(const CLI::App& app, Flags& flags, const std::vector<std::string>& command) {
  flags.has_input = !flags.has_terminal && has_input();
  FL_TRY_ASSIGN(request, request_of(app, flags, command));
  std::optional<PseudoTerminal> terminal;
  if (flags.has_terminal) {
    FL_TRY_ASSIGN(made, PseudoTerminal::make());
    terminal = std::move(made);
  }
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.socket));
  cancel_on_interrupt();
  FL_TRY_ASSIGN(submitted, submit(daemon, flags, request,
                                  terminal          ? terminal->far_side()
                                  : flags.has_input ? STDIN_FILENO
                                                    : -1));
  const std::int64_t id = submitted.first;
  FL_TRY_ASSIGN(job, daemon.job(id));
  FL_TRY(tell_wait(daemon, job));
  FL_TRY_ASSIGN(ended, terminal ? attend_session(daemon, flags.socket, job, *terminal)
                                : follow_job(flags.socket, job));
  if (!ended.is_done() && terminal) {
    note("leaves; job {} ends with its terminal", id);
    return 130;
  }
  if (!ended.is_done()) {
    note("does not wait for the end of job {}", id);
    return 130;
  }
  if (ended.state != "finished") note("{}", end_text(ended));
  return exit_code_of(ended);
}

}  // namespace

Command add_run(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App* app = root.add_subcommand("run", "Run a command on GPUs, as soon as there are some");
  const auto flags = std::make_shared<Flags>();
  const auto exit_code = std::make_shared<int>(0);
  add_flags(*app, *flags);
  app->add_flag(
      "--tty", flags->has_terminal,
      "a session at this terminal: keys go to the command, and it ends with the terminal");
  app->footer(
      "Examples:\n"
      "  fairlead run -g 2 --time 3h -- python train.py --lr 0.1\n"
      "  fairlead run --tty -- bash\n"
      "\n"
      "The command follows --. It runs in this folder with this environment. Its output "
      "appears\n"
      "here until it ends, and `fairlead run` exits with its exit code. A pipe or a file at "
      "standard\n"
      "input becomes the input of its first process. Ctrl-C cancels it; if "
      "the\n"
      "terminal closes, the job continues, and `fairlead logs -f` shows its output.\n");
  return {app,
          [=, &words]() -> Status {
            FL_TRY_ASSIGN(code, run(*app, *flags, words));
            *exit_code = code;
            return {};
          },
          exit_code};
}

Command add_submit(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App* app = root.add_subcommand(
      "submit", "Run a command on GPUs in the background, and print the job's number");
  const auto flags = std::make_shared<Flags>();
  add_flags(*app, *flags);
  add_task_flags(*app, flags->tasks);
  app->footer(
      "Examples:\n"
      "  job=$(fairlead submit -g 2 -- python train.py)\n"
      "  fairlead logs -f $job\n"
      "  fairlead submit --after-ok $job -- python test.py\n"
      "  fairlead submit --array 1-20%4 -- sh -c 'python train.py --seed $FAIRLEAD_ARRAY_INDEX'\n"
      "  fairlead submit --param lr=0.1,0.01 --param bs=32,64 -- python train.py --lr {lr} --batch "
      "{bs}\n"
      "\n"
      "Several jobs are printed as a range, 12-31, which cancel, hold, release and --after "
      "take.\n");
  return {app, [=, &words]() -> Status {
            FL_TRY_ASSIGN(request, request_of(*app, *flags, words));
            FL_TRY_ASSIGN(daemon, Daemon::connect(flags->socket));
            FL_TRY_ASSIGN(jobs, submit(daemon, *flags, request));
            fmt::print("{}{}\n", jobs.first,
                       jobs.last == jobs.first ? "" : fmt::format("-{}", jobs.last));
            return {};
          }};
}

}  // namespace fairlead
