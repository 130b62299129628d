// A table of columns that Python reads by name. Libraries with the Arrow C stream interface (pandas, polars,
// DuckDB, pyarrow) read it without a copy of numbers.
// https://arrow.apache.org/docs/format/CStreamInterface.html
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct ArrowArrayStream;

namespace fairlead::python {

// Texts, one after the other; row i is bytes[offsets[i], offsets[i + 1]).
struct Texts {
  std::vector<std::int64_t> offsets = {0};
  std::string bytes;
  void add(std::string_view text) {
    bytes += text;
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  }
};

struct Column {
  std::string name;
  // Not-a-number means unknown; it is exported as null.
  std::variant<std::vector<double>, std::vector<std::int64_t>, Texts> values;
  std::size_t size() const;
};

// Columns of equal size.
struct Table {
  std::vector<Column> columns;
  std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
};

// Returns a stream of one batch. The caller releases and deletes it; the table lives until then.
ArrowArrayStream* export_stream(std::shared_ptr<const Table> table);
// Deletes the stream, and first releases it if the consumer has not.
void delete_stream(ArrowArrayStream* stream);

}  // namespace fairlead::python
