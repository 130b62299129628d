// Cluster YAML: any text gives a cluster that adds up, or an error.

#include "base/check.h"
#include "model/cluster_file.h"

#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fairlead;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Cluster> cluster = parse_cluster_yaml(text, "fuzz.yaml");
  if (!cluster) {
    FL_CHECK(cluster.error().message.starts_with("fuzz.yaml:"), "{}", cluster.error().message);
    return 0;
  }
  std::uint32_t gpus = 0;
  for (std::uint32_t of_type : cluster->type_gpus) gpus += of_type;
  FL_CHECK(gpus == cluster->gpus && gpus > 0 && cluster->nodes() > 0, "{}", describe(*cluster));
  return 0;
}
