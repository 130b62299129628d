// One workload, two worlds: the simulator, and the daemon with clients and tasks on a machine in
// memory. The same policies decide the same, at the same second. If GPU types differ, the simulator
// knows speeds from a table, and the daemon measures the steps of silent jobs. The instants of a live engine all
// differ, so the immediate result of a step is reported a millisecond later.

#include "fairlead/engine/tables.h"
#include "fairlead/http/http.h"
#include "fairlead/io/sim_io.h"
#include "fairlead/serve/server.h"
#include "testing/steps.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

namespace fairlead {
namespace {

struct Twin {
  const char* policy;
  const char* gpus = "6xV100,4xK80";
  bool has_speeds = false;  // if GPU types differ; policies then know measured speeds
  friend std::ostream& operator<<(std::ostream& out, const Twin& twin) {
    return out << twin.policy << " on " << twin.gpus;
  }
};

// Users submit over ten days enough work to keep the machine busy for longer. Two events hardly
// ever happen in the same second, except at the ends of quanta.
std::vector<TestJob> drawn_jobs(std::uint64_t seed) {
  Rng rng(seed);
  std::vector<TestJob> jobs(25);
  for (TestJob& job : jobs) {
    job = {.gpus = 1 + static_cast<std::uint32_t>(rng.below(4)),
           .submit_s = static_cast<std::int64_t>(rng.below(900'000)),
           .work_s = 30'000 + static_cast<std::int64_t>(rng.below(600'000)),
           .user = fmt::format("user{}", 1 + rng.below(3))};
    job.model = fmt::format("{} on {}", job.user, job.gpus);
  }
  for (TestJob& job : jobs) job.pinned = rng.below(3) == 0 ? kPinnedAlways : kMayMove;
  std::ranges::stable_sort(jobs, {}, &TestJob::submit_s);
  return jobs;
}

// A GPU of a quarter of the speed makes the models of three users 4, 2.8 and 1.1 times slower.
constexpr std::array<int, 3> kPowers = {100, 75, 10};

// Returns a models file. Gangs of each size have a model of their own, because a simulated task works equally fast on
// any number of GPUs.
std::string models() {
  std::string text = "models:\n";
  for (std::size_t user = 1; user <= kPowers.size(); ++user) {
    for (int gpus = 1; gpus <= 4; ++gpus) {
      text += fmt::format("- {{name: user{} on {}, weight: 1, rates: {{V100: 1, K80: {}}}}}\n",
                          user, gpus, std::pow(0.25, kPowers.at(user - 1) / 100.0));
    }
  }
  return text;
}

// Submits each job when its time has come.
class Submitters : public SimClients {
 public:
  Submitters(SimIo& io, const std::vector<TestJob>& jobs) : io_(io), jobs_(jobs) {
    io.network().set_clients(this);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      io.network().wake(i, Time{} + seconds(jobs[i].submit_s));
    }
  }
  void wake(std::uint64_t i) override {
    const TestJob& job = jobs_[i];
    const std::string work = fmt::format("{}", job.work_s * 1000);
    // It writes a checkpoint at every moment, so a move costs it nothing, as in the simulator.
    const auto uid = static_cast<std::uint32_t>(std::stoul(job.user.substr(4)));
    const std::string power = fmt::format("power={}", kPowers.at(uid - 1));
    const nlohmann::json body = {{"command", {"work", work, "every=1", power, "silent"}},
                                 {"model", job.model},
                                 {"folder", "/data"},
                                 {"gpus", job.gpus},
                                 {"pinned", job.pinned}};
    const ConnectionId connection = io_.network().connect({.uid = uid, .gid = uid});
    io_.network().send(connection, http_request("POST", "/v1/jobs", body.dump()), {});
  }
  void received(ConnectionId /*connection*/, std::string_view bytes) override {
    if (bytes.find("201 Created") != std::string_view::npos) ++submitted_;
  }
  void closed(ConnectionId /*connection*/) override {}
  std::size_t submitted() const { return submitted_; }

