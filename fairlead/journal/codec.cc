// The byte encoding of records: the number of the kind, the time as a difference to the record
// before, then the fields of the kind. A place record with speed 1, no overhead, the best tier and
// no sharing, by far the most frequent one, is about a dozen bytes.

#include "fairlead/base/overloaded.h"
#include "fairlead/journal/impossible.h"
#include "fairlead/journal/journal.h"
#include "fairlead/model/job_row.h"

#include <array>
#include <bit>
#include <utility>

namespace fairlead {
namespace {

constexpr std::size_t kRecordKinds = std::variant_size_v<Record::What>;

enum PlaceFlag : std::uint64_t {
  kPlaceKindMask = 3,
  kHasRate = 4,
  kHasOverhead = 8,
  kHasLocality = 16,
  kHasCopy = 32,
  kHasShare = 64,
  kIsReported = 128,
};

constexpr std::uint64_t kRowMax = 0xfffffffe;  // largest row of an id
constexpr std::uint64_t kTaskGpusMax = 1'000'000;

// The names of a run: policy, options, cluster, trace, then the GPU types.
constexpr std::size_t kLabels = 4;

// Storage of the variable parts of a decoded record while its sink reads it.
struct Storage {
  std::array<std::string, kLabels> texts;
  std::vector<std::string> gpu_types;
  std::vector<Slice> gang;
  std::vector<std::uint64_t> gpu_masks;
  std::vector<std::uint8_t> state;
  std::vector<Time> wakes;
};

// put() and get() are each other's inverse. First the kinds that have no list of fields, or are shorter
// than their list.

void put(Writer& out, const record::Run& run) {
  out.u64(run.seed);
  out.u64(run.jobs);
  out.u64(kLabels + run.gpu_types.size());
  for (std::string_view label : {run.policy, run.options, run.cluster, run.trace}) out.text(label);
  for (const std::string& type : run.gpu_types) out.text(type);
}

void get(Reader& in, record::Run& run, Storage& storage) {
  run.seed = in.u64();
  run.jobs = in.u32();
  const std::uint64_t names = in.u64();
  if (names < kLabels) return in.fail();
  for (std::string& label : storage.texts) label = in.text();
  run.policy = storage.texts[0];
  run.options = storage.texts[1];
  run.cluster = storage.texts[2];
  run.trace = storage.texts[3];
  storage.gpu_types.clear();
  for (std::uint64_t i = kLabels; i < names && in.ok(); ++i) {
    storage.gpu_types.push_back(in.text());
  }
  run.gpu_types = storage.gpu_types;
}

// The tickets of a user with a group are negative, and the group follows.
void put(Writer& out, const record::User& user) {
  out.id(user.user);
  out.text(user.name);
  out.i64(user.group.is_none() ? user.tickets : -user.tickets);
  if (!user.group.is_none()) out.id(user.group);
}

void get(Reader& in, record::User& user, Storage& storage) {
  user.user = in.id<UserId>();
  user.name = storage.texts[0] = in.text();
  const std::int64_t tickets = in.i64();
  user.tickets = tickets < 0 && tickets >= -kTicketsMax ? -tickets : tickets;
  user.group = user.tickets == tickets ? GroupId() : in.id<GroupId>();
}

constexpr std::uint64_t kIsLogged = std::uint64_t{1} << 60;
constexpr std::uint64_t kHasFirstExtra = std::uint64_t{1} << 61;
constexpr std::uint64_t kHasOtherExtras = std::uint64_t{1} << 62;
constexpr std::uint64_t kFollow = kIsLogged | kHasFirstExtra | kHasOtherExtras;

// The bits above the 32 of `gpus`, which most jobs leave 0: 20 for the GPUs of a task above 1, 8 for
// levels, 3 for the optional parts of the record (kFollow): facts of a log, the first extra, the others.
void put_gang(Writer& out, const JobSpec& asked, std::uint64_t follow) {
  const std::uint64_t more = std::uint64_t{asked.closeness.bits()} << 20 | (asked.task_gpus - 1);
  out.u64(more << 32 | asked.gpus | follow);
}

// Returns the optional parts of the record, as bits of kFollow.
std::uint64_t get_gang(Reader& in, JobSpec& asked) {
  const std::uint64_t word = in.u64();
  const std::uint64_t gang = word & ~kFollow;
  asked.gpus = static_cast<std::uint32_t>(gang);
  asked.task_gpus = static_cast<std::uint32_t>(gang >> 32 & 0xfffff) + 1;
  asked.closeness = Closeness::of_bits(static_cast<std::uint32_t>(gang >> 52));
  if (asked.task_gpus > kTaskGpusMax || gang >> 60 != 0) in.fail();
  return word & kFollow;
}

// Returns the extras that a job names, a bit for each: the first of the list has bit 0.
std::uint64_t named_extras(const JobExtras& extras) {
  std::uint64_t named = 0;
  std::uint64_t bit = 1;
  JobExtras::each(extras, [&](std::string_view, auto value, const auto&) {
    if (value != 0) named |= bit;
    bit <<= 1;
  });
  return named;
}

// Writes the mask of the named extras but the first, if there are others; then their values.
void put_extras(Writer& out, const JobExtras& extras) {
  const std::uint64_t others = named_extras(extras) >> 1;
  if (others != 0) out.u64(others);
  JobExtras::each(extras, [&](std::string_view, std::uint32_t value, const auto&) {
    if (value != 0) out.u64(value);
  });
}

void get_extras(Reader& in, std::uint64_t follow, JobExtras& extras) {
  std::uint64_t named = (follow & kHasFirstExtra) != 0 ? 1 : 0;
  if ((follow & kHasOtherExtras) != 0) named |= in.u64() << 1;
  JobExtras::each(extras, [&](std::string_view, std::uint32_t& value, const auto&) {
    if ((named & 1) != 0) {
      value = in.u32();
      if (value == 0) in.fail();
    }
    named >>= 1;
  });
  if (named != 0) in.fail();  // an extra that this program does not know
}

void put_logged(Writer& out, const JobSpec& asked) {
  out.i64(asked.logged.time_limit.ms);
  out.i64(asked.logged.priority);
  out.text(asked.partition);
  out.i64(asked.logged.start == Time::never() ? -1 : asked.logged.start.ms);
}

void get_logged(Reader& in, JobSpec& asked, Storage& storage) {
  asked.logged.time_limit = {in.i64()};
  asked.logged.priority = in.i64();
  asked.partition = storage.texts[3] = in.text();
  const std::int64_t start = in.i64();
  asked.logged.start = start == -1 ? Time::never() : Time{start};
  if (!asked.is_logged()) in.fail();
}

void put(Writer& out, const JobSpec& asked) {
  const std::uint64_t extras = named_extras(asked.extras);
  const bool is_logged = asked.is_logged();
  out.id(asked.job);
  out.id(asked.user);
  out.text(asked.name);
  out.text(asked.model);
  put_gang(out, asked,
           (is_logged ? kIsLogged : 0) | ((extras & 1) != 0 ? kHasFirstExtra : 0) |
               (extras > 1 ? kHasOtherExtras : 0));
  out.u64(asked.gpus_min);
  out.u64(asked.gpus_max);
  out.u64(asked.types);
  out.i64(asked.work.ms);
  if (extras != 0) put_extras(out, asked.extras);
  if (is_logged) put_logged(out, asked);
}

void get(Reader& in, JobSpec& asked, Storage& storage) {
  asked.job = in.id<JobId>();
  asked.user = in.id<UserId>();
  asked.name = storage.texts[0] = in.text();
  asked.model = storage.texts[1] = in.text();
  const std::uint64_t follow = get_gang(in, asked);
  asked.gpus_min = in.u32();
  asked.gpus_max = in.u32();
  asked.types = in.u32();
  asked.work = {in.i64()};
  get_extras(in, follow, asked.extras);
  if ((follow & kIsLogged) != 0) get_logged(in, asked, storage);
}

void put(Writer& out, const record::Stop& stop) {
  out.id(stop.job);
  out.u64(static_cast<std::uint64_t>(stop.cause) << 1 | (stop.is_reported ? 1 : 0));
}

void get(Reader& in, record::Stop& stop, Storage&) {
  stop.job = in.id<JobId>();
  const std::uint64_t flags = in.u64();
  stop.is_reported = (flags & 1) != 0;
  if (flags >> 1 >= kStopCauses) return in.fail();
  stop.cause = static_cast<StopCause>(flags >> 1);
}

// If there is a reason, no job comes first.
void put(Writer& out, const record::Cancelled& cancelled) {
  if (!cancelled.reason.empty()) out.id(JobId());
  out.id(cancelled.job);
  if (!cancelled.reason.empty()) out.text(cancelled.reason);
}

void get(Reader& in, record::Cancelled& cancelled, Storage& storage) {
  cancelled.job = in.id<JobId>();
  if (!cancelled.job.is_none()) return;
  cancelled.job = in.id<JobId>();
  cancelled.reason = storage.texts[2] = in.text();
  if (cancelled.reason.empty()) in.fail();
}

void put(Writer& out, const record::Snapshot& snapshot) {
  out.text(snapshot.policy);
  out.text(snapshot.options);
  out.u64(snapshot.state.size());
  for (std::uint8_t byte : snapshot.state) out.u64(byte);
  out.u64(snapshot.wakes.size());
  for (Time wake : snapshot.wakes) out.time(wake);
}

void get(Reader& in, record::Snapshot& snapshot, Storage& storage) {
  snapshot.policy = storage.texts[0] = in.text();
  snapshot.options = storage.texts[1] = in.text();
  storage.state.clear();
  for (std::uint64_t left = in.u64(); left > 0 && in.ok(); --left) {
    storage.state.push_back(static_cast<std::uint8_t>(in.u64()));
  }
  storage.wakes.clear();
  for (std::uint64_t left = in.u64(); left > 0 && in.ok(); --left) {
    storage.wakes.push_back(in.time());
  }
  snapshot.state = storage.state;
  snapshot.wakes = storage.wakes;
}

void put(Writer& out, const record::Place& place) {
  std::uint64_t flags = static_cast<std::uint64_t>(place.kind);
  if (place.rate != Rate::one()) flags |= kHasRate;
  if (place.overhead.ms != 0) flags |= kHasOverhead;
  if (place.locality != Rate::one()) flags |= kHasLocality;
  if (place.copy != 0) flags |= kHasCopy;
  if (place.share_num != place.share_den) flags |= kHasShare;
  if (place.is_reported) flags |= kIsReported;
  FL_CHECK(place.gpu_masks.size() == place.gang.size(), "{} masks of {} slices",
           place.gpu_masks.size(), place.gang.size());
  out.id(place.job);
  out.u64(flags);
  out.u64(place.gang.size());
  std::uint64_t node_before = 0;
  for (std::size_t i = 0; i < place.gang.size(); ++i) {
    const std::uint64_t node = place.gang[i].node.row();
    FL_DCHECK(node >= node_before, "node {} after {}", node, node_before);
    out.u64(node - node_before);
    out.u64(place.gpu_masks[i]);
    node_before = node;
  }
  if ((flags & kHasRate) != 0) out.i64(place.rate.fixed);
  if ((flags & kHasOverhead) != 0) out.i64(place.overhead.ms);
  if ((flags & kHasLocality) != 0) out.i64(place.locality.fixed);
  if ((flags & kHasCopy) != 0) out.u64(place.copy);
  if ((flags & kHasShare) != 0) {
    out.u64(place.share_num);
    out.u64(place.share_den);
  }
}

void get(Reader& in, record::Place& place, Storage& storage) {
  place.job = in.id<JobId>();
  const std::uint64_t flags = in.u64();
  const std::uint64_t slices = in.u64();
  place.kind = static_cast<PlaceKind>(flags & kPlaceKindMask);
  storage.gang.clear();
  storage.gpu_masks.clear();
  std::uint64_t node = 0;
  for (std::uint64_t i = 0; i < slices && in.ok(); ++i) {
    node += in.u32();
    if (node > kRowMax) return in.fail();
    storage.gpu_masks.push_back(in.u64());
    storage.gang.push_back({NodeId(static_cast<std::size_t>(node)),
                            static_cast<std::uint16_t>(std::popcount(storage.gpu_masks.back()))});
  }
  place.is_reported = (flags & kIsReported) != 0;
  place.gang = storage.gang;
  place.gpu_masks = storage.gpu_masks;
  if ((flags & kHasRate) != 0) place.rate = {in.i64()};
  if ((flags & kHasOverhead) != 0) place.overhead = {in.i64()};
  if ((flags & kHasLocality) != 0) place.locality = {in.i64()};
  if ((flags & kHasCopy) != 0) place.copy = in.u32();
  if ((flags & kHasShare) != 0) {
    place.share_num = in.u32();
    place.share_den = in.u32();
  }
}

void put(Writer& out, const Note& note) {
  const NoteFields fields = fields_of(note);
  out.u64(note.index());
  out.id(fields.job);
  out.id(fields.user);
  out.id(fields.other_user);
  out.id(fields.type);
  out.i64(fields.value);
}

void get(Reader& in, Note& note, Storage&) {
  const std::uint64_t kind = in.u64();
  NoteFields fields;
  fields.job = in.id<JobId>();
  fields.user = in.id<UserId>();
  fields.other_user = in.id<UserId>();
  fields.type = in.id<GpuTypeId>();
  fields.value = in.i64();
  if (kind >= kNoteKinds) return in.fail();
  note = note_of(kind, fields);
  if (fields_of(note) != fields) in.fail();  // it has a field that its kind does not have
}

// Writes the fields that a kind lists.
class Put {
 public:
  explicit Put(Writer& out) : out_(out) {}

