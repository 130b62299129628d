#include "fairlead/local/machine.h"

#include "fairlead/base/parse.h"

#include <algorithm>
#include <cctype>
#include <dlfcn.h>
#include <memory>
#include <optional>

namespace fairlead {
namespace {

struct Gpu {
  std::string type;
  std::string name;
};

// GPUs of one type are one node, or several where they are too many for one.
Result<Machine> machine_of(std::string name, const std::vector<Gpu>& gpus) {
  std::vector<NodeSpec> nodes;
  Machine machine;
  std::vector<std::string> types;
  for (const Gpu& gpu : gpus) {
    if (std::ranges::find(types, gpu.type) == types.end()) types.push_back(gpu.type);
  }
  for (const std::string& type : types) {
    std::uint32_t count = 0;
    int parts = 0;
    for (const Gpu& gpu : gpus) {
      if (gpu.type != type) continue;
      if (count == 0 || count == kNodeGpusMax) {
        count = 0;
        nodes.push_back({.name = parts == 0 ? type : fmt::format("{}-{}", type, parts),
                         .gpu_type = type,
                         .host = "this"});
        ++parts;
      }
      nodes.back().gpus = ++count;
      machine.gpu_names.push_back(gpu.name);
    }
    machine.speed.push_back(1);
  }
  FL_TRY_ASSIGN(cluster, Cluster::build(std::move(name), {}, nodes));
  machine.cluster = std::move(cluster);
  return machine;
}

struct Part {
  std::uint32_t gpus = 0;
  std::string type;
  double speed = 1;
};

// "4xV100@0.5" or "1xV100:4@0.5".
Result<Part> parse_part(std::string_view text) {
  const auto wrong = [&] {
    return input_error("--nodes: like 4xV100 or 4xK80@0.25, with commas between them: {}", text);
  };
  std::string_view left = text;
  Part part;
  if (const std::size_t at = left.find('@'); at != std::string_view::npos) {
    const auto speed = parse_number(left.substr(at + 1));
    if (!speed || !(*speed > 0 && *speed <= 1000)) return wrong();
    part.speed = *speed;
    left = left.substr(0, at);
  }
  const std::size_t x = left.find('x');
  if (x == std::string_view::npos) return wrong();
  const auto nodes = parse_integer(left.substr(0, x));
  left.remove_prefix(x + 1);
  std::int64_t each = 1;
  if (const std::size_t colon = left.find(':'); colon != std::string_view::npos) {
    const auto gpus = parse_integer(left.substr(colon + 1));
    if (!gpus) return wrong();
    each = *gpus;
    left = left.substr(0, colon);
  }
  if (!nodes || *nodes < 1 || *nodes > 1024 || each < 1 || each > 1024 || left.empty()) {
    return wrong();
  }
  part.gpus = static_cast<std::uint32_t>(*nodes * each);
  part.type = left;
  return part;
}

// The part of NVML's interface that is used; its handles and results are plain C.
class Nvml {
 public:
  static Result<std::unique_ptr<Nvml>> load(const std::string& path) {
    auto nvml = std::unique_ptr<Nvml>(new Nvml(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)));
    if (nvml->library_ == nullptr) {
      return input_error("no NVIDIA driver is installed ({} is not there)", path);
    }
    const bool is_whole = nvml->find("nvmlInit_v2", nvml->init_) &&
                          nvml->find("nvmlShutdown", nvml->shutdown_) &&
                          nvml->find("nvmlDeviceGetCount_v2", nvml->count_) &&
                          nvml->find("nvmlDeviceGetHandleByIndex_v2", nvml->handle_) &&
                          nvml->find("nvmlDeviceGetName", nvml->name_) &&
                          nvml->find("nvmlDeviceGetUUID", nvml->uuid_);
    if (!is_whole) return input_error("{} is not NVML as it is known here", path);
    if (const int status = nvml->init_(); status != 0) {
      return input_error("the NVIDIA driver does not answer (NVML error {})", status);
    }
    nvml->is_up_ = true;
    return nvml;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (is_up_) shutdown_();
    if (library_ != nullptr) ::dlclose(library_);
  }

  std::vector<Gpu> gpus() const {
    unsigned count = 0;
    if (count_(&count) != 0) return {};
    std::vector<Gpu> gpus;
    for (unsigned i = 0; i < count; ++i) {
      void* device = nullptr;
      char name[96] = {};
      char uuid[96] = {};
      const bool is_told = handle_(i, &device) == 0 && name_(device, name, sizeof name) == 0 &&
                           uuid_(device, uuid, sizeof uuid) == 0;
      if (is_told) gpus.push_back({short_gpu_name(name), uuid});
    }
    return gpus;
  }

 private:
  explicit Nvml(void* library) : library_(library) {}
  template <class Function>
  bool find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    return function != nullptr;
  }

  void* library_;
  bool is_up_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, void**) = nullptr;
  int (*name_)(void*, char*, unsigned) = nullptr;
  int (*uuid_)(void*, char*, unsigned) = nullptr;
};

}  // namespace

Result<Machine> stand_in_machine(std::string_view text) {
  std::vector<Gpu> gpus;
  std::vector<Part> parts;
  for (std::string_view left = text;;) {
    const std::size_t comma = std::min(left.find(','), left.size());
    FL_TRY_ASSIGN(part, parse_part(left.substr(0, comma)));
    for (std::uint32_t i = 0; i < part.gpus; ++i) {
      gpus.push_back({part.type, fmt::format("{}", gpus.size())});
    }
    parts.push_back(std::move(part));
    if (comma == left.size()) break;
    left.remove_prefix(comma + 1);
  }
  FL_TRY_ASSIGN(machine, machine_of(std::string(text), gpus));
  for (const Part& part : parts) machine.speed[machine.cluster.type_named(part.type)] = part.speed;
  return machine;
}

Result<Machine> nvidia_machine(const std::string& library) {
  FL_TRY_ASSIGN(nvml, Nvml::load(library));
  const std::vector<Gpu> gpus = nvml->gpus();
  if (gpus.empty()) return input_error("the NVIDIA driver knows of no GPU");
  return machine_of("this machine", gpus);
}

std::string gpus_text(const Machine& machine) {
  std::vector<std::string> types;
  for (GpuTypeId type : ids<GpuTypeId>(machine.cluster.type_names.size())) {
    types.push_back(
        fmt::format("{} {}", machine.cluster.type_gpus[type], machine.cluster.type_names[type]));
  }
  return fmt::format("{}", fmt::join(types, ", "));
}

std::string short_gpu_name(std::string_view name) {
  for (const std::string_view maker : {"NVIDIA ", "Tesla ", "GeForce ", "Quadro "}) {
    if (name.starts_with(maker)) name.remove_prefix(maker.size());
  }
  // "RTX 3090" has two words; "A100-SXM4-80GB" and "H100 80GB HBM3" say more than the type.
  const bool has_prefix =
      name.starts_with("RTX ") || name.starts_with("GTX ") || name.starts_with("TITAN ");
  const std::size_t from = has_prefix ? name.find(' ') + 1 : 0;
  std::string type(name.substr(0, std::min(name.find_first_of(" -", from), name.size())));
  std::erase(type, ' ');
  return type;
}

}  // namespace fairlead
