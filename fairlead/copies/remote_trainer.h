// A trainer on another machine: its copy program (copy_program.h) passes orders and answers on, with the files that they
// name.
#pragma once

#include "fairlead/copies/copy_stream.h"
#include "fairlead/copies/trainer.h"

#include <filesystem>
#include <functional>

namespace fairlead {

constexpr int kLostTrainer = 128 + 1;  // as after SIGHUP

class RemoteTrainer : public Trainer {
 public:
  // `stream`: of a copy program that was accepted; `folder`: of the files that orders name; `now_s`: a clock that never
  // goes back.
  RemoteTrainer(CopyStream stream, std::filesystem::path folder, std::function<double()> now_s)
      : stream_(std::move(stream)), folder_(std::move(folder)), now_s_(std::move(now_s)) {}

  void tell(std::string_view line) override;
  void end_input() override {
    stream_.send("done");
    stream_.pump();
  }
  void interrupt() override {
    stream_.send("leave");
    stream_.pump();
  }
  void add_files(std::vector<pollfd>& files) const override { stream_.add_file(files); }
  bool has_ended() override;
  std::optional<std::string> line() override;
  // Waits for ten minutes at most. Returns kLostTrainer if the connection ended first.
  int reap() override;

 private:
  CopyStream stream_;
  std::filesystem::path folder_;
  std::function<double()> now_s_;
  std::string answer_file_;  // which the last order named
  std::optional<int> exit_code_;
};

}  // namespace fairlead
