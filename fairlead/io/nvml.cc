#include "fairlead/io/nvml.h"

#include "fairlead/io/driver_library.h"
#include "fairlead/shim/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <utility>

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
constexpr unsigned kAllInstances = ~0U;  // an event with it is of the whole GPU

// Whole GPUs have this major number (Documentation/admin-guide/devices.txt of Linux). Instances have one that the kernel
// chooses.
constexpr std::uint32_t kMajorNumber = 195;
constexpr const char* kCapabilities = "nvidia-caps";
constexpr const char* kMigDevices = "/proc/driver/nvidia-caps/mig-minors";

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

// The critical errors that the driver reports.
class XidEvents {
 public:
  // REQUIRES: NVML is initialised. Without the functions, or if the driver has no events, there will be no errors.
  void open(const DriverLibrary& library) {
    const bool has_events = library.find("nvmlEventSetCreate", create_) &&
                            library.find("nvmlEventSetFree", free_) &&
                            library.find("nvmlDeviceRegisterEvents", register_) &&
                            library.find("nvmlEventSetWait_v2", wait_);
    if (!has_events || create_(&events_) != kSuccess) events_ = nullptr;
  }
  void close() {
    if (events_ != nullptr) free_(events_);
  }
  // Returns the first error of the GPU, or of its instance, since the first call for the GPU; 0: none.
  unsigned long long first(Device device, unsigned instance) {
    if (events_ == nullptr) return 0;
    if (watched_.insert(device).second) register_(device, kXid, events_);
    EventData event{};
    while (wait_(events_, &event, 0) == kSuccess) {
      const bool is_of_program =
          std::ranges::find(kXidsOfPrograms, event.xid) != kXidsOfPrograms.end();
      if (event.type == kXid && !is_of_program)
        xids_.try_emplace({event.device, event.gpu_instance}, event.xid);
    }
    for (const unsigned of : {kAllInstances, instance}) {
      if (const auto found = xids_.find({device, of}); found != xids_.end()) return found->second;
    }
    return 0;
  }

 private:
  int (*create_)(void**) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*register_)(Device, unsigned long long, void*) = nullptr;
  int (*wait_)(void*, void*, unsigned) = nullptr;  // fills an EventData; milliseconds
  void* events_ = nullptr;
  std::set<Device> watched_;
  std::map<std::pair<Device, unsigned>, unsigned long long> xids_;
};

// Returns the number of a kind of character devices: " 238 nvidia-caps" of /proc/devices. Nothing: there is no such kind.
std::optional<std::uint32_t> major_number(const std::string& kind) {
  std::istringstream lines(shim::read_file("/proc/devices").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::uint32_t number = 0;
    std::string name;
    if (words >> number >> name && name == kind) return number;
  }
  return std::nullopt;
}

// The instances of GPUs that are divided (MIG).
class Instances {
 public:
  // Without the functions, no GPU is divided.
  void open(const DriverLibrary& library) {
    is_open_ = library.find("nvmlDeviceGetMigMode", mode_) &&
               library.find("nvmlDeviceGetMaxMigDeviceCount", count_) &&
               library.find("nvmlDeviceGetMigDeviceHandleByIndex", by_index_) &&
               library.find("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", whole_) &&
               library.find("nvmlDeviceGetGpuInstanceId", gpu_instance_) &&
               library.find("nvmlDeviceGetComputeInstanceId", compute_instance_);
  }
  // Returns whether the GPU is divided.
  bool divide(Device gpu) const {
    unsigned mode = 0;
    unsigned pending = 0;
    return is_open_ && mode_(gpu, &mode, &pending) == kSuccess && mode == 1;
  }
  // Returns the instances of a divided GPU. Their numbers have gaps.
  std::vector<Device> of(Device gpu) const {
    std::vector<Device> all;
    unsigned count = 0;
    if (count_(gpu, &count) != kSuccess) return all;
    for (unsigned i = 0; i < count; ++i) {
      Device instance = nullptr;
      if (by_index_(gpu, i, &instance) == kSuccess) all.push_back(instance);
    }
    return all;
  }
  // Returns the GPU of an instance; a whole GPU is its own.
  Device whole(Device device) const {
    Device gpu = nullptr;
    return is_open_ && whole_(device, &gpu) == kSuccess ? gpu : device;
  }
  unsigned gpu_instance(Device instance) const {
    unsigned number = kAllInstances;
    gpu_instance_(instance, &number);
    return number;
  }
  // Returns the device of an instance of /dev/nvidia`gpu`.
  std::optional<DeviceNumber> device(Device instance, unsigned gpu) const {
    unsigned number = 0;
    if (compute_instance_(instance, &number) != kSuccess) return std::nullopt;
    const std::optional<std::uint32_t> major = major_number(kCapabilities);
    const std::optional<std::uint32_t> minor =
        mig_device(shim::read_file(kMigDevices).value_or(""), gpu, gpu_instance(instance), number);
    if (!major || !minor) return std::nullopt;
    return DeviceNumber{*major, *minor};
  }

