// A library for tests that replaces ROCm SMI: plain C, loaded by name. FAIRLEAD_TESTING_ROCM_SMI names the file with its
// answers, which is read at each call:
//
//   gpu UNIQUE_ID BUSY_PERCENT TOTAL USED MICROWATTS NAME...   a GPU, in order; memory in bytes. The first one is
//                                                              /dev/dri/renderD128. Id 0: it has none
//   process PID GPU...                                         that computes on the GPUs of these numbers
//   fail FUNCTION CODE                                         the function returns that error
//
// Without the file, rsmi_init fails.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t kInvalid = 1;
constexpr std::uint32_t kNotSupported = 2;
constexpr std::uint32_t kInitError = 8;
constexpr std::uint32_t kNotFound = 10;
constexpr std::uint32_t kTooSmall = 11;
constexpr std::uint32_t kFirstRender = 128;

struct Gpu {
  std::uint64_t id = 0, total = 0, used = 0, microwatts = 0;
  std::uint32_t busy = 0;
  std::string name;
};

struct Process {
  std::uint32_t pid = 0;
  std::vector<std::uint32_t> gpus;
};

struct Driver {
  std::vector<Gpu> gpus;
  std::vector<Process> processes;
  std::map<std::string, std::uint32_t> failures;
  bool is_there = false;
};

Driver driver() {
  Driver now;
  const char* path = std::getenv("FAIRLEAD_TESTING_ROCM_SMI");
  std::ifstream file(path == nullptr ? "" : path);
  now.is_there = file.is_open();
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "gpu") {
      Gpu& gpu = now.gpus.emplace_back();
      words >> gpu.id >> gpu.busy >> gpu.total >> gpu.used >> gpu.microwatts >> std::ws;
      std::getline(words, gpu.name);
    } else if (what == "process") {
      Process& process = now.processes.emplace_back();
      words >> process.pid;
      for (std::uint32_t gpu = 0; words >> gpu;) process.gpus.push_back(gpu);
    } else if (what == "fail") {
      std::string function;
      words >> function;
      words >> now.failures[function];
    }
  }
  return now;
}

// Gives `value` of a GPU, unless `function` fails.
template <class Value>
std::uint32_t give(const char* function, std::uint32_t gpu, Value* into,
                   Value (*value)(const Gpu&, std::uint32_t)) {
  const Driver now = driver();
  if (const auto failure = now.failures.find(function); failure != now.failures.end())
    return failure->second;
  if (gpu >= now.gpus.size()) return kInvalid;
  *into = value(now.gpus[gpu], gpu);
  return 0;
}

struct ProcessInfo {
  std::uint32_t pid;
  std::uint32_t pasid;
  std::uint64_t vram;
  std::uint64_t sdma;
  std::uint32_t occupancy;
};

}  // namespace

// Named by AMD. NOLINTBEGIN(readability-identifier-naming)
extern "C" {

std::uint32_t rsmi_init(std::uint64_t) { return driver().is_there ? 0 : kInitError; }
std::uint32_t rsmi_shut_down() { return 0; }

std::uint32_t rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(driver().gpus.size());
  return 0;
}

std::uint32_t rsmi_dev_name_get(std::uint32_t gpu, char* name, std::size_t size) {
  const Driver now = driver();
  if (gpu >= now.gpus.size() || now.gpus[gpu].name.size() >= size) return kInvalid;
  std::memcpy(name, now.gpus[gpu].name.c_str(), now.gpus[gpu].name.size() + 1);
  return 0;
}

std::uint32_t rsmi_dev_unique_id_get(std::uint32_t gpu, std::uint64_t* id) {
  const Driver now = driver();
  if (gpu >= now.gpus.size()) return kInvalid;
  if (now.gpus[gpu].id == 0) return kNotSupported;
  *id = now.gpus[gpu].id;
  return 0;
}

std::uint32_t rsmi_dev_busy_percent_get(std::uint32_t gpu, std::uint32_t* percent) {
  return give<std::uint32_t>("rsmi_dev_busy_percent_get", gpu, percent,
                             [](const Gpu& of, std::uint32_t) { return of.busy; });
}

std::uint32_t rsmi_dev_power_ave_get(std::uint32_t gpu, std::uint32_t, std::uint64_t* microwatts) {
  return give<std::uint64_t>("rsmi_dev_power_ave_get", gpu, microwatts,
                             [](const Gpu& of, std::uint32_t) { return of.microwatts; });
}

std::uint32_t rsmi_dev_memory_total_get(std::uint32_t gpu, std::uint32_t, std::uint64_t* bytes) {
  return give<std::uint64_t>("rsmi_dev_memory_total_get", gpu, bytes,
                             [](const Gpu& of, std::uint32_t) { return of.total; });
}

std::uint32_t rsmi_dev_memory_usage_get(std::uint32_t gpu, std::uint32_t, std::uint64_t* bytes) {
  return give<std::uint64_t>("rsmi_dev_memory_usage_get", gpu, bytes,
                             [](const Gpu& of, std::uint32_t) { return of.used; });
}

std::uint32_t rsmi_dev_drm_render_minor_get(std::uint32_t gpu, std::uint32_t* number) {
  return give<std::uint32_t>("rsmi_dev_drm_render_minor_get", gpu, number,
                             [](const Gpu&, std::uint32_t which) { return kFirstRender + which; });
}

std::uint32_t rsmi_compute_process_info_get(void* list, std::uint32_t* count) {
  const Driver now = driver();
  const std::uint32_t room = *count;
  *count = static_cast<std::uint32_t>(now.processes.size());
  if (list == nullptr) return 0;
  if (room < *count) return kTooSmall;
  for (std::size_t i = 0; i < now.processes.size(); ++i)
    static_cast<ProcessInfo*>(list)[i] = {now.processes[i].pid, 0, 1 << 20, 0, 0};
  return 0;
}

std::uint32_t rsmi_compute_process_gpus_get(std::uint32_t pid, std::uint32_t* gpus,
                                            std::uint32_t* count) {
  for (const Process& process : driver().processes) {
    if (process.pid != pid) continue;
    if (*count < process.gpus.size()) return kTooSmall;
    *count = static_cast<std::uint32_t>(process.gpus.size());
    std::copy(process.gpus.begin(), process.gpus.end(), gpus);
    return 0;
  }
  return kNotFound;
}
}
// NOLINTEND(readability-identifier-naming)
