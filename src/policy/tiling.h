// Tiling: how much of what the jobs of one server are due cannot be served there, whatever the
// order in which they take turns.
//
// A job needs `gpus` GPUs for a part `time` of the time. Beside the number of GPUs, two things
// stand in its way. Gangs that do not fit beside each other must take turns: a gang of the whole
// server that is due half of the time and a single GPU that is due all of it fit by area, and yet
// one of them must do without. And what a small gang leaves of the room of a large one is used only
// by gangs as small: a lone single GPU among pairs idles one more whenever it runs. (ours)
#pragma once

#include <cstdint>
#include <span>

namespace fairlead {

struct Need {
  std::uint32_t gpus = 1;  // at least 1
  double time = 0;         // part of the time, 0..1
};

// How much of the time a server of `gpus` GPUs would need to serve all, above 1 if it cannot.
// Exact for gangs that are powers of two on such a server; for others a lower bound. Needs larger
// than the server count as far as they fit. O(needs + gpus).
double time_needed(std::span<const Need> needs, std::uint32_t gpus);

// GPUs due but not served: the mean of two estimates. By time: what is missing if all give way in
// proportion. By gang: what is due to gangs that do not fit beside others, each by itself, so that
// every job that leaves makes a difference.
double unserved(std::span<const Need> needs, std::uint32_t gpus);

}  // namespace fairlead