  template <class Tag>
  void operator()(std::string_view, Id<Tag> value) {
    out_.id(value);
  }
  void operator()(std::string_view, std::string_view value) { out_.text(value); }
  void operator()(std::string_view, bool value) { out_.u64(value ? 1 : 0); }
  void operator()(std::string_view, std::uint32_t value) { out_.u64(value); }
  void operator()(std::string_view, std::int64_t value) { out_.i64(value); }
  void operator()(std::string_view, Time value) { out_.time(value); }
  void operator()(std::string_view, Duration value) { out_.i64(value.ms); }
  void operator()(std::string_view, GpuTime value) { out_.i64(saturated_gpu_ms(value)); }
  void operator()(std::string_view, Rate value) { out_.i64(value.fixed); }
  void unless(auto /*value*/, std::string_view name, const auto& field) { (*this)(name, field); }
  template <class Enum>
  void enumerator(std::string_view, Enum value, std::size_t, std::string_view (*)(Enum)) {
    out_.u64(static_cast<std::uint64_t>(value));
  }
  // Whole nodes are the rule: 0 stands for all their GPUs.
  void mask(std::string_view, std::uint64_t gpus) { out_.u64(gpus == kAllGpus ? 0 : gpus); }
  void job(const JobSpec& asked) { put(out_, asked); }

