#include "network.h"
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace copies {
namespace {

class NetworkTest : public testing::TestWithParam<Model> {};

// A step of rate 1 takes the gradient off the parameters: it is compared with differences of the loss.
TEST_P(NetworkTest, GoesDownTheGradientOfItsLoss) {
  const Images images = drawn(3, 5);
  const std::vector<std::size_t> all = {0, 1, 2};
  Network network(GetParam(), fairlead::Rng(1));
  const std::vector<float> before = network.parameters;
  network.learn(images, all, 1);
  const std::vector<float> after = network.parameters;
  constexpr float kStep = 3e-3F;
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < before.size(); i += 7) {
    const auto loss_at = [&](float moved) {
      network.parameters = before;
      network.parameters[i] += moved;
      return network.judge(images).loss;
    };
    const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * static_cast<double>(kStep));
    const double gradient = static_cast<double>(before[i]) - static_cast<double>(after[i]);
    error += (slope - gradient) * (slope - gradient);
    size += slope * slope;
  }
  EXPECT_GT(size, 0);
  EXPECT_LT(std::sqrt(error / size), 0.05);  // units that are rectified on one side only differ
}

TEST_P(NetworkTest, Learns) {
  const Images images = drawn(200, 6);
  Network network(GetParam(), fairlead::Rng(2));
  const double before = network.judge(images).loss;
  fairlead::Rng random(3);
  std::vector<std::size_t> batch(16);
  for (int step = 0; step < 300; ++step) {
    for (std::size_t& image : batch) image = random.below(images.size());
    network.learn(images, batch, 0.1F);
  }
  const Network::Score after = network.judge(images);
  EXPECT_LT(after.loss, before / 2);
  EXPECT_GT(after.accuracy, 0.7);
}

INSTANTIATE_TEST_SUITE_P(All, NetworkTest,
                         testing::Values(Model::kDense32, Model::kDense128x64, Model::kConv8),
                         [](const auto& named) {
                           std::string name(model_name(named.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(Images, AreTheSameForTheSameSeed) {
  EXPECT_EQ(drawn(5, 1).pixels, drawn(5, 1).pixels);
  EXPECT_NE(drawn(5, 1).pixels, drawn(5, 2).pixels);
}

TEST(Images, ThatAreMissingAreNamed) {
  const auto images = fashion("/no/such/folder", "train", 10);
  ASSERT_FALSE(images);
  EXPECT_NE(images.error().message.find("/no/such/folder/train-labels"), std::string::npos);
}

}  // namespace
}  // namespace copies
