// The command line. Exit codes: 0 done, 1 the run failed, 2 bad usage or input.

#include "fairlead/base/nearest.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/run_file.h"
#include "fairlead/report/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>

namespace fairlead {
namespace {

constexpr int kRunFailed = 1;
constexpr int kBadInput = 2;

int report(const Error& error) {
  fmt::print(stderr, "fairlead: {}\n", error.message);
  return error.kind == Error::Kind::kInput ? kBadInput : kRunFailed;
}

// Output may still be in a buffer, and writing it may fail.
Status flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return run_error("cannot write to standard output");
}

constexpr const char* kRunJobs = "Run jobs";
constexpr const char* kSimulate = "Simulate and compare";
constexpr const char* kAbout = "About this program";

std::vector<CLI::App*> all_of(CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// `words`: of the command line behind --.
std::vector<Command> add_commands(CLI::App& root, const std::vector<std::string>& words) {
  std::vector<Command> commands = {add_run(root, words),
                                   add_submit(root, words),
                                   add_ps(root),
                                   add_top(root),
                                   add_page(root),
                                   add_usage(root),
                                   add_logs(root),
                                   add_why(root),
                                   add_when(root, words),
                                   add_whatif(root),
                                   add_tracker(root, words),
                                   add_copy(root, words),
                                   add_container(root, words)};
  for (Command& command : add_job_actions(root)) commands.push_back(std::move(command));
  for (Command& command : add_users_and_gpus(root)) commands.push_back(std::move(command));
  for (Command& command : add_reservations(root)) commands.push_back(std::move(command));
  commands.push_back(add_serve(root));
  commands.push_back(add_agent(root));
  for (CLI::App* app : all_of(root)) app->group(kRunJobs);
  for (auto* add : {add_simulate, add_compare, add_capacity, add_reproduce, add_report, add_replay,
                    add_policies, add_clusters, add_torture})
    commands.push_back(add(root));
  for (auto* add : {add_models, add_import, add_trace})
    for (Command& command : add(root)) commands.push_back(std::move(command));
  for (Command& command : add_journal(root)) commands.push_back(std::move(command));
  for (CLI::App* app : all_of(root))
    if (app->get_group() != kRunJobs) app->group(kSimulate);
  for (auto* add : {add_completion, add_man}) {
    commands.push_back(add(root));
    commands.back().app->group(kAbout);
  }
  return commands;
}

int run_command(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (const Status status = command.run(); !status) return report(status.error());
    if (const Status status = flush_output(); !status) return report(status.error());
    return command.exit_code ? *command.exit_code : 0;
  }
  return kBadInput;
}

// Returns an error for words of the command line in place of an unknown subcommand, or none.
std::optional<Error> unknown_command(const CLI::App& root, int argc, char** argv) {
  const CLI::App* app = &root;
  for (int i = 1; i < argc && app->get_require_subcommand_min() > 0; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with('-')) return std::nullopt;
    std::vector<std::string> names;
    const CLI::App* named = nullptr;
    for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(sub->get_name());
      if (sub->get_name() == word) named = sub;
    }
    if (named == nullptr) {
      const std::string known = nearest_first({names.begin(), names.end()}, word);
      return Error{.message = fmt::format("no such command (there are: {}): {}", known, word)};
    }
    app = named;
  }
  return std::nullopt;
}

// Returns an error for a flag that the command does not have, if it is nearly one of its flags. Without it, the error could
// be about the flag that was meant and is missing.
std::optional<Error> misspelt_flag(const CLI::App& root, int argc, char** argv) {
  const CLI::App* app = &root;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      const auto named =
          app->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == word; });
      if (!named.empty()) app = named.front();
      continue;
    }
    if (app->get_allow_extras()) return std::nullopt;  // such a command has an error of its own
    const std::string_view flag = word.substr(0, word.find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    if (std::ranges::find(names, flag) != names.end()) continue;
    const std::string meant = did_you_mean({names.begin(), names.end()}, flag);
    if (meant.empty()) return std::nullopt;
    return Error{.message = fmt::format("{} has no such flag: {}{}", app->get_name(), flag, meant)};
  }
  return std::nullopt;
}

// Takes the words after -- from the command line of commands that take a command.
std::vector<std::string> words_of(int& argc, char** argv) {
  constexpr std::string_view kCommands[] = {"run",     "submit", "when",
                                            "tracker", "copy",   "container"};
  if (argc < 2 || std::ranges::find(kCommands, argv[1]) == std::end(kCommands)) return {};
  char** const mark = std::find(argv + 2, argv + argc, std::string_view("--"));
  std::vector<std::string> words;
  if (mark != argv + argc) words.assign(mark + 1, argv + argc);
  argc = static_cast<int>(mark - argv);
  return words;
}

// Without a command: prints the queue or, if no daemon answers, help.
int run_bare(const CLI::App& root) {
  const Status status = show_queue();
  if (!status) fmt::print("{}\n{}\n", root.help(), status.error().message);
  const Status flushed = flush_output();
  return flushed ? 0 : report(flushed.error());
}

int run(int argc, char** argv) {
  CLI::App root("Fairlead schedules deep-learning training on shared GPU clusters.", "fairlead");
  root.set_version_flag("--version", program_text(version(), commit()));
  root.require_subcommand(1);
  root.footer(
      "Examples:\n"
      "  fairlead run -g 1 -- python train.py\n"
      "  fairlead simulate --cluster 4xV100:8 --trace jobs.csv --policy fifo --out out\n"
      "  fairlead compare --cluster slides --trace jobs.csv --policies \"fifo;las\" --out out\n"
      "  fairlead simulate --help   # every command has its own help\n"
      "\n"
      "If the output is a terminal, headings are bold and warnings red, unless NO_COLOR is set.\n");
  const std::vector<std::string> words = words_of(argc, argv);
  const std::vector<Command> commands = add_commands(root, words);
  if (argc == 1) return run_bare(root);
  if (const auto error = unknown_command(root, argc, argv)) return report(*error);
  if (const auto error = misspelt_flag(root, argc, argv)) return report(*error);
  auto arguments = with_run_file(root, {argv + 1, argv + argc});
  if (!arguments) return report(arguments.error());
  std::ranges::reverse(*arguments);  // parse() takes them in reverse order
  try {
    root.parse(std::move(*arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);  // --help, --version
    fmt::print(stderr, "fairlead: {}\nTry: fairlead --help\n", error.what());
    return kBadInput;
  }
  return run_command(commands);
}

}  // namespace
}  // namespace fairlead

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its size limit is an error like a full disk
  try {
    return fairlead::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("fairlead: out of memory\n", stderr);
  } catch (const std::exception& error) {
    // It may be that standard error cannot be written.
    std::fputs(fmt::format("fairlead: {}\n", error.what()).c_str(), stderr);
  }
  return fairlead::kRunFailed;
}
