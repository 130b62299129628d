// The list of all policies. Two lines here add a policy to the registry; its entry is defined at
// the end of its own file.
#pragma once

#include "fairlead/policy/registry.h"

#include <array>

namespace fairlead {

extern const PolicyEntry kAsRecorded;
extern const PolicyEntry kDally;
extern const PolicyEntry kFairlead;
extern const PolicyEntry kFfdl;
extern const PolicyEntry kFifo;
extern const PolicyEntry kGandiva;
extern const PolicyEntry kGandivaFair;
extern const PolicyEntry kGangStride;
extern const PolicyEntry kGavel;
extern const PolicyEntry kHadar;
extern const PolicyEntry kHadarE;
extern const PolicyEntry kKube;
extern const PolicyEntry kLas;
extern const PolicyEntry kLwf;
extern const PolicyEntry kOptimus;
extern const PolicyEntry kPhilly;
extern const PolicyEntry kProportional;
extern const PolicyEntry kSjf;
extern const PolicyEntry kSlurm;
extern const PolicyEntry kSmallest;
extern const PolicyEntry kSrsf;
extern const PolicyEntry kSrtf;
extern const PolicyEntry kStride;
extern const PolicyEntry kThemis;
extern const PolicyEntry kTiresias;
extern const PolicyEntry kYarnCs;

// By name.
inline constexpr std::array kPolicies = {
    &kAsRecorded, &kDally,  &kFairlead,     &kFfdl,     &kFifo,  &kGandiva,  &kGandivaFair,
    &kGangStride, &kGavel,  &kHadar,        &kHadarE,   &kKube,  &kLas,      &kLwf,
    &kOptimus,    &kPhilly, &kProportional, &kSjf,      &kSlurm, &kSmallest, &kSrsf,
    &kSrtf,       &kStride, &kThemis,       &kTiresias, &kYarnCs};

}  // namespace fairlead
