// The ConfigMap `fairlead-state`: the recorded state of the previous leader, which this scheduler replaces
// with its own.
//
// Every write carries the version that was read, so a late write of an earlier leader is refused after
// the first write of the next. A failed write is skipped and tried again later: its loss costs a turn.
#pragma once

#include "fairlead/kube/listener.h"

#include <optional>
#include <string>
#include <utility>

namespace fairlead {

class StateMap : public KubeListener {
 public:
  // REQUIRES: the door outlives this.
  StateMap(KubeDoor& door, std::string name_space)
      : door_(door), name_space_(std::move(name_space)) {}

  // Reads the ConfigMap, like wake(). is_read() is true once the content is known, or cannot be known.
  void read();
  bool is_read() const { return has_answer_; }
  // Returns the bytes that were read; empty: there are none.
  const std::string& found() const { return found_; }

  // Returns whether a change is unwritten, nothing is on its way, and the last write was long enough ago.
  bool is_due() const;
  void touch() { is_touched_ = true; }
  // Writes these bytes, described by `about`, after the present call. Writes nothing if they are too large
  // for a ConfigMap.
  void write(std::string bytes, std::string about);
  // Returns whether everything is written.
  bool is_written() const { return !is_touched_ && !wanted_ && call_ == 0; }
  // Returns why the last call failed; empty: it did not.
  const std::string& trouble() const { return trouble_; }

  bool handle(const KubeEvent& event) override;
  void wake() override;

 private:
  void handle_read(const KubeEvent& event);
  void handle_write(const KubeEvent& event);
  void fail(const KubeEvent& event, bool is_read);
  std::string path() const;

  KubeDoor& door_;
  const std::string name_space_;
  CallId call_ = 0;
  bool is_reading_ = false;
  bool has_answer_ = false;
  std::string found_;
  std::optional<std::string>
      version_;  // the server's; empty: there is no ConfigMap; nothing: not known
  struct Wanted {
    std::string bytes;
    std::string about;
  };
  std::optional<Wanted> wanted_;
  std::uint64_t number_ = 0;  // number of the latest bytes to write
  std::uint64_t sent_ = 0;    // number of the bytes sent last
  bool is_touched_ = false;
  Time next_;  // earliest time of the next write
  Time retry_;
  int failures_ = 0;  // in a row
  std::string trouble_;
};

}  // namespace fairlead
