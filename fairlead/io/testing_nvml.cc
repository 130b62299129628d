// A library for tests that replaces NVML: plain C, loaded by name. FAIRLEAD_TESTING_NVML names the file with its
// answers, which is read at each call:
//
//   gpu UUID BUSY_PERCENT NAME...   a GPU, in order; the first one is /dev/nvidia0
//   mig UUID GPU_UUID GPU_INSTANCE COMPUTE_INSTANCE NAME...   an instance of the GPU, which is thus divided; in order
//   process UUID PID                that computes on it
//   memory UUID TOTAL USED          of the GPU, in bytes; without, 16 GiB of which none is used
//   power UUID MILLIWATTS           that it draws; without, none
//   remap UUID                      a row of its memory could not be remapped
//   xid UUID CODE [GPU_INSTANCE]    an event, which a set of events returns once
//   fail FUNCTION CODE [UUID]       the function returns that error, for that GPU or for all
//
// Without the file, nvmlInit_v2 fails as if the driver were not loaded. As NVIDIA's library does, it starts a thread that
// stays.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr int kInvalidArgument = 2;
constexpr int kNotFound = 6;
constexpr int kTooSmall = 7;
constexpr int kDriverNotLoaded = 9;
constexpr int kTimeout = 10;
constexpr unsigned long long kXid = 8;

struct Gpu {
  std::string uuid, name;
  unsigned busy = 0;
  bool has_bad_memory = false;
  unsigned long long memory = 1ULL << 34;
  unsigned long long used_memory = 0;
  unsigned milliwatts = 0;
  std::vector<unsigned> pids;
  std::string whole;  // UUID of the GPU of an instance
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

struct Event {
  std::string uuid;
  unsigned long long xid = 0;
  unsigned gpu_instance = ~0U;
};

struct Driver {
  std::vector<Gpu> gpus;  // and instances
  struct Failure {
    std::string function, uuid;
    int code = 0;
  };
  std::vector<Failure> failures;
  std::vector<Event> events;
  bool is_there = false;

  int failure_of(const std::string& function, const std::string& uuid = {}) const {
    if (!is_there) return kDriverNotLoaded;
    for (const Failure& failure : failures)
      if (failure.function == function && (failure.uuid.empty() || failure.uuid == uuid))
        return failure.code;
    return 0;
  }
};

// Adds a line about the GPU.
void describe(const std::string& what, std::istream& words, Gpu& gpu) {
  if (what == "process") words >> gpu.pids.emplace_back();
  if (what == "memory") words >> gpu.memory >> gpu.used_memory;
  if (what == "power") words >> gpu.milliwatts;
  if (what == "remap") gpu.has_bad_memory = true;
}

Driver driver() {
  Driver now;
  const char* path = std::getenv("FAIRLEAD_TESTING_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  now.is_there = file.is_open();
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what, first;
    words >> what >> first;
    if (what == "gpu") {
      Gpu gpu{.uuid = first};
      words >> gpu.busy >> std::ws;
      std::getline(words, gpu.name);
      now.gpus.push_back(gpu);
    } else if (what == "mig") {
      Gpu gpu{.uuid = first};
      words >> gpu.whole >> gpu.gpu_instance >> gpu.compute_instance >> std::ws;
      std::getline(words, gpu.name);
      now.gpus.push_back(gpu);
    } else if (what == "process" || what == "memory" || what == "power" || what == "remap") {
      for (Gpu& gpu : now.gpus)
        if (gpu.uuid == first) describe(what, words, gpu);
    } else if (what == "xid") {
      Event& event = now.events.emplace_back(Event{.uuid = first});
      words >> event.xid;
      if (!(words >> event.gpu_instance)) event.gpu_instance = ~0U;
    } else if (what == "fail") {
      Driver::Failure failure{.function = first};
      words >> failure.code >> failure.uuid;
      now.failures.push_back(failure);
    }
  }
  return now;
}

// A handle is the number of the GPU, from one on.
void* handle_of(std::size_t index) {
  static char handles[256];
  return &handles[index + 1];
}
const Gpu* gpu_of(const Driver& now, void* handle) {
  for (std::size_t i = 0; i < now.gpus.size(); ++i)
    if (handle_of(i) == handle) return &now.gpus[i];
  return nullptr;
}

bool is_whole(const Gpu& gpu) { return gpu.whole.empty(); }

// Gives the handle of the one at `index` among the GPUs and instances that `is_it` selects.
template <class IsIt>
int nth(const Driver& now, unsigned index, const IsIt& is_it, void** device) {
  for (std::size_t i = 0; i < now.gpus.size(); ++i) {
    if (!is_it(now.gpus[i]) || index-- > 0) continue;
    *device = handle_of(i);
    return 0;
  }
  return kNotFound;
}

int copy(const std::string& text, char* into, unsigned size) {
  if (text.size() >= size) return kTooSmall;
  std::memcpy(into, text.c_str(), text.size() + 1);
  return 0;
}

struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct EventData {
  void* device;
  unsigned long long type;
  unsigned long long xid;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct EventSet {
  std::size_t next = 0;  // in the file
  std::set<void*> devices;
};

}  // namespace

// Named by NVIDIA. NOLINTBEGIN(readability-identifier-naming)
extern "C" {

int nvmlInit_v2() {
  static const bool has_thread = [] {
    std::promise<void> runs;
    std::thread([&runs] {
      runs.set_value();
      while (true) ::pause();
    }).detach();
    runs.get_future().wait();
    return true;
  }();
  return has_thread ? driver().failure_of("nvmlInit_v2") : kDriverNotLoaded;
}
int nvmlShutdown() { return 0; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  const Driver now = driver();
  *count = static_cast<unsigned>(std::count_if(now.gpus.begin(), now.gpus.end(), is_whole));
  return now.failure_of("nvmlDeviceGetCount_v2");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  return nth(driver(), index, is_whole, device);
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, device);
  if (gpu == nullptr) return kInvalidArgument;
  *current = *pending = std::any_of(now.gpus.begin(), now.gpus.end(),
                                    [&](const Gpu& one) { return one.whole == gpu->uuid; })
                            ? 1
                            : 0;
  return now.failure_of("nvmlDeviceGetMigMode", gpu->uuid);
}

int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 7;
  return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** instance) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, device);
  if (gpu == nullptr) return kInvalidArgument;
  return nth(
      now, index, [&](const Gpu& one) { return one.whole == gpu->uuid; }, instance);
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* instance, void** device) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, instance);
  if (gpu == nullptr || is_whole(*gpu)) return kInvalidArgument;
  return nth(
      now, 0, [&](const Gpu& one) { return one.uuid == gpu->whole; }, device);
}

