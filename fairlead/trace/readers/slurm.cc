#include "fairlead/trace/readers/slurm.h"

#include "fairlead/base/parse.h"
#include "fairlead/model/job_row.h"

#include <algorithm>

namespace fairlead {
namespace {

void add_resource(std::string_view name, std::string_view amount, SlurmGpus& gpus) {
  if (!name.starts_with("gres/")) return;
  const Parsed<std::int64_t> count = parse_integer(amount);
  gpus.add(name.substr(std::string_view("gres/").size()), count.value_or(-1));
}

}  // namespace

SlurmGpus slurm_gpus(std::string_view resources) {
  SlurmGpus gpus;
  while (!resources.empty() && !gpus.bad) {
    const std::string_view one = resources.substr(0, resources.find(','));
    resources.remove_prefix(std::min(one.size() + 1, resources.size()));
    const std::size_t equals = one.find('=');
    gpus.cut = gpus.cut || one.ends_with('+');
    if (equals != one.npos) add_resource(one.substr(0, equals), one.substr(equals + 1), gpus);
  }
  return gpus;
}

void SlurmGpus::add(std::string_view name, std::int64_t amount) {
  if (!name.starts_with("gpu")) return;
  name.remove_prefix(std::string_view("gpu").size());
  if (!name.empty() && name.front() != ':') return;  // such as gpumem
  bad = bad || amount < 0 || amount > kJobGpusMax;
  if (bad) return;
  if (name.empty()) {
    all = amount;
    return;
  }
  type = typed == 0 ? name.substr(1) : std::string_view();
  typed += amount;
}

}  // namespace fairlead
