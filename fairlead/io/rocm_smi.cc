#include "fairlead/io/rocm_smi.h"

#include "fairlead/io/driver_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace fairlead {
namespace {

constexpr std::uint32_t kSuccess = 0;
constexpr std::uint32_t kNotSupported = 2;  // RSMI_STATUS_NOT_SUPPORTED
constexpr std::uint32_t kNoPermission = 4;  // RSMI_STATUS_PERMISSION
constexpr std::uint32_t kVram = 0;          // RSMI_MEM_TYPE_VRAM
constexpr std::uint32_t kRenderMajor =
    226;  // /dev/dri/renderD128 (Documentation/admin-guide/devices.txt of Linux)

struct ProcessInfo {  // rsmi_process_info_t
  std::uint32_t pid;
  std::uint32_t pasid;
  std::uint64_t vram;
  std::uint64_t sdma;
  std::uint32_t occupancy;
};

class RocmSmi : public GpuDriver {
 public:
  explicit RocmSmi(std::span<const std::string> names) : library_(names) {}
  RocmSmi(const RocmSmi&) = delete;
  RocmSmi& operator=(const RocmSmi&) = delete;
  ~RocmSmi() override {
    if (is_up_) shutdown_();
  }

  Status open() {
    const std::string& name = library_.name();
    if (!library_.is_open())
      return input_error("no AMD driver is installed: {} does not exist", name);
    const bool is_whole = library_.find("rsmi_init", init_) &&
                          library_.find("rsmi_shut_down", shutdown_) &&
                          library_.find("rsmi_num_monitor_devices", count_) &&
                          library_.find("rsmi_dev_name_get", name_) &&
                          library_.find("rsmi_dev_unique_id_get", unique_id_);
    if (!is_whole) return input_error("{} is not a supported ROCm SMI", name);
    library_.find("rsmi_dev_busy_percent_get", busy_);
    library_.find("rsmi_dev_power_ave_get", power_);
    library_.find("rsmi_dev_memory_total_get", memory_total_);
    library_.find("rsmi_dev_memory_usage_get", memory_used_);
    library_.find("rsmi_dev_drm_render_minor_get", render_minor_);
    library_.find("rsmi_compute_process_info_get", processes_);
    library_.find("rsmi_compute_process_gpus_get", process_gpus_);
    if (const std::uint32_t status = init_(0); status != kSuccess)
      return input_error("the AMD driver does not answer (ROCm SMI error {})", status);
    is_up_ = true;
    return {};
  }

  // A GPU of an old kind has no unique id, and its number names it.
  std::vector<Gpu> gpus() override {
    const BlockedSignals blocked;
    std::uint32_t count = 0;
    if (count_(&count) != kSuccess) return {};
    std::vector<Gpu> gpus;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::array<char, 128> name{};
      if (name_(i, name.data(), name.size()) == kSuccess) gpus.push_back({name.data(), uuid(i)});
    }
    return gpus;
  }

  std::optional<std::vector<pid_t>> processes(const std::string& uuid) override {
    const std::optional<std::uint32_t> gpu = number_of(uuid);
    std::uint32_t count = 0;
    if (!gpu || processes_ == nullptr || process_gpus_ == nullptr ||
        processes_(nullptr, &count) != kSuccess)
      return std::nullopt;
    std::vector<ProcessInfo> list(count);
    if (count > 0 && processes_(list.data(), &count) != kSuccess) return std::nullopt;
    list.resize(std::min<std::size_t>(count, list.size()));
    std::vector<pid_t> pids;
    for (const ProcessInfo& process : list) {
      std::array<std::uint32_t, 64> gpus{};
      std::uint32_t used = gpus.size();
      if (process_gpus_(process.pid, gpus.data(), &used) != kSuccess) continue;  // it has ended
      const auto listed = std::span(gpus).first(std::min<std::size_t>(used, gpus.size()));
      if (std::ranges::find(listed, *gpu) != listed.end())
        pids.push_back(static_cast<pid_t>(process.pid));
    }
    return pids;
  }

  std::optional<int> busy_percent(const std::string& uuid) override {
    const std::optional<std::uint32_t> gpu = number_of(uuid);
    std::uint32_t percent = 0;
    if (!gpu || busy_ == nullptr || busy_(*gpu, &percent) != kSuccess) return std::nullopt;
    return static_cast<int>(percent);
  }

