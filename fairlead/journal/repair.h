// Repairs a journal: restores the blocks that need no guess (journal/block_repair.h), and cuts the first
// other damaged block with all blocks behind it.
#pragma once

#include "fairlead/journal/block_repair.h"
#include "fairlead/journal/journal.h"

#include <filesystem>

namespace fairlead {

struct Repair {
  JournalEnd end;  // the end of the kept part; `rest` is lost
  BlockRepair blocks;
  LostRecords lost;  // records lost with `rest`
};

// Writes the journal at `from`, repaired, up to the last block that verifies, to `to`, which may
// be `from` itself: then the original is kept beside it first, with ".damaged" added to its name. If
// nothing has to be changed, nothing is written, unless `to` is another file. Errors: `from` cannot be
// read or is not a journal; whole blocks would be lost and `cut_damage` is false; `to` cannot be written;
// there is an original already. O(bytes), of memory too.
Result<Repair> repair_journal(const std::filesystem::path& from, const std::filesystem::path& to,
                              bool cut_damage);

}  // namespace fairlead
