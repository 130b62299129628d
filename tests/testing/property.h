// Properties of policies: rules for every variant in every world. A run that breaks one is made as
// small as possible by dropping jobs and ingredients, and reported as a case file that tests/golden
// reads.
//
// FAIRLEAD_WORLDS is the number of worlds per property and variant (`./dev soak` raises it),
// FAIRLEAD_SEED the first of their seeds. Both have fixed defaults: without them, the same worlds.
#pragma once

#include "testing/drawn_world.h"
#include "testing/world.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Returns the problem when that variant runs in that world; empty: the property is true. It must be
// a function of the two alone.
using Property = std::function<std::string(const World& world, const std::string& variant)>;

constexpr int kWorldsDefault = 4;

// Tries the property on every variant, each in FAIRLEAD_WORLDS worlds of its own, which follow from
// the property's name. Returns the problems of up to three variants, each with a case file; empty:
// the property is true. If the program aborts meanwhile, it prints its present case. REQUIRES: both
// settings, if set, are at least 1.
std::string broken(std::string_view name, const std::vector<std::string>& variants,
                   const Ingredients& may, const Property& property);

// Returns the smallest world found in which the property is still broken: fewer jobs, then fewer
// ingredients. It tries each of a few changes until none helps; at most some hundred runs.
// REQUIRES: the property is broken in `world`.
World shrunk(World world, const std::string& variant, const Property& property);

}  // namespace fairlead
