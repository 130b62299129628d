#include "fairlead/cli/container.h"

#include "fairlead/cli/commands.h"
#include "fairlead/io/cgroups.h"
#include "fairlead/shim/files.h"
#include "fairlead/shim/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

namespace fairlead {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kHelp =
    "`fairlead run --container IMAGE -- COMMAND` starts it; it is not for terminals. It becomes\n"
    "`podman run`, with the GPUs, the folder and the cgroups of the job that it is in.\n";

constexpr std::string_view kJob = "FAIRLEAD_JOB_ID=";
constexpr std::string_view kProcessLabel = "fairlead.process";

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts,
                             [&](std::string_view start) { return text.starts_with(start); });
}

// Returns whether the container gets the variable of its job. The others, such as PATH, concern programs of the machine.
bool is_for_container(std::string_view variable) {
  return starts_with_any(
      variable, {"FAIRLEAD_", "CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=", "MASTER_ADDR=",
                 "MASTER_PORT=", "RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "PYTHONUNBUFFERED="});
}

// Returns the value of a variable, whose `name` ends with "="; empty: there is none.
std::string value_of(const Words& environment, std::string_view name) {
  const auto found = std::ranges::find_if(
      environment, [&](const std::string& variable) { return variable.starts_with(name); });
  return found == environment.end() ? std::string() : found->substr(name.size());
}

Words parts_of(std::string_view list, char separator) {
  Words parts;
  std::istringstream rest{std::string(list)};
  for (std::string part; std::getline(rest, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

// Adds a folder of the machine at the same place in the container.
void mount(Words& words, const std::string& folder, std::string_view mode = "") {
  words.push_back(fmt::format("--volume={0}:{0}{1}", folder, mode));
}

// Adds the option that leaves the container in the cgroups of this process.
void add_cgroups(Words& words, const ContainerPlace& place) {
  if (place.is_unified) {
    words.emplace_back("--cgroups=disabled");
  } else if (place.is_root) {
    // runc makes a group in each hierarchy. A path that is not absolute begins at the job's group in cgroup v1, and at the
    // root in cgroup v2. This path is below the job's groups in all of them.
    const std::string below = place.group.substr(std::min<std::size_t>(1, place.group.size()));
    words.emplace_back("--cgroups=no-conmon");
    words.push_back("--cgroup-parent=" + (below.empty() ? "fairlead" : below));
  }
  // Without root, podman makes no groups of cgroup v1.
}

void add_environment(Words& words, const ContainerPlace& place) {
  for (const std::string& variable : place.environment) {
    if (is_for_container(variable))
      words.push_back("--env=" + variable.substr(0, variable.find('=')));  // podman has the value
  }
  if (!place.hook.empty()) words.push_back("--env=PYTHONPATH=" + place.hook);
}

void add_folders(Words& words, const ContainerPlace& place) {
  mount(words, place.folder);
  words.push_back("--workdir=" + place.folder);
  const std::filesystem::path progress = value_of(place.environment, "FAIRLEAD_PROGRESS=");
  if (progress.has_parent_path()) mount(words, progress.parent_path().string());
  if (!place.hook.empty()) mount(words, place.hook, ":ro");
}

// Returns whether the container keeps the further groups of the user, which only crun can do: always with crun, and for
// device nodes of groups.
bool needs_groups(const ContainerPlace& place) {
  const bool has_nodes = std::ranges::any_of(
      place.devices, [](const std::string& device) { return device.starts_with('/'); });
  return !place.is_root && (place.is_unified || has_nodes);
}

// Returns whether a CDI specification names the device. It is searched as text, because podman reads it again.
bool has_specification(const std::filesystem::path& root, const std::string& device) {
  for (const char* folder : {"etc/cdi", "var/run/cdi"}) {
    std::error_code error;
    for (std::filesystem::directory_iterator file(root / folder, error), end; !error && file != end;
         file.increment(error)) {
      const std::string text = shim::read_file(file->path().string()).value_or("");
      if (text.find("nvidia.com/gpu") != text.npos && text.find(device) != text.npos) return true;
    }
  }
  return false;
}

// Returns the nodes of AMD's GPUs that this process may open: the daemon denies the others.
Words render_nodes(const std::filesystem::path& root) {
  Words nodes;
  std::error_code error;
  for (std::filesystem::directory_iterator file(root / "dev/dri", error), end;
       !error && file != end; file.increment(error)) {
    const std::string path = file->path().string();
    if (!file->path().filename().string().starts_with("renderD")) continue;
    const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (opened < 0) continue;
    ::close(opened);
    nodes.push_back(path);
  }
  std::ranges::sort(nodes);
  return nodes;
}

// Returns the output of a command of podman; nothing if it fails.
std::string output_of(const std::string& arguments) {
  const std::string command =
      fmt::format("podman --cgroup-manager=cgroupfs {} 2>/dev/null </dev/null", arguments);
  std::FILE* const stream = ::popen(command.c_str(), "re");
  if (stream == nullptr) return {};
  std::string output;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), stream))
    output.append(part.data(), count);
  ::pclose(stream);
  return output;
}

// Returns whether the process "4242.17" is there.
bool is_alive(std::string_view process) {
  pid_t pid = 0;
  std::uint64_t started = 0;
  const char* const end = process.data() + process.size();
  const auto dot = std::from_chars(process.data(), end, pid);
  if (dot.ptr == end || std::from_chars(dot.ptr + 1, end, started).ptr != end) return true;
  const auto now = shim::find_process(pid);
  return now && now->started == started && !now->has_ended();
}

// Removes containers of this user that podman takes for running ones: a job that is killed leaves no process that removes
// its container.
void remove_abandoned() {
  std::istringstream lines(output_of(fmt::format(
      "ps --all --filter label={0} --format '{{{{.ID}}}} {{{{index .Labels \"{0}\"}}}}'",
      kProcessLabel)));
  std::string abandoned;
  for (std::string id, process; lines >> id >> process;) {
    const bool is_id = id.find_first_not_of("0123456789abcdef") == id.npos;
    if (is_id && !is_alive(process)) abandoned += " " + id;
  }
  if (!abandoned.empty()) output_of("rm --force" + abandoned);
}

Words own_environment() {
  Words environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.emplace_back(*variable);
  return environment;
}

Result<ContainerPlace> own_place() {
  ContainerPlace place{.environment = own_environment()};
  std::error_code error;
  place.folder = std::filesystem::current_path(error).string();
  if (error) return input_error("the job's folder is gone: {}", error.message());
  const std::string path = value_of(place.environment, "PYTHONPATH=");
  const std::string first = path.substr(0, path.find(':'));
  if (std::filesystem::exists(first + "/fairlead_steps.py", error)) place.hook = first;
  if (const auto self = shim::find_process(::getpid()))
    place.process = fmt::format("{}.{}", self->pid, self->started);
  FL_TRY_ASSIGN(devices, gpu_devices("/", value_of(place.environment, "CUDA_VISIBLE_DEVICES="),
                                     value_of(place.environment, "ROCR_VISIBLE_DEVICES=")));
  place.devices = std::move(devices);
  place.memory_bytes = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES))) *
                       static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
  place.group = own_cgroup("");
  place.is_unified = std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers", error);
  place.is_root = ::geteuid() == 0;
  place.has_terminal = ::isatty(STDIN_FILENO) != 0;
  return place;
}

