// Output of scontrol and squeue, in turn: any text gives nodes with GPUs, or jobs that need some,
// or an error that names the file.

#include "fairlead/base/check.h"
#include "fairlead/slurm/nodes.h"
#include "fairlead/slurm/queue.h"

#include <cstdint>
#include <string_view>

namespace fairlead {
namespace {

constexpr const char* kName = "fuzz.txt";

void check_nodes(std::string_view text) {
  Result<ByteSource> source = ByteSource::memory(text, kName);
  if (!source) return;
  const Result<SlurmNodes> found = read_slurm_nodes(*source);
  if (!found) {
    FL_CHECK(found.error().message.starts_with(kName), "{}", found.error().message);
    return;
  }
  for (const SlurmNode& node : found->nodes)
    FL_CHECK(node.spec.gpus > 0 && !node.spec.gpu_type.empty(), "node {}", node.spec.name);
}

void check_queue(std::string_view text) {
  Result<ByteSource> source = ByteSource::memory(text, kName);
  if (!source) return;
  const Result<SlurmQueue> queue = read_slurm_queue(*source);
  if (!queue) {
    FL_CHECK(queue.error().message.starts_with(kName), "{}", queue.error().message);
    return;
  }
  for (const SlurmQueuedJob& job : queue->jobs)
    FL_CHECK(!job.id.empty() && job.gpus > 0 && job.ran.ms >= 0, "job {}", job.id);
}

}  // namespace
}  // namespace fairlead

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fairlead::check_nodes(text);
  fairlead::check_queue(text);
  return 0;
}
