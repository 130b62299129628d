#include "fairlead/io/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <dlfcn.h>
#include <map>
#include <set>

namespace fairlead {
namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;  // NVML_ERROR_NOT_SUPPORTED
constexpr int kNoPermission = 4;  // NVML_ERROR_NO_PERMISSION
constexpr int kNotFound = 6;      // NVML_ERROR_NOT_FOUND
constexpr int kTooSmall = 7;      // NVML_ERROR_INSUFFICIENT_SIZE
constexpr int kGpuIsLost = 15;    // NVML_ERROR_GPU_IS_LOST
constexpr int kTries = 4;         // reads of a list that grows meanwhile
constexpr unsigned kMore = 16;

using Device = void*;

struct ProcessInfo {  // nvmlProcessInfo_v2_t
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct Memory {  // nvmlMemory_t
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

// The results of nvmlDeviceGetRemappedRows: rows of the memory that were replaced after ECC errors.
struct RemappedRows {
  unsigned corrected;
  unsigned uncorrected;
  unsigned pending;
  unsigned failed;
};

struct Utilization {  // nvmlUtilization_t
  unsigned gpu;
  unsigned memory;
};

constexpr unsigned long long kXid = 8;  // nvmlEventTypeXidCriticalError

struct EventData {  // nvmlEventData_t
  Device device;
  unsigned long long type;
  unsigned long long xid;
  unsigned gpu_instance;
  unsigned compute_instance;
};

// Errors of programs, which leave the GPU intact: a fault or a page fault of a kernel, two for the end of a program's work,
// one of video, and a context that was switched too late. Source: the list that NVIDIA's device plugin for Kubernetes
// ignores.
constexpr std::array<unsigned long long, 6> kXidsOfPrograms = {13, 31, 43, 45, 68, 109};

// Blocks all signals of this thread, and so of the threads that the library starts meanwhile. The driver's library keeps
// threads; one without the mask would take the daemon's SIGTERM, which then ends the daemon.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

// Finds a function of a loaded library; null and false: there is none.
template <class Function>
bool find_in(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// The critical errors that the driver reports.
class XidEvents {
 public:
  // REQUIRES: NVML is initialised. Without the functions, or if the driver has no events, there will be no errors.
  void open(void* library) {
    const bool has_events = find_in(library, "nvmlEventSetCreate", create_) &&
                            find_in(library, "nvmlEventSetFree", free_) &&
                            find_in(library, "nvmlDeviceRegisterEvents", register_) &&
                            find_in(library, "nvmlEventSetWait_v2", wait_);
    if (!has_events || create_(&events_) != kSuccess) events_ = nullptr;
  }
  void close() {
    if (events_ != nullptr) free_(events_);
  }
  // Returns the first error of the GPU since the first call for it; 0: none.
  unsigned long long first(Device device) {
    if (events_ == nullptr) return 0;
    if (watched_.insert(device).second) register_(device, kXid, events_);
    EventData event{};
    while (wait_(events_, &event, 0) == kSuccess) {
      const bool is_of_program =
          std::ranges::find(kXidsOfPrograms, event.xid) != kXidsOfPrograms.end();
      if (event.type == kXid && !is_of_program) xids_.try_emplace(event.device, event.xid);
    }
    const auto found = xids_.find(device);
    return found == xids_.end() ? 0 : found->second;
  }

 private:
  int (*create_)(void**) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*register_)(Device, unsigned long long, void*) = nullptr;
  int (*wait_)(void*, void*, unsigned) = nullptr;  // fills an EventData; milliseconds
  void* events_ = nullptr;
  std::set<Device> watched_;
  std::map<Device, unsigned long long> xids_;
};

// NVML loaded at run time; its handles and results are plain C.
class Library : public Nvml {
 public:
  explicit Library(void* library) : library_(library) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() override {
    xids_.close();
    if (is_up_) shutdown_();
    if (library_ != nullptr) ::dlclose(library_);
  }

  Status open(const std::string& path) {
    if (library_ == nullptr)
      return input_error("no NVIDIA driver is installed: {} does not exist", path);
    const bool is_whole = find("nvmlInit_v2", init_) && find("nvmlShutdown", shutdown_) &&
                          find("nvmlDeviceGetCount_v2", count_) &&
                          find("nvmlDeviceGetHandleByIndex_v2", by_index_) &&
                          find("nvmlDeviceGetHandleByUUID", by_uuid_) &&
                          find("nvmlDeviceGetName", name_) && find("nvmlDeviceGetUUID", uuid_);
    if (!is_whole) return input_error("{} is not a supported NVML", path);
    // Both return the same list; drivers before 510 have only the older one.
    find("nvmlDeviceGetComputeRunningProcesses_v3", processes_) ||
        find("nvmlDeviceGetComputeRunningProcesses_v2", processes_);
    find("nvmlDeviceGetUtilizationRates", utilization_);
    find("nvmlDeviceGetPowerUsage", power_);
    find("nvmlDeviceGetMemoryInfo", memory_);
    find("nvmlDeviceGetRemappedRows", remapped_);
    find("nvmlDeviceGetMinorNumber", minor_);
    if (const int status = init_(); status != kSuccess)
      return input_error("the NVIDIA driver does not answer (NVML error {})", status);
    is_up_ = true;
    xids_.open(library_);
    for (const Gpu& gpu : gpus()) (void)error(gpu.uuid);  // so that its events are seen from now on
    return {};
  }

  std::vector<Gpu> gpus() override {
    const BlockedSignals blocked;
    unsigned count = 0;
    if (count_(&count) != kSuccess) return {};
    std::vector<Gpu> gpus;
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      std::array<char, 96> name{};
      std::array<char, 96> uuid{};
      const bool is_told = by_index_(i, &device) == kSuccess &&
                           name_(device, name.data(), name.size()) == kSuccess &&
                           uuid_(device, uuid.data(), uuid.size()) == kSuccess;
      if (is_told) gpus.push_back({name.data(), uuid.data()});
    }
    return gpus;
  }

  std::optional<std::vector<pid_t>> processes(const std::string& uuid) override {
    Device device = nullptr;
    if (processes_ == nullptr || by_uuid_(uuid.c_str(), &device) != kSuccess) return std::nullopt;
    std::vector<ProcessInfo> list(kMore);
    for (int i = 0; i < kTries; ++i) {
      auto count = static_cast<unsigned>(list.size());
      const int status = processes_(device, &count, list.data());
      if (status == kTooSmall) {
        list.resize(count + kMore);
        continue;
      }
      if (status != kSuccess) return std::nullopt;
      std::vector<pid_t> pids;
      for (unsigned k = 0; k < count; ++k) pids.push_back(static_cast<pid_t>(list[k].pid));
      return pids;
    }
    return std::nullopt;
  }

  std::optional<int> busy_percent(const std::string& uuid) override {
    Device device = nullptr;
    Utilization rates{};
    if (utilization_ == nullptr || by_uuid_(uuid.c_str(), &device) != kSuccess ||
        utilization_(device, &rates) != kSuccess) {
      return std::nullopt;
    }
    return static_cast<int>(rates.gpu);
  }

  std::optional<int> power_w(const std::string& uuid) override {
    constexpr unsigned kMilliwatts = 1000;
    Device device = nullptr;
    unsigned milliwatts = 0;
    if (power_ == nullptr || by_uuid_(uuid.c_str(), &device) != kSuccess ||
        power_(device, &milliwatts) != kSuccess) {
      return std::nullopt;
    }
    return static_cast<int>(milliwatts / kMilliwatts);
  }

  std::optional<GpuMemory> memory(const std::string& uuid) override {
    constexpr unsigned long long kMb = 1'000'000;
    Device device = nullptr;
    Memory memory{};
    if (memory_ == nullptr || by_uuid_(uuid.c_str(), &device) != kSuccess ||
        memory_(device, &memory) != kSuccess) {
      return std::nullopt;
    }
    return GpuMemory{.total_mb = static_cast<std::uint32_t>(memory.total / kMb),
                     .used_mb = static_cast<std::uint32_t>((memory.used + kMb - 1) / kMb)};
  }

  std::optional<std::uint32_t> device_number(const std::string& uuid) override {
    Device device = nullptr;
    unsigned number = 0;
    if (minor_ == nullptr || by_uuid_(uuid.c_str(), &device) != kSuccess ||
        minor_(device, &number) != kSuccess) {
      return std::nullopt;
    }
    return number;
  }

  // The memory of a GPU cannot be read if the GPU has fallen off the bus, or must be reset.
  std::string error(const std::string& uuid) override {
    Device device = nullptr;
    if (const int status = by_uuid_(uuid.c_str(), &device); status != kSuccess) {
      return status == kNotFound || status == kGpuIsLost
                 ? "the NVIDIA driver no longer lists it"
                 : fmt::format("the NVIDIA driver has an error for it (NVML error {})", status);
    }
    Memory memory{};
    const int status = memory_ == nullptr ? kSuccess : memory_(device, &memory);
    if (status != kSuccess && status != kNotSupported && status != kNoPermission)
      return fmt::format("the NVIDIA driver has an error for it (NVML error {})", status);
    RemappedRows rows{};
    const bool has_rows =
        remapped_ != nullptr && remapped_(device, &rows.corrected, &rows.uncorrected, &rows.pending,
                                          &rows.failed) == kSuccess;
    if (has_rows && rows.failed != 0)
      return "its memory has errors that the driver could not repair";
    const unsigned long long xid = xids_.first(device);
    return xid != 0 ? fmt::format("the NVIDIA driver has reported Xid {} for it", xid) : "";
  }

 private:
  template <class Function>
  bool find(const char* name, Function& function) {
    return find_in(library_, name, function);
  }

  void* library_;
  bool is_up_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*by_index_)(unsigned, Device*) = nullptr;
  int (*by_uuid_)(const char*, Device*) = nullptr;
  int (*name_)(Device, char*, unsigned) = nullptr;
  int (*uuid_)(Device, char*, unsigned) = nullptr;
  int (*processes_)(Device, unsigned*, void*) = nullptr;  // fills ProcessInfo rows; may be missing
  int (*utilization_)(Device, void*) = nullptr;           // fills a Utilization; may be missing
  int (*power_)(Device, unsigned*) = nullptr;             // may be missing
  int (*memory_)(Device, void*) = nullptr;                // fills a Memory; may be missing
  int (*minor_)(Device, unsigned*) = nullptr;             // may be missing
  // Drivers before 450 have no such function.
  int (*remapped_)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  XidEvents xids_;
};

}  // namespace

Result<std::unique_ptr<Nvml>> Nvml::load(const std::string& path) {
  const BlockedSignals blocked;
  auto library = std::make_unique<Library>(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  FL_TRY(library->open(path));
  return library;
}

}  // namespace fairlead
