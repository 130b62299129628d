// Recovery: continues a run whose journal stops before its end, as if the run had not been interrupted.
//
// The tables come from folding the records. The policy's state comes from the last Snapshot and from running the policy
// again on the later events; each decision must equal the journal's. The policy is restarted from the folded tables if
// there is no usable snapshot, or if a decision differs (another version). A snapshot of another policy or with other
// options is not usable. A restarted policy gets an arrival of every job in the tables, so no job is lost.
// Recovery::policy reports the outcome.
//
// A journal may stop in the middle of an instant. If the last instant's decision may be incomplete, its records
// are dropped: none of its steps was carried out, because steps are journalled first.
//
// Source: ours, after write-ahead logs with checkpoints.
//
// Time and memory: O(records).
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/engine/backend.h"
#include "fairlead/engine/engine.h"
#include "fairlead/journal/journal.h"

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The records of a journal and the texts and arrays that they point to. Filled by read_journal().
class RecordedRun : public RecordSink {
 public:
  void on(const Record& record) override;

  const std::vector<Record>& records() const { return records_; }
  // Drops the records of the last instant. For a journal that may have been cut within that instant; a journal
  // that ends with a synced block (JournalFile::sync) has all of it.
  void drop_last_instant();

 private:
  std::string_view keep(std::string_view text);

  std::vector<Record> records_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::string>> gpu_types_;
  std::deque<std::vector<Slice>> gangs_;
  std::deque<std::vector<std::uint64_t>> masks_;
  std::deque<std::vector<std::uint8_t>> states_;
  std::deque<std::vector<Time>> wakes_;
};

enum class PolicyRecovery : std::uint8_t {
  kReplayed,   // with its whole state
  kRestarted,  // from the folded tables
};

struct Recovery {
  PolicyRecovery policy = PolicyRecovery::kRestarted;
  std::string why;  // reason of a restart; empty: not restarted
};

// Brings `engine` to the end of the journal. Afterwards call Engine::replace_world().
//
// `world`: the world in which the engine will continue. If `drives` is false, it is at the end of the journal. If
// `drives` is true, it is at the journal's beginning, like a new simulated world: recovery replays it, with the
// events of the journal.
//
// REQUIRES: the engine was made with the same cluster and with `policy`, which has decided nothing yet and has the
// options `policy_options`. The engine's own world and journal may be any; they are not used.
//
// Error: a decision differs from the journal's. The engine and the world are then unusable; try again with new
// ones and `replays` false.
Result<Recovery> recover(Engine& engine, const RecordedRun& run, std::string_view policy_options,
                         Policy& policy, Backend& world, bool drives, bool replays = true);

}  // namespace fairlead
