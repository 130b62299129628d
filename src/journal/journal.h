// The journal: everything that happened in a run, in order, as typed records.
//
// It is the only source for metrics, reports, replay and the audit. The engine writes Records to a
// RecordSink; metrics and audit are sinks, and so is JournalFile, which encodes the records, hashes
// the encoding and compresses it to disk. read_journal gives the same records back, so a run can be
// measured from memory or from its file with the same result.
//
// Order of records: kRun, kUser*, kNode* , then by time: events, then the steps of that time's
// decision, the speeds that they changed, and the notes; then kUnsubmitted*, last kEnd.
#pragma once

#include "fairlead/base/bytes.h"
#include "fairlead/base/result.h"
#include "fairlead/model/event.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/note.h"
#include "fairlead/model/step.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

enum class RecordKind : std::uint8_t {
  kRun,          // first: seed; count = jobs of the trace; names: policy, options, cluster, trace,
                 // then the GPU types
  kUser,         // name, tickets
  kNode,         // node, type, host, rack, count = GPUs, name
  kArrived,      // job, user, name, model_name, gpus, gpus_min, gpus_max, work; t = submission
  kRejected,     // job as kArrived; reason
  kFinished,     // job
  kFailed,       // job
  kCancelled,    // job
  kEvicted,      // job lost its gang with a node; lost: running time whose work was lost
  kNodeDown,     // node
  kNodeUp,       // node
  kStop,         // job: the policy took its gang away
  kPlace,        // job, place, gang, gpu_masks, rate, overhead, locality, copy, share
  kSpeed,        // job: its rate changed to `rate`
  kNote,         // note
  kEnd,          // last: counts of jobs by final state
  kUnsubmitted,  // just before kEnd: job as kArrived; submit, which lies after the end
};
constexpr std::size_t kRecordKinds = 17;

// One record. Only the fields named beside its kind mean something; the rest are left as they are
// here. Spans and views are valid during the call that passes the record.
struct Record {
  RecordKind kind = RecordKind::kRun;
  Time t;
  JobId job;
  UserId user;
  NodeId node;
  GpuTypeId type;
  HostId host;
  RackId rack;
  std::string_view name;
  std::string_view model_name;
  std::string_view reason;
  std::int64_t tickets = 0;
  std::uint64_t seed = 0;
  std::uint32_t count = 0;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_min = 0;
  std::uint32_t gpus_max = 0;
  Time submit;    // when it would have been submitted
  Duration work;  // at speed 1, that is with the reference gang
  PlaceKind place = PlaceKind::kStart;
  Gang gang;
  std::span<const std::uint64_t> gpu_masks;
  Rate rate;
  Duration overhead;  // of a place: before the gang does any work
  Duration lost;      // of an eviction
  Rate locality;
  // Copies (HadarE); shared GPUs (Gandiva's packing) are in the format, but no policy places them
  // yet.
  std::uint32_t copy = 0;
  std::uint32_t share_num = 1;
  std::uint32_t share_den = 1;
  Note note;
  std::span<const std::string> names;
  struct Counts {
    std::int64_t finished = 0;
    std::int64_t failed = 0;  // cancelled jobs included
    std::int64_t rejected = 0;
    std::int64_t pending = 0;
    std::int64_t unsubmitted = 0;  // of the pending: the clock stopped before their submission
    friend bool operator==(const Counts&, const Counts&) = default;
  } counts;
};

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
// REQUIRES: record.t >= before; of a place, a mask for each slice, and nodes in increasing order.
void encode_record(Writer& out, const Record& record, Time before);

// Passes every record of the journal at `path` to `sink`. Errors: not a journal, or damaged.
Status read_journal(const std::filesystem::path& path, RecordSink& sink);
// The same for an uncompressed encoding, as a fuzzer makes it.
Status decode_journal(Reader reader, RecordSink& sink);

}  // namespace fairlead
