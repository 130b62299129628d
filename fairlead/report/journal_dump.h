// A journal as text, one line per record, for reading by eye, and for grep, jq and notebooks.
//
// A line has the record's time in milliseconds (t_ms), its kind, and every field of that kind by
// name; docs/formats.md lists them. Jobs, users, nodes and GPU types are rows, as in the journal.
#pragma once

#include "fairlead/journal/journal.h"
#include "fairlead/report/csv_writer.h"

#include <functional>
#include <optional>
#include <string_view>

namespace fairlead {

class JournalDump : public RecordSink {
 public:
  enum class Form : std::uint8_t {
    kCsv,   // a column for each field of any kind; empty if the kind does not have it
    kJson,  // an object with the fields of the kind
  };
  using Output = std::function<void(std::string_view)>;

  // Passes the text to `output`, line by line.
  JournalDump(Form form, Output output);

  void on(const Record& record) override;

 private:
  void write_csv(const Record& record);
  void write_json(const Record& record);

  Output output_;
  std::optional<CsvWriter> csv_;
};

}  // namespace fairlead
