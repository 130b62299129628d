// The journal: everything that happened in a run, in order, as typed records.
//
// It is the only source for metrics, reports, replay and the audit. The engine writes Records to a
// RecordSink; metrics and audit are sinks, and so is JournalFile, which encodes the records, hashes
// the encoding and compresses it to disk. read_journal gives the same records back, so a run can be
// measured from memory or from its file with the same result.
#pragma once

#include "fairlead/base/bytes.h"
#include "fairlead/base/hash.h"
#include "fairlead/base/result.h"
#include "fairlead/journal/blocks.h"
#include "fairlead/journal/record.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
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

// The end of a journal on disk, and how much of it is valid.
struct JournalEnd {
  enum class State : std::uint8_t {
    kFinished,    // the end record was read, and nothing follows it
    kUnfinished,  // whole blocks without an end record: the run continues, or was cut off
    kDamaged,     // `problem` describes the damage
  };
  State state = State::kUnfinished;
  std::string problem;        // names the file, the byte and the block
  std::uint64_t blocks = 0;   // number of valid blocks
  std::uint64_t bytes = 0;    // offset of their end
  std::uint64_t records = 0;  // number of records in them
  BlocksRest rest;            // the bytes behind them; without a whole block it is a torn tail
  Time last;                  // time of the last record
  StreamHash hash;            // hash of the records
};

// Encodes records and hashes the encoding; writes it to a file, in blocks, if one is given.
//
// The hash (64 bits, in the manner of FNV-1a, over the uncompressed encoding) names the run: equal
// build inputs, seed and trace give an equal hash on every compiler, wherever blocks end.
class JournalFile : public RecordSink {
 public:
  // Only hashes.
  JournalFile();
  // Creates the file at `path` at once, and replaces one that was there. Written records stay, whether
  // or not close() is reached. Error: the file cannot be created.
  static Result<JournalFile> create(const std::filesystem::path& path);
  // Continues the journal at `path`, and passes its records to `before` first. A torn tail is cut; its
  // size is in `end`, if given. Errors: those of read_journal, damage, and a finished journal. O(bytes).
  static Result<JournalFile> append_to(const std::filesystem::path& path, RecordSink& before,
                                       JournalEnd* end = nullptr);
  // Continues after the records for which read_journal() returned `end`. The file ends there, and may
  // come from another machine. For journals that are read after a crash: a block ends only when sync()
  // is called, so no block contains half an instant.
  static JournalFile go_on(const JournalEnd& end, std::unique_ptr<AppendFile> file);
  JournalFile(JournalFile&&) noexcept;
  ~JournalFile() override;

  // REQUIRES: not closed; the record is not earlier than the last one.
  void on(const Record& record) override;
  // Ends the block, and returns once all records would survive a loss of power. Error: they may not
  // be written in full. REQUIRES: not closed.
  Status sync();
  // Finishes the file. Error: it could not be written in full. REQUIRES: called once.
  Status close();
  // 16 hexadecimal digits. REQUIRES: close() was called.
  std::string hash() const;

 private:
  void end_block();

  Writer buffer_;
  std::uint32_t buffered_ = 0;  // records in buffer_
  std::size_t block_bytes_ = kBlockBytes;
  Time last_;
  bool closed_ = false;
  StreamHash hash_;
  std::optional<BlockWriter> file_;
};

// Appends the encoding of `record` to `out`; `before` is the time of the record before it.
// REQUIRES: record.t >= before; of a Place, a mask for each slice, and nodes in increasing order.
void encode_record(Writer& out, const Record& record, Time before);

// Appends the encodings of the records of a run to a Writer. REQUIRES: the Writer outlives it.
class RecordEncoder : public RecordSink {
 public:
  explicit RecordEncoder(Writer& out) : out_(out) {}
  void on(const Record& record) override {
    encode_record(out_, record, before_);
    before_ = record.t;
  }

 private:
  Writer& out_;
  Time before_;
};

// Decodes what encode_record encoded, piece by piece; no record spans two pieces.
class RecordDecoder {
 public:
  // Passes the records of the next piece to `sink`, except the end record, which end() keeps until
  // it is known that nothing follows. Errors: bytes that no record has, or behind the end record.
  Status decode(Reader piece, RecordSink& sink);

  // The number of records so far, the end record included, and the time of the last one.
  std::uint64_t records() const { return records_; }
  Time last() const { return last_; }
  const std::optional<Record>& end() const { return end_; }

 private:
  std::uint64_t records_ = 0;
  Time last_;
  std::optional<Record> end_;
};

// Passes the valid records of the journal at `path` to `sink`, block by block; the end record only if
// nothing follows it. Errors: the file cannot be read, or is not a journal. Damage and a missing end are
// not errors: they are in the result.
Result<JournalEnd> read_journal(const std::filesystem::path& path, RecordSink& sink);
Result<JournalEnd> read_journal(BlockReader blocks, RecordSink& sink);
// The same, but damage and a missing end are errors. After an error `sink` may have received the first
// records.
Result<JournalEnd> read_finished_journal(const std::filesystem::path& path, RecordSink& sink);
// Returns the name of a run: 16 hexadecimal digits.
std::string hash_text(const StreamHash& hash);
// The same for an uncompressed encoding, such as a fuzzer's input; any damage is an error.
Status decode_journal(Reader reader, RecordSink& sink);

}  // namespace fairlead
