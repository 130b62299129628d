// The byte encoding of records: a kind byte, the time as a difference to the record before, then
// the fields that journal.h names for the kind. A place record with speed 1, no overhead, the best
// tier and no sharing, by far the most frequent one, is about a dozen bytes.

#include "fairlead/journal/journal.h"

#include <bit>

namespace fairlead {
namespace {

enum PlaceFlag : std::uint64_t {
  kPlaceKindMask = 3,
  kHasRate = 4,
  kHasOverhead = 8,
  kHasLocality = 16,
  kHasCopy = 32,
  kHasShare = 64,
};

// No run lasts longer: the time of a record stays far from overflow whatever the bytes say.
constexpr Time kTimeMax{std::int64_t{1} << 60};
constexpr std::uint64_t kRowMax = 0xfffffffe;  // of an id

void put_job_attributes(Writer& out, const Record& record) {
  out.id(record.user);
  out.text(record.name);
  out.text(record.model_name);
  out.u64(record.gpus);
  out.u64(record.gpus_min);
  out.u64(record.gpus_max);
  out.i64(record.work.ms);
}

void put_place(Writer& out, const Record& record) {
  std::uint64_t flags = static_cast<std::uint64_t>(record.place);
  if (record.rate != Rate::one()) flags |= kHasRate;
  if (record.overhead.ms != 0) flags |= kHasOverhead;
  if (record.locality != Rate::one()) flags |= kHasLocality;
  if (record.copy != 0) flags |= kHasCopy;
  if (record.share_num != record.share_den) flags |= kHasShare;
  FL_CHECK(record.gpu_masks.size() == record.gang.size(), "{} masks of {} slices",
           record.gpu_masks.size(), record.gang.size());
  out.u64(flags);
  out.u64(record.gang.size());
  std::uint64_t node_before = 0;
  for (std::size_t i = 0; i < record.gang.size(); ++i) {
    const std::uint64_t node = record.gang[i].node.row();
    FL_DCHECK(node >= node_before, "node {} after {}", node, node_before);
    out.u64(node - node_before);
    out.u64(record.gpu_masks[i]);
    node_before = node;
  }
  if ((flags & kHasRate) != 0) out.i64(record.rate.fixed);
  if ((flags & kHasOverhead) != 0) out.i64(record.overhead.ms);
  if ((flags & kHasLocality) != 0) out.i64(record.locality.fixed);
  if ((flags & kHasCopy) != 0) out.u64(record.copy);
  if ((flags & kHasShare) != 0) {
    out.u64(record.share_num);
    out.u64(record.share_den);
  }
}

void put_note(Writer& out, const Note& note) {
  out.u64(static_cast<std::uint64_t>(note.kind));
  out.id(note.job);
  out.id(note.user);
  out.id(note.other_user);
  out.id(note.type);
  out.i64(note.value);
}

void put_header(Writer& out, const Record& record) {
  if (record.kind == RecordKind::kRun) {
    out.u64(record.seed);
    out.u64(record.count);
    out.u64(record.names.size());
    for (const std::string& name : record.names) out.text(name);
  } else if (record.kind == RecordKind::kUser) {
    out.id(record.user);
    out.text(record.name);
    out.i64(record.tickets);
  } else {
    out.id(record.node);
    out.text(record.name);
    out.id(record.type);
    out.id(record.host);
    out.id(record.rack);
    out.u64(record.count);
  }
}

// Storage of the variable parts of a decoded record while its sink reads it.
struct Decoded {
  Record record;
  std::string name, model_name, reason;
  std::vector<std::string> names;
  std::vector<Slice> gang;
  std::vector<std::uint64_t> gpu_masks;
};

void get_job_attributes(Reader& in, Decoded& d) {
  d.record.user = in.id<UserId>();
  d.record.name = d.name = in.text();
  d.record.model_name = d.model_name = in.text();
  d.record.gpus = in.u32();
  d.record.gpus_min = in.u32();
  d.record.gpus_max = in.u32();
  d.record.work = {in.i64()};
}

void get_place(Reader& in, Decoded& d) {
  const std::uint64_t flags = in.u64();
  const std::uint64_t slices = in.u64();
  d.record.place = static_cast<PlaceKind>(flags & kPlaceKindMask);
  d.gang.clear();
  d.gpu_masks.clear();
  std::uint64_t node = 0;
  for (std::uint64_t i = 0; i < slices && in.ok(); ++i) {
    node += in.u32();
    if (node > kRowMax) return in.fail();
    d.gpu_masks.push_back(in.u64());
    d.gang.push_back({NodeId(static_cast<std::size_t>(node)),
                      static_cast<std::uint16_t>(std::popcount(d.gpu_masks.back()))});
  }
  d.record.gang = d.gang;
  d.record.gpu_masks = d.gpu_masks;
  d.record.rate = (flags & kHasRate) != 0 ? Rate{in.i64()} : Rate::one();
  d.record.overhead = {(flags & kHasOverhead) != 0 ? in.i64() : 0};
  d.record.locality = (flags & kHasLocality) != 0 ? Rate{in.i64()} : Rate::one();
  if ((flags & kHasCopy) != 0) d.record.copy = in.u32();
  if ((flags & kHasShare) != 0) {
    d.record.share_num = in.u32();
    d.record.share_den = in.u32();
  }
}

void get_note(Reader& in, Note& note) {
  note.kind = static_cast<NoteKind>(in.u64());
  note.job = in.id<JobId>();
  note.user = in.id<UserId>();
  note.other_user = in.id<UserId>();
  note.type = in.id<GpuTypeId>();
  note.value = in.i64();
}

void get_header(Reader& in, Decoded& d) {
  if (d.record.kind == RecordKind::kRun) {
    d.record.seed = in.u64();
    d.record.count = in.u32();
    d.names.clear();
    for (std::uint64_t left = in.u64(); left > 0 && in.ok(); --left) d.names.push_back(in.text());
    d.record.names = d.names;
  } else if (d.record.kind == RecordKind::kUser) {
    d.record.user = in.id<UserId>();
    d.record.name = d.name = in.text();
    d.record.tickets = in.i64();
  } else {
    d.record.node = in.id<NodeId>();
    d.record.name = d.name = in.text();
    d.record.type = in.id<GpuTypeId>();
    d.record.host = in.id<HostId>();
    d.record.rack = in.id<RackId>();
    d.record.count = in.u32();
  }
}

void get_fields(Reader& in, Decoded& d) {
  Record& record = d.record;
  switch (record.kind) {
    case RecordKind::kRun:
    case RecordKind::kUser:
    case RecordKind::kNode:
      return get_header(in, d);
    case RecordKind::kArrived:
    case RecordKind::kRejected:
    case RecordKind::kUnsubmitted:
      record.job = in.id<JobId>();
      get_job_attributes(in, d);
      if (record.kind == RecordKind::kRejected) record.reason = d.reason = in.text();
      if (record.kind == RecordKind::kUnsubmitted) record.submit = {in.i64()};
      return;
    case RecordKind::kNodeDown:
    case RecordKind::kNodeUp:
      record.node = in.id<NodeId>();
      return;
    case RecordKind::kPlace:
      record.job = in.id<JobId>();
      return get_place(in, d);
    case RecordKind::kNote:
      return get_note(in, record.note);
    case RecordKind::kEnd:
      record.counts = {in.i64(), in.i64(), in.i64(), in.i64(), in.i64()};
      return;
    default:
      record.job = in.id<JobId>();
      if (record.kind == RecordKind::kEvicted) record.lost = {in.i64()};
      if (record.kind == RecordKind::kSpeed) record.rate = {in.i64()};
  }
}

// What no run can have written, or empty. What a faulty run can have written is left to the audit.
std::string_view impossible(const Record& record) {
  const auto in_range = [](std::int64_t ms) { return ms >= 0 && ms <= kTimeMax.ms; };
  if (static_cast<std::size_t>(record.place) >= kPlaceKinds) return "unknown kind of placement";
  if (static_cast<std::size_t>(record.note.kind) >= kNoteKinds) return "unknown kind of note";
  for (Duration duration : {record.work, record.overhead, record.lost}) {
    if (!in_range(duration.ms)) return "a duration out of range";
  }
  if (record.submit.ms < 0 || record.submit > kTimeMax) return "a submission out of range";
  if (record.rate.fixed < 0 || record.locality.fixed < 0) return "a negative rate";
  return {};
}

}  // namespace

void encode_record(Writer& out, const Record& record, Time before) {
  FL_CHECK(record.t >= before, "a record at {} ms follows one at {} ms", record.t.ms, before.ms);
  FL_DCHECK(static_cast<std::size_t>(record.kind) < kRecordKinds);
  out.u64(static_cast<std::uint64_t>(record.kind));
  out.i64((record.t - before).ms);
  switch (record.kind) {
    case RecordKind::kRun:
    case RecordKind::kUser:
    case RecordKind::kNode:
      return put_header(out, record);
    case RecordKind::kArrived:
    case RecordKind::kRejected:
    case RecordKind::kUnsubmitted:
      out.id(record.job);
      put_job_attributes(out, record);
      if (record.kind == RecordKind::kRejected) out.text(record.reason);
      if (record.kind == RecordKind::kUnsubmitted) out.i64(record.submit.ms);
      return;
    case RecordKind::kNodeDown:
    case RecordKind::kNodeUp:
      return out.id(record.node);
    case RecordKind::kPlace:
      out.id(record.job);
      return put_place(out, record);
    case RecordKind::kNote:
      return put_note(out, record.note);
    case RecordKind::kEnd:
      out.i64(record.counts.finished);
      out.i64(record.counts.failed);
      out.i64(record.counts.rejected);
      out.i64(record.counts.pending);
      out.i64(record.counts.unsubmitted);
      return;
    default:
      out.id(record.job);
      if (record.kind == RecordKind::kEvicted) out.i64(record.lost.ms);
      if (record.kind == RecordKind::kSpeed) out.i64(record.rate.fixed);
  }
}

Status decode_journal(Reader in, RecordSink& sink) {
  Decoded decoded;
  Time t;
  std::int64_t number = 0;
  bool ended = false;
  while (in.ok() && in.left() > 0 && !ended) {
    ++number;
    decoded.record = Record();
    const std::uint64_t kind = in.u64();
    if (kind >= kRecordKinds) return input_error("record {}: unknown kind: {}", number, kind);
    decoded.record.kind = static_cast<RecordKind>(kind);
    const std::int64_t elapsed_ms = in.i64();
    if (elapsed_ms < 0 || elapsed_ms > kTimeMax.ms - t.ms) {
      return input_error("record {}: time runs backwards or leaps: {} ms", number, elapsed_ms);
    }
    t = t + Duration{elapsed_ms};
    decoded.record.t = t;
    get_fields(in, decoded);
    if (!in.ok()) break;
    if (const std::string_view wrong = impossible(decoded.record); !wrong.empty()) {
      return input_error("record {}: {}", number, wrong);
    }
    ended = decoded.record.kind == RecordKind::kEnd;
    // Before the sink hears of the end, as nothing tells it afterwards.
    if (ended && in.left() > 0) return input_error("{} bytes after the end record", in.left());
    sink.on(decoded.record);
  }
  if (!in.ok()) return input_error("record {}: cut off", number);
  if (!ended)
    return input_error("the journal ends without its end record, after record {}", number);
  return {};
}

}  // namespace fairlead
