// The ConfigMap `fairlead-state`: what the scheduler that led before has left, and where this one
// leaves the same.
//
// Every write carries the version that was read, so a late write of an earlier leader is refused after
// the first of the next. What cannot be written is left out and tried again: losing it costs a turn.
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

  // Asks for what is there, as wake() does; is_read() once it is known, or known that it cannot be.
  void read();
  bool is_read() const { return has_answer_; }
  // The bytes as they were read; empty: there are none.
  const std::string& found() const { return found_; }

  // True if something changed that is not written, nothing is on its way, and the last write was long
  // enough ago for another.
  bool is_due() const;
  void touch() { is_touched_ = true; }
  // Leaves these bytes, `about` in words, after what is on its way. Nothing is written where
  // they are more than a ConfigMap has room for.
  void write(std::string bytes, std::string about);
  // Nothing is left to be written.
  bool is_written() const { return !is_touched_ && !wanted_ && call_ == 0; }
  // Why the last call failed; empty: it did not.
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
  std::optional<std::string> version_;  // as it is there; empty: it is not; nothing: not known
  struct Wanted {
    std::string bytes;
    std::string about;
  };
  std::optional<Wanted> wanted_;
  std::uint64_t number_ = 0;  // of what is wanted
  std::uint64_t sent_ = 0;    // of what was sent last
  bool is_touched_ = false;
  Time next_;  // no write before
  Time retry_;
  int failures_ = 0;  // in a row
  std::string trouble_;
};

}  // namespace fairlead