int nvmlDeviceGetGpuInstanceId(void* instance, unsigned* id) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, instance);
  if (gpu == nullptr || is_whole(*gpu)) return kInvalidArgument;
  *id = gpu->gpu_instance;
  return 0;
}

int nvmlDeviceGetComputeInstanceId(void* instance, unsigned* id) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, instance);
  if (gpu == nullptr || is_whole(*gpu)) return kInvalidArgument;
  *id = gpu->compute_instance;
  return 0;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  const Driver now = driver();
  for (std::size_t i = 0; i < now.gpus.size(); ++i) {
    if (now.gpus[i].uuid != uuid) continue;
    *device = handle_of(i);
    return now.failure_of("nvmlDeviceGetHandleByUUID", uuid);
  }
  return kNotFound;
}

int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, device);
  return gpu == nullptr ? kInvalidArgument : copy(gpu->name, name, size);
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, device);
  return gpu == nullptr ? kInvalidArgument : copy(gpu->uuid, uuid, size);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* list) {
  auto* const infos = static_cast<ProcessInfo*>(list);
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, device);
  if (gpu == nullptr) return kInvalidArgument;
  if (const int failure = now.failure_of("nvmlDeviceGetComputeRunningProcesses_v3"); failure != 0)
    return failure;
  const unsigned room = *count;
  *count = static_cast<unsigned>(gpu->pids.size());
  if (room < *count) return kTooSmall;
  for (std::size_t i = 0; i < gpu->pids.size(); ++i) infos[i] = {gpu->pids[i], 1 << 20, ~0U, ~0U};
  return 0;
}

int nvmlDeviceGetMemoryInfo(void* device, void* memory) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, device);
  if (gpu == nullptr) return kInvalidArgument;
  *static_cast<Memory*>(memory) = {gpu->memory, gpu->memory - gpu->used_memory, gpu->used_memory};
  return now.failure_of("nvmlDeviceGetMemoryInfo", gpu->uuid);
}

int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, device);
  if (gpu == nullptr) return kInvalidArgument;
  *corrected = *uncorrected = *pending = 0;
  *failed = gpu->has_bad_memory ? 1 : 0;
  return now.failure_of("nvmlDeviceGetRemappedRows", gpu->uuid);
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, device);
  if (gpu == nullptr) return kInvalidArgument;
  *milliwatts = gpu->milliwatts;
  return now.failure_of("nvmlDeviceGetPowerUsage", gpu->uuid);
}

int nvmlDeviceGetMinorNumber(void* device, unsigned* number) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, device);
  if (gpu == nullptr) return kInvalidArgument;
  *number = static_cast<unsigned>(gpu - now.gpus.data());
  return now.failure_of("nvmlDeviceGetMinorNumber", gpu->uuid);
}

int nvmlEventSetCreate(void** set) {
  const int failure = driver().failure_of("nvmlEventSetCreate");
  if (failure == 0) *set = new EventSet;
  return failure;
}

int nvmlEventSetFree(void* set) {
  delete static_cast<EventSet*>(set);
  return 0;
}

int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  if (types != kXid) return kInvalidArgument;
  static_cast<EventSet*>(set)->devices.insert(device);
  return 0;
}

int nvmlEventSetWait_v2(void* set, void* data, unsigned /*timeout_ms*/) {
  const Driver now = driver();
  auto& events = *static_cast<EventSet*>(set);
  while (events.next < now.events.size()) {
    const Event& event = now.events[events.next++];
    for (void* device : events.devices) {
      const Gpu* const gpu = gpu_of(now, device);
      if (gpu == nullptr || gpu->uuid != event.uuid) continue;
      *static_cast<EventData*>(data) = {device, kXid, event.xid, event.gpu_instance, ~0U};
      return 0;
    }
  }
  return kTimeout;
}

int nvmlDeviceGetUtilizationRates(void* device, void* rates) {
  const Driver now = driver();
  const Gpu* gpu = gpu_of(now, device);
  if (gpu == nullptr) return kInvalidArgument;
  *static_cast<Utilization*>(rates) = {gpu->busy, 0};
  return now.failure_of("nvmlDeviceGetUtilizationRates");
}
}
// NOLINTEND(readability-identifier-naming)
