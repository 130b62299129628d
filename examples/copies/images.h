// Pictures of ten kinds, 14 x 14, to learn from and to be judged by.
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

// Fashion-MNIST (Xiao et al., arXiv 1708.07747) as in Debian's dataset-fashion-mnist, 28 x 28, of which
// every four pixels become one. `part`: "train" or "t10k"; the first `count`.
fairlead::Result<Images> fashion(const std::string& folder, const std::string& part,
                                 std::size_t count);

// Drawn: each kind is a few soft blots at places of its own; pictures of it are moved by up to two pixels
// and have noise. The same of all machines that round alike.
Images drawn(std::size_t count, std::uint64_t seed);

}  // namespace copies