 private:
  Writer& out_;
};

// The inverse of Put. A kind has at most one text besides the texts of its job.
class Get {
 public:
  Get(Reader& in, Storage& storage) : in_(in), storage_(storage) {}

  template <class Tag>
  void operator()(std::string_view, Id<Tag>& value) {
    value = in_.id<Id<Tag>>();
  }
  void operator()(std::string_view, std::string_view& value) {
    FL_CHECK(!std::exchange(has_text_, true), "a kind with two texts");
    value = storage_.texts[2] = in_.text();
  }
  void operator()(std::string_view, bool& value) {
    const std::uint64_t number = in_.u64();
    value = number == 1;
    if (number > 1) in_.fail();
  }
  void operator()(std::string_view, std::uint32_t& value) { value = in_.u32(); }
  void operator()(std::string_view, std::int64_t& value) { value = in_.i64(); }
  void operator()(std::string_view, Time& value) { value = in_.time(); }
  void operator()(std::string_view, Duration& value) { value = {in_.i64()}; }
  void operator()(std::string_view, GpuTime& value) { value = {in_.i64()}; }
  void operator()(std::string_view, Rate& value) { value = {in_.i64()}; }
  void unless(auto /*value*/, std::string_view name, auto& field) { (*this)(name, field); }
  template <class Enum>
  void enumerator(std::string_view, Enum& value, std::size_t count, std::string_view (*)(Enum)) {
    const std::uint64_t number = in_.u64();
    if (number >= count) return in_.fail();
    value = static_cast<Enum>(number);
  }
  void mask(std::string_view, std::uint64_t& gpus) {
    gpus = in_.u64();
    if (gpus == 0) gpus = kAllGpus;
  }
  void job(JobSpec& asked) { get(in_, asked, storage_); }