 private:
  bool is_open_ = false;
  int (*mode_)(Device, unsigned*, unsigned*) = nullptr;
  int (*count_)(Device, unsigned*) = nullptr;
  int (*by_index_)(Device, unsigned, Device*) = nullptr;
  int (*whole_)(Device, Device*) = nullptr;
  int (*gpu_instance_)(Device, unsigned*) = nullptr;
  int (*compute_instance_)(Device, unsigned*) = nullptr;
};

// NVML loaded at run time; its handles and results are plain C.
class Nvml : public GpuDriver {
 public:
  explicit Nvml(std::span<const std::string> names) : library_(names) {}
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() override {
    xids_.close();
    if (is_up_) shutdown_();
  }

  Status open() {
    const std::string& path = library_.name();
    if (!library_.is_open())
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
    instances_.open(library_);
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
      if (by_index_(i, &device) != kSuccess) continue;
      if (!instances_.divide(device)) {
        add(device, gpus);
        continue;
      }
      for (Device instance : instances_.of(device)) add(instance, gpus);
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

  std::optional<DeviceNumber> device(const std::string& uuid) override {
    Device device = nullptr;
    unsigned number = 0;
    if (minor_ == nullptr || by_uuid_(uuid.c_str(), &device) != kSuccess) return std::nullopt;
    const Device whole = instances_.whole(device);
    if (minor_(whole, &number) != kSuccess) return std::nullopt;
    return whole == device ? DeviceNumber{kMajorNumber, number} : instances_.device(device, number);
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
    const Device whole = instances_.whole(device);
    const bool has_rows =
        remapped_ != nullptr && remapped_(whole, &rows.corrected, &rows.uncorrected, &rows.pending,
                                          &rows.failed) == kSuccess;
    if (has_rows && rows.failed != 0)
      return "its memory has errors that the driver could not repair";
    const unsigned instance = whole == device ? kAllInstances : instances_.gpu_instance(device);
    const unsigned long long xid = xids_.first(whole, instance);
    return xid != 0 ? fmt::format("the NVIDIA driver has reported Xid {} for it", xid) : "";
  }

  const char* visible_devices() const override { return "CUDA_VISIBLE_DEVICES"; }

 private:
  template <class Function>
  bool find(const char* name, Function& function) const {
    return library_.find(name, function);
  }

  // Adds the GPU or instance if it answers.
  void add(Device device, std::vector<Gpu>& gpus) const {
    std::array<char, 96> name{};
    std::array<char, 96> uuid{};
    const bool answers = name_(device, name.data(), name.size()) == kSuccess &&
                         uuid_(device, uuid.data(), uuid.size()) == kSuccess;
    if (answers) gpus.push_back({name.data(), uuid.data()});
  }
  DriverLibrary library_;
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
  Instances instances_;
  XidEvents xids_;
};

}  // namespace

Result<std::unique_ptr<GpuDriver>> load_nvml(std::span<const std::string> libraries) {
  const BlockedSignals blocked;
  auto driver = std::make_unique<Nvml>(libraries);
  FL_TRY(driver->open());
  return driver;
}

std::optional<std::uint32_t> mig_device(const std::string& table, std::uint32_t gpu,
                                        std::uint32_t gpu_instance,
                                        std::uint32_t compute_instance) {
  const std::string wanted =
      fmt::format("gpu{}/gi{}/ci{}/access", gpu, gpu_instance, compute_instance);
  std::istringstream words(table);
  std::string name;
  std::uint32_t number = 0;
  while (words >> name >> number) {
    if (name == wanted) return number;
  }
  return std::nullopt;
}

}  // namespace fairlead
