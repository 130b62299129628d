// A node of a fake cluster and its agent, with cgroups in memory.
#pragma once

#include "fairlead/agent/agent.h"
#include "fairlead/kube/fake_server.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

// Cgroups outlive agents. Freezing completes at the second query of the state.
class MemoryFreezer : public PodFreezer {
 public:
  explicit MemoryFreezer(FakeServer& server) : server_(server) {}

  PodState state(const std::string& uid) override {
    const auto found = states_.find(uid);
    if (found == states_.end()) return PodState::kThawed;
    if (found->second == PodState::kFreezing) {
      server_.cluster().freeze(uid, true);
      found->second = PodState::kFrozen;
      return PodState::kFreezing;
    }
    return found->second;
  }
  Status set(const std::string& uid, bool is_frozen) override {
    if (!is_frozen) {
      server_.cluster().freeze(uid, false);
      states_.erase(uid);
    } else if (!states_.contains(uid)) {
      states_[uid] = PodState::kFreezing;
    }
    return {};
  }
  std::vector<std::string> frozen() override {
    std::vector<std::string> uids;
    uids.reserve(states_.size());
    for (const auto& [uid, state] : states_) uids.push_back(uid);
    return uids;
  }

 private:
  FakeServer& server_;
  std::map<std::string, PodState> states_;
};

class TestingNode {
 public:
  // `logs`: the output of pods (AgentOptions::logs).
  TestingNode(FakeServer& server, std::string name, std::uint32_t slots_per_gpu = 2,
              std::filesystem::path logs = {})
      : server_(server),
        name_(std::move(name)),
        slots_per_gpu_(slots_per_gpu),
        logs_(std::move(logs)),
        freezer_(server) {
    begin();
    live();
  }
  TestingNode(const TestingNode&) = delete;
  TestingNode& operator=(const TestingNode&) = delete;

  // Kills the agent like SIGKILL; another agent starts after that time.
  void kill(Duration after) { dies_for_ = after; }
  // Ends the agent in order; no other agent follows.
  void end() {
    agent_->end();
    agent_.reset();
  }
  MemoryFreezer& freezer() { return freezer_; }
  const std::vector<std::string>& said() const { return said_; }

 private:
  void begin() {
    door_ = server_.open();
    agent_ = std::make_unique<Agent>(
        *door_, freezer_,
        AgentOptions{.node = name_, .slots_per_gpu = slots_per_gpu_, .logs = logs_},
        [this](const std::string& line) { said_.push_back(line); });
  }
  // Delivers the agent's events every 10 ms.
  void live() {
    if (dies_for_) {
      agent_.reset();
      door_.reset();
      server_.at(server_.now() + *std::exchange(dies_for_, std::nullopt), [this] { begin(); });
    }
    while (agent_ != nullptr) {
      agent_->wake();
      const KubeEvent event = door_->wait(door_->now());
      if (event.kind == KubeEvent::Kind::kTime) break;
      agent_->handle(event);
    }
    server_.at(server_.now() + milliseconds(10), [this] { live(); });
  }

  FakeServer& server_;
  std::string name_;
  std::uint32_t slots_per_gpu_;
  std::filesystem::path logs_;
  MemoryFreezer freezer_;
  std::unique_ptr<KubeDoor> door_;
  std::unique_ptr<Agent> agent_;
  std::optional<Duration> dies_for_;
  std::vector<std::string> said_;
};

}  // namespace fairlead