 private:
  SimIo& io_;
  const std::vector<TestJob>& jobs_;
  std::size_t submitted_ = 0;
};

Happened live(const std::vector<TestJob>& jobs, const Twin& twin) {
  SimIo io(1, {.delays = false});
  Submitters clients(io, jobs);
  const auto server = Server::open(io, {.machine = stand_in_machine(twin.gpus).value(),
                                        .policy = twin.policy,
                                        .seed = 3,
                                        .grace = seconds(60)});
  FL_CHECK(server.has_value(), "{}", server.error().message);
  const JobCounts& done = (*server)->tables().counts;
  while (std::cmp_less(done.finished, jobs.size())) FL_CHECK((*server)->step().value_or(false));
  EXPECT_EQ(clients.submitted(), jobs.size());
  HappenedSink sink;
  auto blocks = BlockReader::read(io.stream("journal.flj").value());
  FL_CHECK(blocks.has_value() && read_journal(std::move(*blocks), sink).has_value());
  return std::move(sink.happened);
}

// Returns the run in the simulator. A twin with speeds has a policy that knows measured speeds only, as in the daemon.
Happened simulate(const std::vector<TestJob>& jobs, const Twin& twin) {
  const auto fill = [](JobRow& row, const TestJob& job) {
    row.user = job.user;
    row.model = job.model;
    row.gpus = job.gpus;
    row.extras.pinned = job.pinned;
    row.submit = {job.submit_s * 1000};
    row.duration = seconds(job.work_s);
  };
  SimulationInputs inputs{.cluster = stand_in_machine(twin.gpus)->cluster,
                          .trace = Trace(numbered_jobs(jobs, fill)),
                          .settings = {.costs = Costs::none()},
                          .seed = 3};
  if (twin.has_speeds) {
    inputs.models = parse_models_yaml(models(), "test").value();
    inputs.settings.profiles = {.source = SpeedSource::kMeasured, .length = {}};
  }
  HappenedSink sink;
  run_policy(std::move(inputs), twin.policy, {&sink});
  return std::move(sink.happened);
}

// "55.002s j0 stop" is "55s j0 stop".
std::vector<std::string> to_the_second(std::vector<std::string> lines) {
  for (std::string& line : lines) {
    const std::size_t unit = line.find('s');
    line = fmt::format("{:.0f}{}", std::stod(line.substr(0, unit)), line.substr(unit));
  }
  return lines;
}

class SameTwins : public testing::TestWithParam<Twin> {};

TEST_P(SameTwins, DecideTheSame) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const std::vector<TestJob> jobs = drawn_jobs(seed);
    const Happened simulated = simulate(jobs, GetParam());
    const Happened lived = live(jobs, GetParam());
    EXPECT_EQ(to_the_second(lived.steps), to_the_second(simulated.steps)) << "seed " << seed;
    EXPECT_EQ(to_the_second(lived.finishes), to_the_second(simulated.finishes)) << "seed " << seed;
    EXPECT_GE(lived.steps.size(), jobs.size());
  }
}

double mean_finish_s(const Happened& happened) {
  double sum = 0;
  for (const std::string& line : happened.finishes) sum += std::stod(line);
  return sum / static_cast<double>(happened.finishes.size());
}

// The simulator knows a speed from the start of a run, and the daemon some seconds later, with other rounding. A tie may
// then be decided otherwise, so the figures are compared.
TEST(Twins, AgreeOnTheFiguresIfSpeedsAreMeasured) {
  const Twin twin{"gandiva-fair:quantum_s=60000", "6xV100,4xK80@0.25", true};
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const std::vector<TestJob> jobs = drawn_jobs(seed);
    const Happened simulated = simulate(jobs, twin);
    const Happened lived = live(jobs, twin);
    EXPECT_NEAR(mean_finish_s(lived) / mean_finish_s(simulated), 1, 0.001) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, SameTwins,
                         testing::Values(Twin{"fifo:skip=true"}, Twin{"las:quantum_s=60000"},
                                         Twin{"stride:quantum_s=60000"},
                                         Twin{"gang-stride:quantum_s=60000"},
                                         Twin{"tiresias:limits=600000/3600000"},
                                         Twin{"gandiva-fair:quantum_s=60000", "8xV100"}),
                         [](const auto& tested) {
                           std::string name(tested.param.policy);
                           name = name.substr(0, name.find(':'));
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace fairlead
