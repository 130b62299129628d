// Putting right what is damaged in the blocks of a journal, as far as nothing has to be guessed.
//
// Two things can be undone, and each result is verified by the check value of the block and by the
// hash of all content up to it:
//
//   a changed byte      anywhere in a block, or in the first four bytes of the file. The check value
//                       says where the byte may be: of the difference d of a byte with n bytes behind
//                       it, the register of the CRC is d after n + 1 steps back.
//   bytes between       two blocks, of which the second goes on where the first ends: strange bytes,
//                       or a block that stands there twice.
//
// A block with more changes than one byte is lost. No block behind a lost one is of use: its records
// are changes of tables that are not known, and a snapshot has what the policy remembers, not the
// tables.
//
// Costs: O(bytes) for each place that is damaged, and of memory.
#pragma once

#include "fairlead/base/units.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct Mending {
  std::vector<std::uint64_t> restored;  // offsets of the bytes that were changed, before any drop
  std::uint64_t dropped = 0;            // bytes between blocks
  bool is_needed() const { return !restored.empty() || dropped > 0; }
};

// Puts right what it can of the journal that `bytes` are; what cannot be, and what follows it, stays.
Mending mend_blocks(std::string& bytes);

// What the records say that stand in whole blocks behind a lost one.
struct LostRecords {
  Duration span;           // from the last record that is kept to the last of them, at least
  std::uint64_t jobs = 0;  // that came
  std::uint64_t last = 0;  // the number of the last of those blocks
};
LostRecords lost_records(std::string_view rest);

}  // namespace fairlead
