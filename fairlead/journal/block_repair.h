// Repairs damaged blocks of a journal if the repair needs no guess.
//
// Two things can be undone, and each result is verified by the check value of the block and by the
// hash of all content up to it:
//
//   a changed byte      anywhere in a block, or in the first four bytes of the file. The check value
//                       shows where the byte may be: if a byte with n bytes behind it differs by d,
//                       the register of the CRC is d after n + 1 steps back.
//   bytes between       two blocks, of which the second goes on where the first ends: strange bytes,
//                       or a block that stands there twice.
//
// A block with more than one changed byte is lost. The blocks after a lost one are useless: their
// records are changes to unknown tables, and a snapshot has only the policy's state, without the
// tables.
//
// Costs: O(bytes) of time for each candidate of a repair, mostly one for each damaged place; O(bytes) of memory.
#pragma once

#include "fairlead/base/units.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct BlockRepair {
  std::vector<std::uint64_t> restored;  // offsets of the bytes that were changed, before any drop
  std::uint64_t dropped = 0;            // bytes between blocks
  bool is_needed() const { return !restored.empty() || dropped > 0; }
};

// Repairs the journal in `bytes`; the first damage that cannot be repaired, and all bytes after it, stay.
BlockRepair repair_blocks(std::string& bytes);

// A summary of the records in whole blocks after a lost one.
struct LostRecords {
  Duration span;           // from the last kept record to the last lost one, at least
  std::uint64_t jobs = 0;  // jobs that came
  std::uint64_t last = 0;  // the number of the last of those blocks
};
LostRecords lost_records(std::string_view rest);

}  // namespace fairlead
