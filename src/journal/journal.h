// The journal: everything that happened in a run, in order, as typed records.
//
// It is the only source for metrics, reports, replay and the audit. The engine writes Records to a
// RecordSink; metrics and audit are sinks, and so is JournalFile, which encodes the records, hashes
// the encoding and compresses it to disk. read_journal gives the same records back, so a run can be
// measured from memory or from its file with the same result.
#pragma once

#include "fairlead/base/bytes.h"
#include "fairlead/base/result.h"
#include "fairlead/journal/record.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void on(const Record& record) = 0;
};

// Passes every record to several sinks, in order. The sinks must outlive it.
class Tee : public RecordSink {
 public:
  explicit Tee(std::vector<RecordSink*> sinks) : sinks_(std::move(sinks)) {}
  void on(const Record& record) override {
    for (RecordSink* sink : sinks_) sink->on(record);
  }

 private:
  std::vector<RecordSink*> sinks_;
};

// The journal's name in a result folder.
constexpr std::string_view kJournalName = "journal.flj";

// Encodes records and hashes the encoding; writes it, zstd-compressed, to a file if one is given.
//
// The hash (64 bits, in the manner of FNV-1a, over the uncompressed encoding block by block) names
// the run: equal build inputs, seed and trace give an equal hash on every compiler.
class JournalFile : public RecordSink {
 public:
  // Only hashes.
  JournalFile();
  // Writes to `path`, which appears at close(). Error: the file cannot be created.
  static Result<JournalFile> create(const std::filesystem::path& path);
  JournalFile(JournalFile&&) noexcept;
  ~JournalFile() override;

  // REQUIRES: not closed; the record is not earlier than the one before.
  void on(const Record& record) override;
  // Finishes the file. Error: it could not be written in full. REQUIRES: called once.
  Status close();
  // 16 hexadecimal digits. REQUIRES: close() was called.
  std::string hash() const;

 private:
  struct Output;
  void flush();

  Writer buffer_;
  Time last_;
  bool closed_ = false;
  std::uint64_t hash_;
  std::unique_ptr<Output> output_;
};

// Appends the encoding of `record` to `out`; `before` is the time of the record before it.
// REQUIRES: record.t >= before; of a Place, a mask for each slice, and nodes in increasing order.
void encode_record(Writer& out, const Record& record, Time before);

// Passes every record of the journal at `path` to `sink`. Errors: not a journal, or damaged.
Status read_journal(const std::filesystem::path& path, RecordSink& sink);
// The same for an uncompressed encoding, as a fuzzer makes it.
Status decode_journal(Reader reader, RecordSink& sink);

}  // namespace fairlead
