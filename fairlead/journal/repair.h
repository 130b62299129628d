// Cutting a journal after the last block that can be believed.
#pragma once

#include "fairlead/journal/journal.h"

#include <filesystem>

namespace fairlead {

// Writes the journal at `from`, up to the last block that can be believed, to `to`, which may be
// `from` itself: then the original is kept beside it first, with ".damaged" added to its name. The
// result tells what was found, and so what is lost: `rest`. If nothing has to be cut, nothing is
// written, unless `to` is another file. Errors: `from` cannot be read or is no journal; whole blocks
// would be lost and `cut_damage` is false; `to` cannot be written; there is an original already.
Result<JournalEnd> repair_journal(const std::filesystem::path& from,
                                  const std::filesystem::path& to, bool cut_damage);

}  // namespace fairlead
