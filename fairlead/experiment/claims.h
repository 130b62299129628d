// The claims and measures of an experiment, read from its file; experiment.h describes their format.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/experiment/experiment.h"
#include "fairlead/input/yaml_reader.h"

#include <vector>

namespace fairlead {

// Reads the key `kind`, if it is there.
Status read_claim_kind(const YamlNode& map, ClaimKind& kind);

// `experiment`: everything except its claims. Errors, with position: keys that a figure lacks or does not take, unknown
// labels and users.
Result<PublishedClaim> read_claim(const YamlNode& map, const Experiment& experiment);
// Reads one claim for each policy, in order.
Result<std::vector<PublishedClaim>> read_measure(const YamlNode& map, const Experiment& experiment);

}  // namespace fairlead
