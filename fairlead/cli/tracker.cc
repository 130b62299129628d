// `fairlead tracker` and `fairlead copy`: the wrappers of the command of a job that trains as copies.

#include "fairlead/copies/tracker.h"

#include "fairlead/base/parse.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/copies/copy_program.h"
#include "fairlead/shim/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr std::string_view kHelp =
    "`fairlead submit --copies max -- COMMAND` starts it; it is not for terminals. It starts\n"
    "COMMAND once for each copy that the daemon gave the job (FAIRLEAD_COPIES). In each round it\n"
    "gives each copy a number of steps, by the speed of its GPUs, and then consolidates their\n"
    "parameters. docs/copies.md describes the protocol of a trainer.\n"
    "\n"
    "To try a trainer by hand:\n"
    "  FAIRLEAD_COPIES='[{\"gpus\":[\"0\"],\"gpu_type\":\"V100\",\"speed\":1},\n"
    "                    {\"gpus\":[\"1\"],\"gpu_type\":\"K80\",\"speed\":0.2}]' \\\n"
    "    fairlead tracker -- python train.py\n"
    "\n"
    "Copies on several machines, which share nothing but a token:\n"
    "  head -c 24 /dev/urandom | base64 > token        # and copy it to each machine\n"
    "  fairlead tracker --listen 0.0.0.0:7070 --token-file token\n"
    "  fairlead copy --tracker HOST:7070 --token-file token -- python train.py    # on each\n";

constexpr std::string_view kCopyHelp =
    "It starts COMMAND, which trains on the GPUs of this machine, and passes the orders and the "
    "files of\n"
    "parameters of the tracker on to it. Copies may come and go at any time. If the tracker is "
    "started\n"
    "again, they continue with it.\n"
    "\n"
    "The traffic is not encrypted, and the token only keeps strangers out: use a private "
    "network.\n";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Flags {
  std::uint64_t round_steps = 0;
  bool is_plain = false;
  std::string folder;
  double patience = TrackerOptions().patience;
  std::string listen;
  std::string token_file;
};

struct CopyFlags {
  std::string tracker;
  std::string token_file;
  std::string gpu_type;
  double speed = 0;
  double give_up_s = CopyProgramOptions().give_up_s;
};

// Returns the first word of the file.
Result<std::string> read_token(const std::string& file) {
  const std::optional<std::string> text = shim::read_file(file);
  if (!text) return input_error("--token-file: cannot be read: {}", file);
  const std::size_t begin = std::min(text->find_first_not_of(" \r\n\t"), text->size());
  const std::size_t end = std::min(text->find_first_of(" \r\n\t", begin), text->size());
  if (begin == end) return input_error("--token-file: is empty: {}", file);
  return text->substr(begin, end - begin);
}

Result<int> run(const Flags& flags, const std::vector<std::string>& command) {
  std::vector<CopyPlace> copies;
  const std::string given = variable("FAIRLEAD_COPIES");
  if (given.empty() && flags.listen.empty())
    return input_error(
        "FAIRLEAD_COPIES is not set: `fairlead submit --copies max -- COMMAND` sets it");
  if (!given.empty() && (!command.empty() || flags.listen.empty())) {
    FL_TRY_ASSIGN(parsed, parse_copies(given));
    copies = std::move(parsed);
  }
  if (command.empty() && flags.listen.empty())
    return input_error("name a trainer, as in `fairlead tracker -- python train.py`");
  std::string token;
  if (!flags.listen.empty()) {
    FL_TRY_ASSIGN(read, read_token(flags.token_file));
    token = std::move(read);
  }
  const std::string job = variable("FAIRLEAD_JOB_ID");
  const std::filesystem::path folder =
      flags.folder.empty() ? fmt::format("copies-{}", job.empty() ? "0" : job) : flags.folder;
  return track({.command = command,
                .copies = std::move(copies),
                .folder = std::filesystem::absolute(folder),
                .round_steps = flags.round_steps,
                .is_plain = flags.is_plain,
                .now_s = now_s,
                .progress = variable("FAIRLEAD_PROGRESS"),
                .patience = flags.patience,
                .listen = flags.listen,
                .token = std::move(token)});
}

