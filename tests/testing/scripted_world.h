// An engine in a world that follows the script of a test, instant by instant, and all consequences,
// as text:
//
//   ScriptedWorld world;                            // two nodes of 4 GPUs, one user
//   world.arrive(0, 4);                             // job 0 asks for 4 GPUs at 0 s
//   world.tell(5, job_event(EventKind::kFinished, 0, 1));
//   world.run();
//   EXPECT_EQ(world.lines_at(5), (Lines{"finished j0"}));
//
// The policy is FIFO, first fit. "j0#2" is the second run of job 0, "n1:c" are GPUs 2 and 3 of node
// 1. Lines that begin with "->" are steps that the world is asked to carry out; the others are
// records of the journal.
#pragma once

#include "fairlead/engine/engine.h"
#include "fairlead/model/speed.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

using Lines = std::vector<std::string>;

Event job_event(EventKind kind, std::size_t job, RunId run = 0);
Event node_event(EventKind kind, std::size_t node, std::uint64_t gpus = kAllGpus);

class ScriptedWorld {
 public:
  // The events of the world at one instant.
  struct Instant {
    std::vector<GroupSpec> groups{};
    std::vector<UserSpec> users{};
    std::vector<NodeJoin> nodes{};
    std::vector<JobSpec> jobs{};
    std::vector<Event> events{};
    Time present{};             // Batch::present
    std::optional<Time> now{};  // Batch::now, if it is not the instant's own
  };

  // The script, in seconds.
  Instant& at(std::int64_t s) { return backend_.script[Time{s * 1000}]; }
  void tell(std::int64_t s, const Event& event) { at(s).events.push_back(event); }
  // The next job, of that user.
  void arrive(std::int64_t s, std::uint32_t gpus, UserId user = UserId(0));
  // True if the world reports the results of its steps; and its reaction to each of them.
  bool reports_steps = false;
  std::function<void(Time now, const Step& step)> on_step{};
  // The policy's actions beyond FIFO.
  std::function<void(const View& view, Plan& plan)> also_decide{};
  EngineOptions options{};

  // Runs to the end of the script and of all timers. REQUIRES: called once.
  void run();

  const Lines& lines() const { return lines_; }  // "5s finished j0"
  Lines lines_at(std::int64_t s) const;          // lines of one instant, without its time
  Lines lines_with(std::string_view text) const;
  const std::vector<Time>& decisions() const { return policy_.decisions; }
  const EngineCounts& counts() const { return engine_->counts(); }
  const Tables& tables() const { return engine_->tables(); }

 private:
  struct Script : Backend {
    explicit Script(ScriptedWorld& of) : world(of) {}
    Batch wait(Time until, bool awaited) override;
    std::span<const SpeedChange> expect(Time now, std::span<Step> steps) override;
    void carry_out(Time now, std::span<const Step> steps) override;
    bool reports_steps() const override { return world.reports_steps; }

    ScriptedWorld& world;
    std::map<Time, Instant> script;
    Instant current;
  };
  struct Fifo : Policy {
    explicit Fifo(ScriptedWorld& of) : world(of) {}
    std::string_view name() const override { return "scripted-fifo"; }
    void decide(const View& view, Plan& plan) override;
    void fields(Archive&) override {}

    ScriptedWorld& world;
    std::vector<JobId> queue;
    std::vector<Time> decisions;
  };
  struct Log : RecordSink {
    explicit Log(ScriptedWorld& of) : world(of) {}
    void on(const Record& record) override;
    ScriptedWorld& world;
  };
  void write(Time t, const std::string& line);

  Script backend_{*this};
  Fifo policy_{*this};
  Log log_{*this};
  Speed speed_;
  std::optional<Engine> engine_;
  std::size_t jobs_ = 0;
  Lines lines_;
};

}  // namespace fairlead
