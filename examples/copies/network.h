// Small networks that classify pictures, trained by mini-batches in plain loops.
#pragma once

#include "fairlead/base/rng.h"

#include "images.h"

#include <span>
#include <string_view>
#include <vector>

namespace copies {

// dense-32: one hidden layer. dense-128-64: two. conv-8: eight filters of 3 x 3, the maximum of each 2 x 2.
enum class Model : std::uint8_t { kDense32, kDense128x64, kConv8 };
std::string_view model_name(Model model);

// Rectified units, and softmax over the kinds.
class Network {
 public:
  Network(Model model, fairlead::Rng random);

  // Makes one step down the mean gradient of the pictures at these positions.
  void learn(const Images& images, std::span<const std::size_t> batch, float rate);

  struct Score {
    double loss = 0;      // mean cross entropy, in nats
    double accuracy = 0;  // fraction of pictures with the greatest output at their kind
  };
  Score judge(const Images& images);

  std::vector<float> parameters;

 private:
  // Returns the input of the first dense layer: the output of the filters, or the picture itself.
  std::span<const float> features(const float* pixels);
  void learn_filters(const float* pixels, std::span<const float> above);
  // Fills in the outputs of all dense layers; the last are scores by kind.
  void run(std::span<const float> input);

  bool filters_;
  std::vector<std::size_t> sizes_;          // sizes of the dense layers, the input first
  std::vector<std::vector<float>> values_;  // values for the last picture
  std::vector<float> gradient_;        // beside the parameters: filters, then layers, biases last
  std::vector<float> pooled_;          // of the last picture
  std::vector<std::size_t> greatest_;  // the position of each in the map
};

}  // namespace copies
