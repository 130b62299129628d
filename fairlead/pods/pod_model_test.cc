#include "fairlead/pods/pod_model.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

Json spec(const std::string& image, const Json& command, const Json& args = Json::array()) {
  const Json limits = {{"limits", {{"nvidia.com/gpu", 2}}}};
  return {{"containers",
           {{{"name", "proxy"}, {"image", "envoy"}, {"command", {"envoy"}}},
            {{"name", "train"},
             {"image", image},
             {"command", command},
             {"args", args},
             {"resources", limits}}}}};
}

TEST(PodModel, IsOfTheImageAndTheCommandOfTheContainerWithGpus) {
  const std::string model =
      model_of_spec(spec("lab/torch:v1", {"python"}, {"/app/train.py", "--lr", "0.1"}));
  EXPECT_TRUE(model.starts_with("train.py#")) << model;
  EXPECT_EQ(model_of_spec(spec("lab/torch:v2@sha256:12", {"python", "train.py", "--lr", "3"})),
            model);
  EXPECT_NE(model_of_spec(spec("lab/jax", {"python", "train.py", "--lr", "3"})), model);
  EXPECT_NE(model_of_spec(spec("lab/torch", {"python", "train.py", "--arch", "vgg"})), model);
}

TEST(PodModel, IsTheImageWithoutACommand) {
  const std::string model = model_of_spec(spec("registry:5000/lab/bert", Json::array()));
  EXPECT_TRUE(model.starts_with("bert#")) << model;
  EXPECT_EQ(model_of_spec(spec("registry:5000/lab/bert:3", Json::array())), model);
  EXPECT_EQ(model_of_spec(spec("", Json::array())), "");
}

TEST(PodModel, OfHostileSpecsIsShortAndPrintable) {
  EXPECT_EQ(model_of_spec({}), "");
  EXPECT_EQ(model_of_spec({{"containers", "x"}}), "");
  const std::string model = model_of_spec(spec("a", {std::string(100'000, 'x'), "\x1b[2J", 7}));
  EXPECT_EQ(model.size(), 63U);
  EXPECT_TRUE(model_of_spec(spec("a", {"\x1b[2J.py", ""})).starts_with("?[2J.py#"));
}

}  // namespace
}  // namespace fairlead