// The folder of a copy's files, which goes with the program.
class OwnFolder {
 public:
  OwnFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fairlead-copy-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~OwnFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Returns the number of this copy. Trainers draw their data by it, so without one of the system it differs by machine and
// process.
std::size_t copy_number() {
  for (const char* name :
       {"JOB_COMPLETION_INDEX", "SLURM_PROCID"}) {  // Indexed Jobs of Kubernetes; Slurm
    const auto number = parse_integer(variable(name));
    if (number && *number >= 0) return static_cast<std::size_t>(*number);
  }
  std::array<char, 256> machine{};
  (void)::gethostname(machine.data(), machine.size() - 1);
  return std::hash<std::string>()(fmt::format("{} {}", machine.data(), ::getpid())) >> 33;
}

Result<int> run_copy_of(const CopyFlags& flags, const std::vector<std::string>& command) {
  if (command.empty())
    return input_error(
        "name a trainer, as in `fairlead copy --tracker node7:7070 ... -- python train.py`");
  FL_TRY_ASSIGN(tracker, parse_copy_address(flags.tracker));
  FL_TRY_ASSIGN(token, read_token(flags.token_file));
  const OwnFolder folder;
  if (folder.path().empty()) return run_error("no folder for the copy's files can be made");
  const std::string type = flags.gpu_type.empty() ? variable("FAIRLEAD_GPU_TYPE") : flags.gpu_type;
  const double known = parse_number(variable("FAIRLEAD_SPEED")).value_or(1);
  return run_copy({.command = command,
                   .place = {.gpus = {},
                             .gpu_type = type.empty() ? "GPU" : type,
                             .speed = flags.speed > 0 ? flags.speed
                                      : known > 0     ? known
                                                      : 1},
                   .number = copy_number(),
                   .tracker = std::move(tracker),
                   .token = std::move(token),
                   .folder = folder.path(),
                   .give_up_s = flags.give_up_s,
                   .now_s = now_s});
}

}  // namespace

Command add_tracker(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App* app = root.add_subcommand(
      "tracker", "Train a job as copies on nodes of unequal speed (submit --copies starts it)");
  const auto flags = std::make_shared<Flags>();
  const auto exit_code = std::make_shared<int>(0);
  app->add_option("--round-steps", flags->round_steps,
                  "steps between two exchanges of parameters, all copies together (default: 50, or "
                  "so many that the exchange takes a twentieth of the time)")
      ->check(at_least(1))
      ->type_name("N");
  app->add_flag("--plain", flags->is_plain,
                "take the plain mean of the copies, without momentum over rounds");
  app->add_option("--folder", flags->folder,
                  "folder of its checkpoint and of the copies' exchange (default: copies-JOB here)")
      ->type_name("DIR");
  app->add_option("--patience", flags->patience,
                  "leave a copy out of a round if it takes this many times as long as the slowest "
                  "of the others; "
                  "0: never")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("N");
  auto* const listen =
      app->add_option(
             "--listen", flags->listen,
             "address at which copies of other machines may come (`fairlead copy`); port 0: "
             "any, which is printed. COMMAND and FAIRLEAD_COPIES may then be missing")
          ->type_name("HOST:PORT");
  auto* const token =
      app->add_option("--token-file", flags->token_file, "file with the token that copies know")
          ->type_name("FILE");
  listen->needs(token);
  token->needs(listen);
  app->footer(std::string(kHelp));
  return {app,
          [=, &words]() -> Status {
            FL_TRY_ASSIGN(code, run(*flags, words));
            *exit_code = code;
            return {};
          },
          exit_code};
}

Command add_copy(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App* app =
      root.add_subcommand("copy", "Train as a copy of a job whose tracker is on another machine");
  const auto flags = std::make_shared<CopyFlags>();
  const auto exit_code = std::make_shared<int>(0);
  app->add_option("--tracker", flags->tracker, "address of `fairlead tracker --listen`")
      ->required()
      ->type_name("HOST:PORT");
  app->add_option("--token-file", flags->token_file, "file with the token of the tracker")
      ->required()
      ->type_name("FILE");
  app->add_option("--gpu-type", flags->gpu_type,
                  "type of the GPUs here, under which the tracker keeps speeds (default: "
                  "FAIRLEAD_GPU_TYPE, else GPU)")
      ->type_name("TYPE");
  app->add_option("--speed", flags->speed,
                  "speed beside the other copies, until the tracker has measured it (default: "
                  "FAIRLEAD_SPEED, else 1)")
      ->check(CLI::PositiveNumber)
      ->type_name("X");
  app->add_option("--give-up", flags->give_up_s,
                  "seconds without an answer of a tracker after which the copy ends")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->type_name("S");
  app->footer(std::string(kCopyHelp));
  return {app,
          [=, &words]() -> Status {
            FL_TRY_ASSIGN(code, run_copy_of(*flags, words));
            *exit_code = code;
            return {};
          },
          exit_code};
}

}  // namespace fairlead