// Moves this process to another group for devices under cgroup v1. runc permits a container of root only its own devices.
// The kernel refuses this below the job's group, which denies some.
void leave_devices_group() {
  const Words groups = cgroup_parents("devices");
  if (groups.empty()) return;
  const std::string group = groups.back() + "/fairlead-containers";
  std::error_code error;
  std::filesystem::create_directory(group, error);
  if (!error) try_write_cgroup(group + "/cgroup.procs", "0");
}

// Becomes podman. Error: it did not.
Status run(const ContainerAsk& ask, const Words& command) {
  if (command.empty())
    return input_error("name a command, as in `fairlead run --container IMAGE -- python train.py`");
  FL_TRY_ASSIGN(place, own_place());
  if (value_of(place.environment, kJob).empty())
    return input_error(
        "outside of a job: `fairlead run --container {} -- COMMAND` starts a job with a container",
        ask.image);
  FL_TRY_ASSIGN(program, find_podman(value_of(place.environment, "PATH=")));
  remove_abandoned();
  if (place.is_root && !place.is_unified) leave_devices_group();
  Words words = podman_command(ask, place, command);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  return run_error("{}: {}", program, std::strerror(errno));
}

}  // namespace

Result<std::string> find_podman(std::string_view path) {
  for (const std::string& folder : parts_of(path, ':')) {
    std::string program = folder + "/podman";
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return input_error(
      "--container needs podman: an administrator installs it, as with `apt install podman crun "
      "catatonit uidmap` (docs/server-admin.md)");
}

Result<Words> gpu_devices(const std::filesystem::path& root, std::string_view cuda,
                          std::string_view rocr) {
  Words devices;
  std::error_code error;
  if (std::filesystem::exists(root / "dev/nvidiactl", error)) {
    for (const std::string& gpu : parts_of(cuda, ',')) {
      if (!has_specification(root, gpu))
        return run_error(
            "no CDI specification names the GPU {}: an administrator runs `nvidia-ctk cdi generate "
            "--device-name-strategy=uuid --output=/etc/cdi/nvidia.yaml`",
            gpu);
      devices.push_back("nvidia.com/gpu=" + gpu);
    }
  }
  const std::filesystem::path amd = root / "dev/kfd";
  if (!rocr.empty() && std::filesystem::exists(amd, error)) {
    devices.push_back(amd.string());
    for (std::string& node : render_nodes(root)) devices.push_back(std::move(node));
  }
  return devices;
}

Words podman_command(const ContainerAsk& ask, const ContainerPlace& place, const Words& command) {
  // Under systemd's manager, podman would leave the job's cgroup before it starts the container.
  Words words = {"podman", "--cgroup-manager=cgroupfs"};
  if (place.is_unified) words.emplace_back("--runtime=crun");  // runc always makes a group
  for (const char* option : {"run", "--rm", "--interactive"}) words.emplace_back(option);
  if (place.has_terminal) words.emplace_back("--tty");
  add_cgroups(words, place);
  // Without --init the command would be process 1 of the container, on which a signal without a handler has no effect.
  for (const char* option : {"--init", "--network=host", "--user=0:0", "--log-driver=none",
                             "--security-opt=label=disable"})
    words.emplace_back(option);
  // Programs look for the room that is left in /dev/shm, so it has a limit. The default of 64 MB is too little for data loaders.
  words.push_back(fmt::format("--shm-size={}", place.memory_bytes));
  words.push_back("--label=fairlead.job=" + value_of(place.environment, kJob));
  words.push_back(fmt::format("--label={}={}", kProcessLabel, place.process));
  add_folders(words, place);
  add_environment(words, place);
  for (const std::string& device : place.devices) words.push_back("--device=" + device);
  if (needs_groups(place)) words.emplace_back("--group-add=keep-groups");
  words.insert(words.end(), ask.options.begin(), ask.options.end());
  words.push_back(ask.image);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Command add_container(CLI::App& root, const Words& words) {
  CLI::App* app = root.add_subcommand(
      "container", "Run the command of a job in a container (run --container starts it)");
  const auto ask = std::make_shared<ContainerAsk>();
  app->add_option("IMAGE", ask->image, "image of the container")->required();
  app->add_option("--option", ask->options, "option of `podman run`; may be repeated")
      ->type_name("OPTION")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->footer(std::string(kHelp));
  return {app, [=, &words] { return run(*ask, words); }};
}

}  // namespace fairlead
