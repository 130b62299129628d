// What the fuzz targets of the trace readers share: the bytes are a file of one format.
#pragma once

#include "fairlead/trace/format.h"

#include <cstddef>
#include <cstdint>

namespace fairlead {

// Reads the bytes in strict and in lenient reading. Aborts if the rows do not add up, if a job
// breaks the contract of a workload, or if the workload does not survive conversion to native CSV.
void fuzz_reader(TraceFormat format, const std::uint8_t* data, std::size_t size);

}  // namespace fairlead

// The entry point that libFuzzer and main.cc call.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
