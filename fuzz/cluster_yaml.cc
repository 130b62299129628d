// Cluster YAML: any text gives a cluster that adds up, or an error.

#include "fairlead/base/check.h"
#include "fairlead/input/cluster_file.h"

#include <string_view>

namespace fairlead {
namespace {

void check(std::string_view text) {
  const Result<Cluster> cluster = parse_cluster_yaml(text, "fuzz.yaml");
  if (!cluster) {
    FL_CHECK(cluster.error().message.starts_with("fuzz.yaml:"), "{}", cluster.error().message);
    return;
  }
  std::uint32_t gpus = 0;
  for (std::uint32_t of_type : cluster->type_gpus) gpus += of_type;
  FL_CHECK(gpus == cluster->gpus && gpus > 0 && cluster->nodes() > 0, "{}", describe(*cluster));
}

}  // namespace
}  // namespace fairlead

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fairlead::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