  std::optional<int> power_w(const std::string& uuid) override {
    constexpr std::uint64_t kMicrowatts = 1'000'000;
    const std::optional<std::uint32_t> gpu = number_of(uuid);
    std::uint64_t microwatts = 0;
    if (!gpu || power_ == nullptr || power_(*gpu, 0, &microwatts) != kSuccess) return std::nullopt;
    return static_cast<int>(microwatts / kMicrowatts);
  }

  std::optional<GpuMemory> memory(const std::string& uuid) override {
    constexpr std::uint64_t kMb = 1'000'000;
    const std::optional<std::uint32_t> gpu = number_of(uuid);
    std::uint64_t total = 0;
    std::uint64_t used = 0;
    if (!gpu || memory_total_ == nullptr || memory_used_ == nullptr ||
        memory_total_(*gpu, kVram, &total) != kSuccess ||
        memory_used_(*gpu, kVram, &used) != kSuccess) {
      return std::nullopt;
    }
    return GpuMemory{.total_mb = static_cast<std::uint32_t>(total / kMb),
                     .used_mb = static_cast<std::uint32_t>((used + kMb - 1) / kMb)};
  }

  // Work goes through /dev/kfd, which all GPUs share, and which looks at the rights to a GPU's render device.
  std::optional<DeviceNumber> device(const std::string& uuid) override {
    const std::optional<std::uint32_t> gpu = number_of(uuid);
    std::uint32_t number = 0;
    if (!gpu || render_minor_ == nullptr || render_minor_(*gpu, &number) != kSuccess)
      return std::nullopt;
    return DeviceNumber{kRenderMajor, number};
  }

  std::string error(const std::string& uuid) override {
    const std::optional<std::uint32_t> gpu = number_of(uuid);
    if (!gpu) return "the AMD driver no longer lists it";
    std::uint64_t used = 0;
    const std::uint32_t status =
        memory_used_ == nullptr ? kSuccess : memory_used_(*gpu, kVram, &used);
    if (status == kSuccess || status == kNotSupported || status == kNoPermission) return "";
    return fmt::format("the AMD driver has an error for it (ROCm SMI error {})", status);
  }

  const char* visible_devices() const override { return "ROCR_VISIBLE_DEVICES"; }

 private:
  // As the ROCm runtime forms it.
  std::string uuid(std::uint32_t gpu) const {
    std::uint64_t id = 0;
    const bool has_id = unique_id_(gpu, &id) == kSuccess && id != 0;
    return has_id ? fmt::format("GPU-{:016x}", id) : fmt::format("{}", gpu);
  }

  std::optional<std::uint32_t> number_of(const std::string& uuid) const {
    std::uint32_t count = 0;
    if (count_(&count) != kSuccess) return std::nullopt;
    for (std::uint32_t i = 0; i < count; ++i)
      if (this->uuid(i) == uuid) return i;
    return std::nullopt;
  }

  DriverLibrary library_;
  bool is_up_ = false;
  std::uint32_t (*init_)(std::uint64_t) = nullptr;
  std::uint32_t (*shutdown_)() = nullptr;
  std::uint32_t (*count_)(std::uint32_t*) = nullptr;
  std::uint32_t (*name_)(std::uint32_t, char*, std::size_t) = nullptr;
  std::uint32_t (*unique_id_)(std::uint32_t, std::uint64_t*) = nullptr;
  // The following may be missing.
  std::uint32_t (*busy_)(std::uint32_t, std::uint32_t*) = nullptr;
  std::uint32_t (*power_)(std::uint32_t, std::uint32_t, std::uint64_t*) = nullptr;
  std::uint32_t (*memory_total_)(std::uint32_t, std::uint32_t, std::uint64_t*) = nullptr;
  std::uint32_t (*memory_used_)(std::uint32_t, std::uint32_t, std::uint64_t*) = nullptr;
  std::uint32_t (*render_minor_)(std::uint32_t, std::uint32_t*) = nullptr;
  std::uint32_t (*processes_)(void*, std::uint32_t*) = nullptr;  // fills ProcessInfo rows
  std::uint32_t (*process_gpus_)(std::uint32_t, std::uint32_t*, std::uint32_t*) = nullptr;
};

}  // namespace

Result<std::unique_ptr<GpuDriver>> load_rocm_smi(std::span<const std::string> libraries) {
  const BlockedSignals blocked;
  auto driver = std::make_unique<RocmSmi>(libraries);
  FL_TRY(driver->open());
  return driver;
}

}  // namespace fairlead
