// A trainer for `fairlead submit --copies`: a small network learns Fashion-MNIST, or drawn pictures, in rounds that
// its tracker orders (docs/copies.md). It shows everything that such a trainer must do, in plain C++:
// - it reports the number of steps of the job, and carries out one order after the other until its input ends;
// - it reads the parameters at the start of each round from a file, and writes the resulting ones to another;
// - at SIGTERM it answers with the number of steps done so far, so that they count.
//
// If FAIRLEAD_SPEED is set, it emulates a GPU of that speed by waiting: a GPU of speed 1 makes a step in
// `--step-ms` (10).
#include "fairlead/base/rng.h"

#include "../trainer/pace.h"
#include "images.h"
#include "network.h"
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <span>
#include <sstream>
#include <string>

namespace copies {
namespace {

constexpr std::size_t kBatch = 16;
constexpr Model kModels[] = {Model::kDense32, Model::kDense128x64, Model::kConv8};

struct Options {
  double steps = 2000;
  double rate = 0.1;
  double seed = 1;
  double step_ms = 10;
  Model model = Model::kDense32;
  std::string data;  // a folder; empty: drawn pictures
};

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

int fail(const std::string& why) {
  fmt::print(stderr, "fairlead-copy-trainer: {}\n", why);
  return 2;
}

double number(const std::string& text) {
  double value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class Copy {
 public:
  Copy(const Options& options, Images pictures)
      : options_(options),
        pictures_(std::move(pictures)),
        random_(static_cast<std::uint64_t>(options.seed)),
        network_(options.model, random_.split(0)),
        folder_(variable("FAIRLEAD_COPIES_FOLDER", ".") + "/"),
        number_(static_cast<std::uint64_t>(number(variable("FAIRLEAD_COPY", "0")))) {}

  // "make STEPS DONE FROM TO"
  bool make(std::istringstream& order) {
    std::uint64_t steps = 0;
    std::uint64_t done = 0;
    std::string from, to;
    if (!(order >> steps >> done >> from >> to) || (from != "-" && !read(from))) return false;
    fairlead::Rng random = random_.split(1 + done).split(number_);
    std::vector<std::size_t> batch(kBatch);
    trainer::Pace pace(step_s(options_));
    std::uint64_t made = 0;
    while (made < steps && !pace.is_interrupted()) {
      for (std::size_t& picture : batch) picture = random.below(pictures_.size());
      network_.learn(pictures_, batch, static_cast<float>(options_.rate));
      ++made;
    }
    if (!write(to)) return false;
    std::ofstream(variable("FAIRLEAD_ANSWERS", "/dev/null")) << "made " << made << std::endl;
    return true;
  }

  // "end FILE"
  bool judge(std::istringstream& order, const Images& held_out) {
    std::string file;
    if (!(order >> file) || !read(file)) return false;
    const Network::Score score = network_.judge(held_out);
    fmt::print("held-out loss {:.4f}, accuracy {:.2f} %\n", score.loss, 100 * score.accuracy);
    return true;
  }

 private:
  static double step_s(const Options& options) {
    const double speed = number(variable("FAIRLEAD_SPEED", "0"));
    return speed > 0 ? options.step_ms / 1000 / speed : 0;
  }
  std::streamsize bytes() const {
    return static_cast<std::streamsize>(network_.parameters.size() * sizeof(float));
  }
  bool read(const std::string& name) {
    std::ifstream file(folder_ + name, std::ios::binary);
    return static_cast<bool>(
        file.read(reinterpret_cast<char*>(network_.parameters.data()), bytes()));
  }
  bool write(const std::string& name) const {
    std::ofstream file(folder_ + name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(network_.parameters.data()), bytes());
    file.close();
    return static_cast<bool>(file);
  }

  const Options& options_;
  Images pictures_;
  fairlead::Rng random_;
  Network network_;
  std::string folder_;
  std::uint64_t number_;
};

// Reads "--name value" pairs; returns the error, or an empty text.
std::string parse(std::span<char*> words, Options& options) {
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string name = words[i];
    if (i + 1 == words.size()) return name + " needs a value";
    const std::string value = words[i + 1];
    const std::pair<std::string_view, double*> numbers[] = {{"--steps", &options.steps},
                                                            {"--rate", &options.rate},
                                                            {"--seed", &options.seed},
                                                            {"--step-ms", &options.step_ms}};
    const auto* found =
        std::ranges::find(numbers, name, &std::pair<std::string_view, double*>::first);
    if (name == "--data") {
      options.data = value;
    } else if (name == "--model") {
      const auto* model = std::ranges::find(kModels, value, model_name);
      if (model == std::end(kModels)) return "--model is dense-32, dense-128-64 or conv-8";
      options.model = *model;
    } else if (found == std::end(numbers)) {
      return "unknown option " + name +
             ": there are --model --steps --rate --seed --step-ms --data";
    } else if (*found->second = number(value); *found->second <= 0) {
      return name + " is a number above 0";
    }
  }
  return "";
}

int run(const Options& options, Images pictures, const Images& held_out) {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  Copy copy(options, std::move(pictures));
  std::ofstream(variable("FAIRLEAD_ANSWERS", "/dev/null"))
      << "total " << static_cast<std::uint64_t>(options.steps) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream order(line);
    std::string word;
    order >> word;
    const bool is_done =
        word == "make" ? copy.make(order) : word == "end" && copy.judge(order, held_out);
    if (!is_done) return fail("this order cannot be done: " + line);
  }
  return 0;
}

int main_of(std::span<char*> words) {
  Options options;
  if (const std::string wrong = parse(words, options); !wrong.empty()) return fail(wrong);
  if (options.data.empty()) return run(options, drawn(10'000, 1), drawn(2000, 3));
  auto pictures = fashion(options.data, "train", 10'000);
  auto held_out = fashion(options.data, "t10k", 2000);
  for (const auto* part : {&pictures, &held_out}) {
    if (!*part) return fail(part->error().message);
  }
  return run(options, std::move(*pictures), *held_out);
}

}  // namespace
}  // namespace copies

int main(int argc, char** argv) {
  return copies::main_of(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
}
