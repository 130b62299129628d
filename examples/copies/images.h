// Pictures of ten kinds, 14 x 14, for training and for tests.
#pragma once

#include "fairlead/base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace copies {

constexpr std::size_t kSide = 14;
constexpr std::size_t kPixels = kSide * kSide;
constexpr std::size_t kKinds = 10;

struct Images {
  std::vector<float> pixels;         // kPixels of each, 0 to 1
  std::vector<std::uint8_t> labels;  // below kKinds
  std::size_t size() const { return labels.size(); }
};

// Reads the first `count` pictures of Fashion-MNIST (Xiao et al., arXiv 1708.07747) from Debian's
// dataset-fashion-mnist. They have 28 x 28 pixels, and every four become one. `part`: "train" or "t10k".
fairlead::Result<Images> fashion(const std::string& folder, const std::string& part,
                                 std::size_t count);

// Draws pictures: each kind is a few soft blots at its own places. The pictures are shifted by up to two
// pixels and have noise. They are equal on all machines with equal rounding.
Images drawn(std::size_t count, std::uint64_t seed);

}  // namespace copies
