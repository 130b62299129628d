#include "reader.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fairlead::fuzz_reader(fairlead::TraceFormat::kSacct, data, size);
  return 0;
}
