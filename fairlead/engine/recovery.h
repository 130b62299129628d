// Recovery: goes on with a run whose journal stops before its end, as if it had not been interrupted.
//
// The tables come from folding the records. What the policy remembers comes from the last Snapshot,
// and from running it again on the events since, whose decisions must be those of the journal. Where
// there is no snapshot, or it is of another policy or other options, or a decision differs (another
// version), the policy starts anew from the folded tables: it is told of every job that is here, and
// no job is lost. The result says which.
//
// A journal may stop in the middle of an instant: what it has of the last one, if its decision may
// not be whole, is left out, as none of its steps was carried out (they are journalled before).
//
// Source: ours; the idea is that of a write-ahead log with checkpoints.
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

// The records of a journal, with what they point to. Feed it with read_journal().
class RecordedRun : public RecordSink {
 public:
  void on(const Record& record) override;

  const std::vector<Record>& records() const { return records_; }
  // Leaves out the records of the last instant. For a journal that may have been cut within it; one
  // that ends with a block that was synced (JournalFile::sync) has it whole.
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
  kReplayed,   // it remembers everything
  kRestarted,  // from the folded tables
};

struct Recovery {
  PolicyRecovery policy = PolicyRecovery::kRestarted;
  std::string why;  // it was restarted; empty: it was not
};

// Brings `engine` to where the journal stops. It must have been made with the same cluster, a policy
// that has decided nothing yet, whose options are `policy_options`, and any world and journal, which
// are not used. `world`: the one that the engine is to go on with; it stands where the journal stops
// or, if `drives`, at its beginning, as a simulated world does that is made anew: then it is brought
// along, and its events are taken from the journal. Afterwards call Engine::replace_world().
//
// Error: a decision differs from the journal's. The engine and the world are of no further use;
// try again with new ones, and with `replays` false.
Result<Recovery> recover(Engine& engine, const RecordedRun& run, std::string_view policy_options,
                         Policy& policy, Backend& world, bool drives, bool replays = true);

}  // namespace fairlead
