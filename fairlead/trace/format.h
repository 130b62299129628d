// The trace formats that can be read, in one table, like policies.
//
// A new format needs its own file in trace/readers with its entry, and one line each in trace/readers/readers.h,
// format.cc and CMakeLists.txt.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Returns training steps per second of a Gavel job type, for example "ResNet-50 (batch size 64)", on `gpus` V100
// GPUs of one node; 0 if not known.
using StepsPerSecond = std::function<double(std::string_view job_type, std::int64_t gpus)>;

struct ReadOptions;  // trace.h

// The beginning of a file (a few kilobytes, decompressed), from which its format is recognised.
class TraceHead {
 public:
  explicit TraceHead(std::string_view bytes);

  // Returns the first byte of the beginning that is not blank; '\0' if there is none.
  char first_byte() const;
  // The first line's fields, without quotes and blanks around them.
  std::vector<std::string_view> fields(char separator) const;
  // Returns whether all of `names` are among them.
  bool has(char separator, std::initializer_list<std::string_view> names) const;
  // Returns the most frequent of , ; tab and | in the header, outside of quotes; ',' if there is none.
  char separator() const;
  // Returns whether `text` stands anywhere in it.
  bool mentions(std::string_view text) const { return bytes_.find(text) != bytes_.npos; }
  // Returns whether the second line is dashes below the names of the first.
  bool is_ruled() const;

 private:
  std::string_view bytes_;
  std::string_view line_;
};

struct TraceFormat {
  std::string_view name;   // the value of --format
  std::string_view file;   // description, a cell of a Markdown table
  std::string_view needs;  // columns, separated by commas; empty: it has no header
  Reading reading;         // by default
  // If a file looks like several formats, the lowest rank wins, and among equal ranks the first in the table.
  int rank;
  bool (*is)(const TraceHead& head);
  // Passes every row of `source` to `builder` and stops at the first error.
  Status (*read)(ByteSource& source, const ReadOptions& options, WorkloadBuilder& builder);
};

// Returns all formats in the order of lists.
std::span<const TraceFormat* const> all_formats();
// Null if there is none of that name.
const TraceFormat* find_format(std::string_view name);
// All names, separated by '|', for messages.
std::string_view format_names();
// Returns the format of a file that starts with `head`; null if it is not recognised.
const TraceFormat* format_of(std::string_view head);
// Returns the nearest format of an unrecognised file, and the fields that it lacks. Empty if it is like none.
std::string nearest_format(std::string_view head);
// Returns the kind of a file that is not a trace, and advice on it; empty if it is not recognised.
std::string_view instead_of_a_trace(std::string_view head);

}  // namespace fairlead