 private:
  Reader& in_;
  Storage& storage_;
  bool has_text_ = false;
};

template <class What>
void put(Writer& out, const What& what) {
  Put visit(out);
  What::fields(what, visit);
}

template <class What>
void get(Reader& in, What& what, Storage& storage) {
  Get visit(in, storage);
  What::fields(what, visit);
}

// Decodes the fields of the kind of that number. REQUIRES: there is such a kind.
template <std::size_t... kNumbers>
void get(Reader& in, std::uint64_t number, Record::What& what, Storage& storage,
         std::index_sequence<kNumbers...>) {
  (void)((number == kNumbers && (get(in, what.emplace<kNumbers>(), storage), true)) || ...);
}

}  // namespace

void encode_record(Writer& out, const Record& record, Time before) {
  FL_CHECK(record.t >= before, "a record at {} ms follows one at {} ms", record.t.ms, before.ms);
  out.u64(record.what.index());
  out.i64((record.t - before).ms);
  std::visit([&](const auto& what) { put(out, what); }, record.what);
}

Status RecordDecoder::decode(Reader in, RecordSink& sink) {
  Storage storage;
  Record record{.t = last_, .what = {}};
  while (in.left() > 0) {
    if (end_) return input_error("{} bytes after the end record", in.left());
    ++records_;
    const std::uint64_t kind = in.u64();
    if (kind >= kRecordKinds) return input_error("record {}: unknown kind: {}", records_, kind);
    const std::int64_t elapsed_ms = in.i64();
    if (elapsed_ms < 0 || elapsed_ms > kTimeMax.ms - last_.ms) {
      return input_error("record {}: time runs backwards or leaps: {} ms", records_, elapsed_ms);
    }
    record.t = last_ = last_ + Duration{elapsed_ms};
    get(in, kind, record.what, storage, std::make_index_sequence<kRecordKinds>());
    if (!in.ok()) return input_error("record {}: cut off or damaged", records_);
    if (const std::string wrong = impossible(record); !wrong.empty()) {
      return input_error("record {}: {}", records_, wrong);
    }
    if (std::holds_alternative<record::End>(record.what)) {
      end_ = record;
    } else {
      sink.on(record);
    }
  }
  return {};
}

Status decode_journal(Reader in, RecordSink& sink) {
  RecordDecoder decoder;
  FL_TRY(decoder.decode(in, sink));
  if (!decoder.end()) {
    return input_error("the journal ends without its end record, after record {}",
                       decoder.records());
  }
  sink.on(*decoder.end());
  return {};
}

}  // namespace fairlead
