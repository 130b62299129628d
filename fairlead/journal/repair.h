// Repairing a journal: what can be put right is (journal/mend.h), and the rest is cut, with all that
// follows.
#pragma once

#include "fairlead/journal/journal.h"
#include "fairlead/journal/mend.h"

#include <filesystem>

namespace fairlead {

struct Repair {
  JournalEnd end;  // the end of the kept part; `rest` is lost
  Mending mending;
  LostRecords lost;  // records lost with `rest`
};

// Writes the journal at `from`, put right, up to the last block that can be believed, to `to`, which may
// be `from` itself: then the original is kept beside it first, with ".damaged" added to its name. If
// nothing has to be changed, nothing is written, unless `to` is another file. Errors: `from` cannot be
// read or is not a journal; whole blocks would be lost and `cut_damage` is false; `to` cannot be written;
// there is an original already. O(bytes), of memory too.
Result<Repair> repair_journal(const std::filesystem::path& from, const std::filesystem::path& to,
                              bool cut_damage);

}  // namespace fairlead
