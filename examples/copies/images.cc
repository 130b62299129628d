#include "images.h"

#include "fairlead/base/file.h"
#include "fairlead/base/rng.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace copies {
namespace {

using fairlead::ByteSource;
using fairlead::Result;
using fairlead::Rng;

// Returns the payload of a file in the IDX format with a header of this length.
Result<std::string> idx(const std::string& path, std::size_t header, std::size_t bytes) {
  FL_TRY_ASSIGN(source, ByteSource::open(path));
  FL_TRY_ASSIGN(all, source.peek(header + bytes));
  if (all.size() < header + bytes)
    return fairlead::input_error("{}: has only {} bytes", path, all.size());
  return std::string(all.substr(header, bytes));
}

}  // namespace

Result<Images> fashion(const std::string& folder, const std::string& part, std::size_t count) {
  constexpr std::size_t kLarge = 2 * kSide;
  const std::string stem = folder + "/" + part;
  FL_TRY_ASSIGN(labels, idx(stem + "-labels-idx1-ubyte.gz", 8, count));
  FL_TRY_ASSIGN(pixels, idx(stem + "-images-idx3-ubyte.gz", 16, count * kLarge * kLarge));
  Images images;
  images.labels.assign(labels.begin(), labels.end());
  const auto at = [&](std::size_t image, std::size_t y, std::size_t x) {
    return static_cast<float>(static_cast<std::uint8_t>(pixels[(image * kLarge + y) * kLarge + x]));
  };
  for (std::size_t image = 0; image < count; ++image) {
    for (std::size_t y = 0; y < kLarge; y += 2) {
      for (std::size_t x = 0; x < kLarge; x += 2) {
        const float sum =
            at(image, y, x) + at(image, y, x + 1) + at(image, y + 1, x) + at(image, y + 1, x + 1);
        images.pixels.push_back(sum / (4 * 255));
      }
    }
  }
  return images;
}

Images drawn(std::size_t count, std::uint64_t seed) {
  constexpr std::size_t kBlots = 4;
  constexpr double kNoise = 0.35;
  struct Blot {
    double x, y, width;
  };
  Rng kinds(7);  // the same for all sets
  std::array<std::array<Blot, kBlots>, kKinds> blots{};
  for (auto& of_kind : blots) {
    for (Blot& blot : of_kind)
      blot = {3 + 8 * kinds.uniform(), 3 + 8 * kinds.uniform(), 1 + 1.5 * kinds.uniform()};
  }
  Rng random(seed);
  Images images;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t kind = random.below(kKinds);
    const double dx = 4 * random.uniform() - 2;
    const double dy = 4 * random.uniform() - 2;
    images.labels.push_back(static_cast<std::uint8_t>(kind));
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
      const auto x = static_cast<double>(pixel % kSide) - dx;
      const auto y = static_cast<double>(pixel / kSide) - dy;
      double value = kNoise * random.normal();
      for (const Blot& blot : blots[kind]) {
        const double far = std::hypot(x - blot.x, y - blot.y) / blot.width;
        value += std::exp(-far * far / 2);
      }
      images.pixels.push_back(static_cast<float>(std::clamp(value, 0.0, 1.0)));
    }
  }
  return images;
}

}  // namespace copies
