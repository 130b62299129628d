// Every policy's entry in the registry, one line each. The definitions are in the policies' own
// files.
#pragma once

#include "fairlead/policy/registry.h"

namespace fairlead {

extern const PolicyEntry kDally;
extern const PolicyEntry kFfdl;
extern const PolicyEntry kFifo;
extern const PolicyEntry kGandiva;
extern const PolicyEntry kGandivaFair;
extern const PolicyEntry kGangStride;
extern const PolicyEntry kGavel;
extern const PolicyEntry kHadar;
extern const PolicyEntry kHadarE;
extern const PolicyEntry kLas;
extern const PolicyEntry kLwf;
extern const PolicyEntry kOptimus;
extern const PolicyEntry kPhilly;
extern const PolicyEntry kProportional;
extern const PolicyEntry kSjf;
extern const PolicyEntry kSmallest;
extern const PolicyEntry kSrsf;
extern const PolicyEntry kSrtf;
extern const PolicyEntry kStride;
extern const PolicyEntry kTiresias;
extern const PolicyEntry kYarnCs;

}  // namespace fairlead
