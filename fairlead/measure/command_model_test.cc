#include "fairlead/measure/command_model.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

using Words = std::vector<std::string>;

std::string model(const Words& command) { return model_of(command); }

TEST(CommandModel, IsTheScriptOrProgramIfNoOtherWordIsLeft) {
  EXPECT_EQ(model({"python", "train.py"}), "train.py");
  EXPECT_EQ(model({"/data/ann/train"}), "train");
  EXPECT_EQ(model({"torchrun", "--nproc-per-node", "4", "/data/ann/ddp.py", "0.1", "/data"}),
            "ddp.py");
  EXPECT_EQ(model({"bash", "-c", "cd /data; python train.py 3"}), "train.py");
  EXPECT_EQ(model({"/usr/bin/fairlead", "tracker", "--plain", "--", "python", "train.py"}),
            "train.py");
  EXPECT_EQ(model({"/usr/bin/fairlead", "container", "pytorch", "--", "python", "train.py"}),
            "train.py");
}

TEST(CommandModel, IsEqualForTheRunsOfASweep) {
  const std::string first = model(
      {"python", "train.py", "--lr", "0.1", "--betas=0.9,0.99", "--data", "/d/a", "--arch", "vgg"});
  EXPECT_TRUE(first.starts_with("train.py#")) << first;
  EXPECT_EQ(first.size(), std::string("train.py#").size() + 6);
  EXPECT_EQ(model({"python3", "../train.py", "--lr", "1e-4", "--betas=0.8,0.9", "--data", "b/c",
                   "--arch", "vgg"}),
            first);
}

TEST(CommandModel, DiffersByOtherWords) {
  const std::string vgg = model({"python", "train.py", "--arch", "vgg16"});
  EXPECT_NE(vgg, model({"python", "train.py", "--arch", "vgg19"}));
  EXPECT_NE(vgg, model({"python", "train.py", "--arch=vgg16"}));
  EXPECT_NE(vgg, model({"python", "train.py"}));
  EXPECT_NE(model({"python", "-m", "a.train"}), model({"python", "-m", "b.train"}));
}

TEST(CommandModel, ShowsNoWordsOfTheCommand) {
  EXPECT_EQ(model({"python", "train.py", "--key", "secret"}).find("secret"), std::string::npos);
  EXPECT_EQ(program_of(Words{"python", "train.py", "--key", "secret"}), "train.py");
}

TEST(CommandModel, DiffersByTheImage) {
  const Words command = {"python", "train.py"};
  EXPECT_TRUE(model_of(command, "a/torch").starts_with("train.py#"));
  EXPECT_EQ(model_of(command, "a/torch"), model_of(command, "a/torch"));
  EXPECT_NE(model_of(command, "a/torch"), model_of(command, "b/torch"));
}

TEST(CommandModel, OddWordsHaveANameAsWell) {
  EXPECT_EQ(model({"/"}), "job");
  EXPECT_TRUE(model({"a", "", "=", "--x="}).starts_with("a#"));
}

}  // namespace
}  // namespace fairlead
