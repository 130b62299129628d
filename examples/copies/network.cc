#include "network.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace copies {
namespace {

constexpr std::size_t kFilters = 8;
constexpr std::size_t kWindow = 3;
constexpr std::size_t kMap = kSide - kWindow + 1;
constexpr std::size_t kPooled = kMap / 2;
constexpr std::size_t kFilterSize = kWindow * kWindow + 1;  // the bias last

}  // namespace

std::string_view model_name(Model model) {
  constexpr std::string_view kNames[] = {"dense-32", "dense-128-64", "conv-8"};
  return kNames[static_cast<std::size_t>(model)];
}

Network::Network(Model model, fairlead::Rng random) : filters_(model == Model::kConv8) {
  switch (model) {
    case Model::kDense32:
      sizes_ = {kPixels, 32, kKinds};
      break;
    case Model::kDense128x64:
      sizes_ = {kPixels, 128, 64, kKinds};
      break;
    case Model::kConv8:
      sizes_ = {kFilters * kPooled * kPooled, kKinds};
      break;
  }
  const auto add = [&](std::size_t in, std::size_t weights, std::size_t biases) {
    const double scale = std::sqrt(2.0 / static_cast<double>(in));  // He et al., 2015
    for (std::size_t i = 0; i < weights; ++i)
      parameters.push_back(static_cast<float>(scale * random.normal()));
    parameters.insert(parameters.end(), biases, 0.0F);
  };
  for (std::size_t filter = 0; filters_ && filter < kFilters; ++filter)
    add(kFilterSize - 1, kFilterSize - 1, 1);
  for (std::size_t layer = 1; layer < sizes_.size(); ++layer)
    add(sizes_[layer - 1], sizes_[layer - 1] * sizes_[layer], sizes_[layer]);
  for (std::size_t size : sizes_) values_.emplace_back(size);
  pooled_.resize(kFilters * kPooled * kPooled);
  greatest_.resize(pooled_.size());
}

std::span<const float> Network::features(const float* pixels) {
  if (!filters_) return {pixels, kPixels};
  std::vector<float> map(kMap * kMap);
  for (std::size_t filter = 0; filter < kFilters; ++filter) {
    const float* weights = parameters.data() + filter * kFilterSize;
    std::ranges::fill(map, weights[kFilterSize - 1]);
    for (std::size_t w = 0; w + 1 < kFilterSize; ++w) {
      for (std::size_t y = 0; y < kMap; ++y) {
        const float* from = pixels + (y + w / kWindow) * kSide + w % kWindow;
        for (std::size_t x = 0; x < kMap; ++x) map[y * kMap + x] += weights[w] * from[x];
      }
    }
    for (std::size_t i = 0; i < kPooled * kPooled; ++i) {
      const std::size_t corner = 2 * (i / kPooled) * kMap + 2 * (i % kPooled);
      std::size_t best = corner;
      for (std::size_t at : {corner + 1, corner + kMap, corner + kMap + 1}) {
        if (map[at] > map[best]) best = at;
      }
      pooled_[filter * kPooled * kPooled + i] = std::max(0.0F, map[best]);
      greatest_[filter * kPooled * kPooled + i] = best;
    }
  }
  return pooled_;
}

void Network::learn_filters(const float* pixels, std::span<const float> above) {
  for (std::size_t i = 0; i < pooled_.size(); ++i) {
    if (pooled_[i] <= 0) continue;
    float* gradient = gradient_.data() + i / (kPooled * kPooled) * kFilterSize;
    const std::size_t at = greatest_[i] / kMap * kSide + greatest_[i] % kMap;
    for (std::size_t w = 0; w + 1 < kFilterSize; ++w)
      gradient[w] += above[i] * pixels[at + w / kWindow * kSide + w % kWindow];
    gradient[kFilterSize - 1] += above[i];
  }
}

void Network::run(std::span<const float> input) {
  std::ranges::copy(input, values_[0].begin());
  const float* weights = parameters.data() + (filters_ ? kFilters * kFilterSize : 0);
  for (std::size_t layer = 1; layer < sizes_.size(); ++layer) {
    const std::vector<float>& in = values_[layer - 1];
    std::vector<float>& out = values_[layer];
    const float* biases = weights + in.size() * out.size();
    std::copy(biases, biases + out.size(), out.begin());
    for (std::size_t i = 0; i < in.size(); ++i, weights += out.size()) {
      if (in[i] == 0) continue;
      for (std::size_t o = 0; o < out.size(); ++o) out[o] += in[i] * weights[o];
    }
    weights = biases + out.size();
    if (layer + 1 == sizes_.size()) break;
    for (float& value : out) value = std::max(0.0F, value);
  }
}

void Network::learn(const Images& images, std::span<const std::size_t> batch, float rate) {
  gradient_.assign(parameters.size(), 0);
  for (std::size_t image : batch) {
    const float* pixels = images.pixels.data() + image * kPixels;
    run(features(pixels));
    // The gradient of the loss by each unit's sum.
    std::vector<float> above = values_.back();
    const float most = *std::ranges::max_element(above);
    float sum = 0;
    for (float& value : above) sum += value = std::exp(value - most);
    for (float& value : above) value /= sum;
    above[images.labels[image]] -= 1;
    std::size_t end = parameters.size();
    for (std::size_t layer = sizes_.size() - 1; layer > 0; --layer) {
      const std::vector<float>& in = values_[layer - 1];
      end -= above.size();
      for (std::size_t o = 0; o < above.size(); ++o) gradient_[end + o] += above[o];
      end -= in.size() * above.size();
      std::vector<float> below(in.size());
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (in[i] == 0) continue;  // rectified, or a black pixel
        float* gradient = gradient_.data() + end + i * above.size();
        const float* weights = parameters.data() + end + i * above.size();
        float by_input = 0;
        for (std::size_t o = 0; o < above.size(); ++o) {
          gradient[o] += in[i] * above[o];
          by_input += weights[o] * above[o];
        }
        below[i] = by_input;
      }
      above = std::move(below);
    }
    if (filters_) learn_filters(pixels, above);
  }
  const float step = rate / static_cast<float>(batch.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= step * gradient_[i];
}

Network::Score Network::judge(const Images& images) {
  Score score;
  for (std::size_t image = 0; image < images.size(); ++image) {
    run(features(images.pixels.data() + image * kPixels));
    const std::vector<float>& scores = values_.back();
    const auto most = std::ranges::max_element(scores);
    double sum = 0;
    for (float value : scores) sum += std::exp(static_cast<double>(value - *most));
    const std::uint8_t label = images.labels[image];
    score.loss += std::log(sum) - static_cast<double>(scores[label] - *most);
    score.accuracy += most - scores.begin() == label ? 1 : 0;
  }
  const auto count = static_cast<double>(images.size());
  return {score.loss / count, score.accuracy / count};
}

}  // namespace copies
