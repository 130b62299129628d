// The journal decoder, and the audit behind it: whatever the bytes say, an error or problems, no
// crash.

#include "fairlead/journal/audit.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fairlead::Audit audit;
  const bool whole = fairlead::decode_journal(fairlead::Reader({bytes, size}), audit).has_value();
  if (audit.passed() && !whole) __builtin_trap();  // a cut journal must not pass
  return 0;
}
