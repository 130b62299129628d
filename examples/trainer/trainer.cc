// A small real trainer, to try Fairlead with: a network of three layers learns to separate two spirals.
//
// It shows everything that a movable job must do, in plain C++:
// - at SIGTERM it writes a checkpoint and exits with status 143, which means that it is not done;
// - it continues from its checkpoint to the bit: an interrupted run ends like an uninterrupted one;
// - it reports its progress in the file that FAIRLEAD_PROGRESS names;
// - with WORLD_SIZE ranks it averages gradients over TCP. All ranks stop after the same step.
//
// It computes on a processor. If FAIRLEAD_SPEED is set, it emulates FAIRLEAD_GPUS GPUs of that speed by
// waiting. A GPU of speed 1 makes a step in `--step-ms` (1), and the processor is busy for about a tenth of
// it. A GPU of speed 0.25 makes a quarter of the steps per second. If the processor is too busy, all of them
// are slower. Time during a suspension is not made up for.
#include "gang.h"
#include "network.h"
#include "pace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace trainer {
namespace {

constexpr int kInterrupted = 128 + SIGTERM;
constexpr std::size_t kTrainPoints = 2048;
constexpr std::size_t kTestPoints = 512;
constexpr double kRate = 0.05;

struct Options {
  double steps = 20'000;
  double batch = 32;  // points per rank and step
  double seed = 1;
  double every = 1000;  // steps between checkpoints
  double step_ms = 1;   // time of a step on one emulated GPU of speed 1
  std::string checkpoint;
};

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

double number(const std::string& text) {
  double value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The position of a run. A checkpoint is this and the two rows of numbers.
struct Position {
  std::array<char, 8> magic{'f', 'l', 't', 'r', 'a', 'i', 'n', '1'};
  std::uint64_t seed, batch;  // identify the run; batch: of all ranks together
  std::uint64_t step = 0;
  double loss = 0;  // sum over the steps of this epoch so far
};

class Training {
 public:
  Training(const Options& options, Gang gang)
      : options_(options), gang_(std::move(gang)), network_(seed()) {
    at_.seed = seed();
    at_.batch =
        static_cast<std::uint64_t>(options.batch) * static_cast<std::uint64_t>(gang_.size());
    speed_.resize(network_.weights.size());
    sums_.resize(network_.weights.size() + 2);
  }

  bool is_valid() const { return at_.batch <= kTrainPoints; }
  bool is_done() const { return at_.step >= static_cast<std::uint64_t>(options_.steps); }

  // Reads the checkpoint, if there is one. Returns false if it is of another run, or damaged.
  bool resume() {
    std::FILE* file = std::fopen(options_.checkpoint.c_str(), "rb");
    if (file == nullptr) return errno == ENOENT;
    Position found{};
    const bool is_whole =
        std::fread(&found, sizeof found, 1, file) == 1 && found.magic == at_.magic &&
        found.seed == at_.seed && found.batch == at_.batch &&
        std::fread(network_.weights.data(), sizeof(double), speed_.size(), file) == speed_.size() &&
        std::fread(speed_.data(), sizeof(double), speed_.size(), file) == speed_.size();
    std::fclose(file);
    if (!is_whole) return false;
    at_ = found;
    if (gang_.rank() == 0)
      std::printf("resumed at step %ju\n", static_cast<std::uintmax_t>(at_.step));
    return true;
  }

  // Rank 0 writes a new file and renames it over the old one, so that one of the two always exists.
  bool save() const {
    if (gang_.rank() != 0) return true;
    const std::string part = options_.checkpoint + ".part";
    std::FILE* file = std::fopen(part.c_str(), "wb");
    if (file == nullptr) return false;
    bool ok = std::fwrite(&at_, sizeof at_, 1, file) == 1;
    for (const std::vector<double>* row : {&network_.weights, &speed_})
      ok = ok && std::fwrite(row->data(), sizeof(double), row->size(), file) == row->size();
    ok = ok && std::fflush(file) == 0 && fsync(fileno(file)) == 0;
    ok = std::fclose(file) == 0 && ok;
    return ok && std::rename(part.c_str(), options_.checkpoint.c_str()) == 0;
  }

  // Makes one step of all ranks. Sets `stop` if any rank set it. Returns false if a member is gone.
  bool step(bool& stop) {
    const std::size_t per_epoch = kTrainPoints / at_.batch;
    const std::size_t epoch = at_.step / per_epoch;
    if (epoch != shuffled_ || order_.empty()) shuffle(epoch);
    const auto own = static_cast<std::size_t>(options_.batch);
    const std::size_t first =
        at_.step % per_epoch * at_.batch + static_cast<std::size_t>(gang_.rank()) * own;
    std::ranges::fill(sums_, 0);
    double& loss = sums_[speed_.size()];
    sums_.back() = stop ? 1 : 0;
    for (std::size_t i = first; i < first + own; ++i)
      loss += network_.learn(points_[order_[i]], std::span(sums_).first(speed_.size()));
    if (!gang_.sum(sums_)) return false;
    stop = sums_.back() > 0;
    const auto batch = static_cast<double>(at_.batch);
    for (std::size_t i = 0; i < speed_.size(); ++i) {
      speed_[i] = 0.9 * speed_[i] + sums_[i] / batch;
      network_.weights[i] -= kRate * speed_[i];
    }
    at_.loss += loss / batch;
    if (++at_.step % per_epoch == 0) end_epoch(epoch, static_cast<double>(per_epoch));
    return true;
  }

  bool is_checkpoint_due() const {
    return at_.step % static_cast<std::uint64_t>(options_.every) == 0;
  }

  double accuracy_percent() {
    const std::vector<Point> held_out = spirals(kTestPoints, seed() + 2);
    const auto right = std::ranges::count_if(
        held_out, [&](const Point& p) { return p.label * network_.output(p) > 0; });
    return 100.0 * static_cast<double>(right) / static_cast<double>(kTestPoints);
  }

  // Appends the progress of the run, at most once per second unless `now`.
  void tell_progress(bool now) {
    const double time = now_s();
    if (progress_.empty() || gang_.rank() != 0 || (!now && time < told_ + 1)) return;
    told_ = time;
    if (std::FILE* file = std::fopen(progress_.c_str(), "a")) {
      std::fprintf(file, "%ju %.0f steps\n", static_cast<std::uintmax_t>(at_.step), options_.steps);
      std::fclose(file);
    }
  }

  std::uint64_t at() const { return at_.step; }
  bool speaks() const { return gang_.rank() == 0; }

 private:
  std::uint64_t seed() const { return static_cast<std::uint64_t>(options_.seed) * 1000; }

  void shuffle(std::size_t epoch) {
    order_.resize(kTrainPoints);
    std::iota(order_.begin(), order_.end(), 0);
    Random random(seed() ^ (epoch + 1) * 0x2545f4914f6cdd1du);
    for (std::size_t i = kTrainPoints - 1; i > 0; --i)
      std::swap(order_[i], order_[random.next() % (i + 1)]);
    shuffled_ = epoch;
  }

  void end_epoch(std::size_t epoch, double steps) {
    if (speaks())
      std::printf("epoch %zu, step %ju: loss %.6f\n", epoch + 1,
                  static_cast<std::uintmax_t>(at_.step), at_.loss / steps);
    at_.loss = 0;
  }

  Options options_;
  Gang gang_;
  Network network_;
  Position at_;
  std::vector<double> speed_;  // momentum of each weight
  std::vector<double> sums_;   // gradient, loss, and whether to stop
  std::vector<Point> points_ = spirals(kTrainPoints, seed() + 1);
  std::vector<std::size_t> order_;  // order of the points in this epoch
  std::size_t shuffled_ = 0;        // the epoch of this order
  std::string progress_ = environment("FAIRLEAD_PROGRESS", "");
  double told_ = 0;
};

int fail(const std::string& why) {
  std::fprintf(stderr, "fairlead-trainer: %s\n", why.c_str());
  return 1;
}

int run(Training& training, Pace pace) {
  const std::uint64_t first = training.at();
  const double start = now_s();
  training.tell_progress(true);
  bool stop = false;
  while (!training.is_done() && !stop) {
    stop = pace.is_interrupted();
    if (!training.step(stop)) return fail("a member of the gang is gone");
    if ((training.is_checkpoint_due() || training.is_done() || stop) && !training.save())
      return fail(std::string("the checkpoint cannot be written: ") + std::strerror(errno));
    training.tell_progress(training.is_done() || stop);
  }
  const auto step = static_cast<std::uintmax_t>(training.at());
  if (!training.is_done()) {
    if (training.speaks()) std::printf("interrupted: checkpoint at step %ju\n", step);
    return kInterrupted;
  }
  const double per_s = static_cast<double>(step - first) / (now_s() - start);
  if (training.speaks())
    std::printf("done: step %ju, held-out accuracy %.1f %%, %.0f steps/s\n", step,
                training.accuracy_percent(), per_s);
  return 0;
}

// Reads "--name value" pairs; returns the error, or an empty text.
std::string parse(std::span<char*> arguments, Options& options) {
  const std::pair<std::string_view, double*> numbers[] = {{"--steps", &options.steps},
                                                          {"--batch", &options.batch},
                                                          {"--seed", &options.seed},
                                                          {"--every", &options.every},
                                                          {"--step-ms", &options.step_ms}};
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string_view name = arguments[i];
    if (i + 1 == arguments.size()) return std::string(name) + " needs a value";
    const auto* found =
        std::ranges::find(numbers, name, &std::pair<std::string_view, double*>::first);
    if (name == "--checkpoint") {
      options.checkpoint = arguments[i + 1];
    } else if (found == std::end(numbers)) {
      return "unknown option " + std::string(name) + ": there are --steps --batch --seed --every " +
             "--step-ms --checkpoint";
    } else if (*found->second = number(arguments[i + 1]); *found->second <= 0) {
      return std::string(name) + " is a number above 0";
    }
  }
  return "";
}

int main_of(std::span<char*> arguments) {
  Options options;
  options.checkpoint = "trainer-" + environment("FAIRLEAD_JOB_ID", "0") + ".ckpt";
  if (const std::string problem = parse(arguments, options); !problem.empty()) return fail(problem);
  const int rank = std::atoi(environment("RANK", "0").c_str());
  const int size = std::atoi(environment("WORLD_SIZE", "1").c_str());
  if (rank < 0 || rank >= size) return fail("RANK is below WORLD_SIZE");
  setvbuf(stdout, nullptr, _IOLBF, 0);

  std::string error;
  std::optional<Gang> gang = Gang::join(rank, size, environment("MASTER_ADDR", "127.0.0.1"),
                                        environment("MASTER_PORT", "29500"), error);
  if (!gang) return fail(error);
  // From here on SIGTERM waits for the end of a step. A process that waits for a signal does not seem to block it, so a
  // handler that is never called shows Fairlead that this one saves its work.
  std::signal(SIGTERM, [](int) {});
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  Training training(options, std::move(*gang));
  if (!training.is_valid())
    return fail("a batch has at most " + std::to_string(kTrainPoints) + " points");
  if (!training.resume()) return fail(options.checkpoint + " is not a checkpoint of this run");
  const double speed =
      number(environment("FAIRLEAD_SPEED", "0")) * number(environment("FAIRLEAD_GPUS", "1"));
  return run(training, Pace(speed > 0 ? options.step_ms / 1000 * size / speed : 0));
}

}  // namespace
}  // namespace trainer

int main(int argc, char** argv) {
  return trainer::main_of(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
}
