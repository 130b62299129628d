// A trainer that is a child process: orders on its standard input, answers in the file FAIRLEAD_ANSWERS. It ends when its
// input does.
#pragma once

#include "fairlead/copies/trainer.h"
#include "fairlead/io/descriptor.h"

#include <filesystem>
#include <memory>
#include <poll.h>
#include <sys/types.h>

namespace fairlead {

class LocalTrainer : public Trainer {
 public:
  // Starts `command` as copy `number` with this program's environment and the copy's own variables. `folder`: of the
  // files that orders name. Error: the system refuses.
  static Result<std::unique_ptr<Trainer>> start(const std::vector<std::string>& command,
                                                const CopyPlace& place, std::size_t number,
                                                const std::filesystem::path& folder);
  LocalTrainer(const LocalTrainer&) = delete;
  LocalTrainer& operator=(const LocalTrainer&) = delete;
  // Kills the process group of a trainer that still runs.
  ~LocalTrainer() override;

  void tell(std::string_view line) override;
  void end_input() override { orders_ = Descriptor(); }
  void interrupt() override;
  void add_files(std::vector<pollfd>& files) const override;
  bool has_ended() override;
  std::optional<std::string> line() override;
  int reap() override;

 private:
  LocalTrainer() = default;
  void read_more();

  pid_t pid_ = 0;  // 0: it was reaped
  Descriptor process_, orders_, answers_;
  std::string said_;
};

}  // namespace fairlead
