// The model of pods whose user names none: the image and the command of their container with GPUs
// (measure/command_model.h). So the Jobs of a sweep over numbers and data sets are of one model.
#pragma once

#include "fairlead/kube/json.h"

#include <string>

namespace fairlead {

// Returns the model of a pod's spec, "train.py#3fa2c1"; empty: it has no container with GPUs, or none with an image or a
// command. The image counts without its tag and digest: a new build would be a model without a speed.
std::string model_of_spec(const Json& spec);

}  // namespace fairlead
