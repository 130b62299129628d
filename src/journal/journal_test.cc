#include "fairlead/journal/journal.h"

#include <gtest/gtest.h>

#include <unistd.h>

namespace fairlead {
namespace {

// Renders what a sink can see of a record, with everything the views point to.
std::string render(const Record& r) {
  std::string text = fmt::format("{} t={} job={} user={} node={}", static_cast<int>(r.kind), r.t.ms,
                                 r.job.row(), r.user.row(), r.node.row());
  text += fmt::format(" type={} host={} rack={} name={} model={} reason={}", r.type.row(),
                      r.host.row(), r.rack.row(), r.name, r.model_name, r.reason);
  text += fmt::format(" {} {} {} {} {} {} {}", r.tickets, r.seed, r.count, r.gpus, r.gpus_min,
                      r.gpus_max, r.work.ms);
  text += fmt::format(" submit={}", r.submit.ms);
  text += fmt::format(" place={} rate={} overhead={} lost={} locality={} copy={} share={}/{}",
                      place_kind_name(r.place), r.rate.fixed, r.overhead.ms, r.lost.ms,
                      r.locality.fixed, r.copy, r.share_num, r.share_den);
  for (std::size_t i = 0; i < r.gang.size(); ++i) {
    text += fmt::format(" n{}:{}={:x}", r.gang[i].node.row(), r.gang[i].gpus, r.gpu_masks[i]);
  }
  text += fmt::format(" note={}/{}/{}/{}/{}/{}", note_info(r.note.kind).name, r.note.job.row(),
                      r.note.user.row(), r.note.other_user.row(), r.note.type.row(), r.note.value);
  for (const std::string& name : r.names) text += " " + name;
  text += fmt::format(" end={}/{}/{}/{}/{}", r.counts.finished, r.counts.failed, r.counts.rejected,
                      r.counts.pending, r.counts.unsubmitted);
  return text;
}

struct Rendered : RecordSink {
  void on(const Record& record) override { lines.push_back(render(record)); }
  std::vector<std::string> lines;
};

struct Fixture {
  std::vector<std::string> names = {"fifo", "skip=true", "slides", "demo", "V100", "K80"};
  std::vector<Slice> gang = {{NodeId(3), 4}, {NodeId(7), 2}};
  std::vector<std::uint64_t> masks = {0xf, 0x30};

  static Record at(RecordKind kind, std::int64_t ms) {
    Record record;
    record.kind = kind;
    record.t = {ms};
    return record;
  }
  Record run() const {
    Record record = at(RecordKind::kRun, 0);
    record.seed = 42;
    record.count = 2;
    record.names = names;
    return record;
  }
  Record job(RecordKind kind, std::int64_t ms) const {
    Record record = at(kind, ms);
    record.job = JobId(1);
    return record;
  }
  Record arrived(std::int64_t ms) const {
    Record record = job(RecordKind::kArrived, ms);
    record.user = UserId(2);
    record.name = "application_1 \"quoted\"";
    record.model_name = "ResNet50";
    record.gpus = 6;
    record.gpus_min = 3;
    record.gpus_max = 12;
    record.work = hours(3);
    return record;
  }
  Record place(std::int64_t ms) const {
    Record record = job(RecordKind::kPlace, ms);
    record.place = PlaceKind::kMigrate;
    record.gang = gang;
    record.gpu_masks = masks;
    record.rate = Rate::of(0.25);
    record.overhead = seconds(10);
    record.locality = Rate::of(0.5);
    return record;
  }
  // One record of each kind, each with every field that its kind has. No two numbers of a record are
  // equal, as one written in the place of the other would go unnoticed.
  std::vector<Record> one_of_each() const {
    Record user = at(RecordKind::kUser, 0);
    user.user = UserId(1);
    user.name = "Ann";
    user.tickets = 3;
    Record node = at(RecordKind::kNode, 0);
    node.node = NodeId(5);
    node.name = "n5";
    node.type = GpuTypeId(1);
    node.host = HostId(2);
    node.rack = RackId(3);
    node.count = 4;
    Record rejected = arrived(5);
    rejected.kind = RecordKind::kRejected;
    rejected.reason = "larger than the cluster";
    Record evicted = job(RecordKind::kEvicted, 50);
    evicted.lost = seconds(2);
    Record down = at(RecordKind::kNodeDown, 50);
    down.node = NodeId(3);
    Record up = at(RecordKind::kNodeUp, 60);
    up.node = NodeId(3);
    Record speed = job(RecordKind::kSpeed, 61);
    speed.rate = Rate::of(1.5);
    Record note = at(RecordKind::kNote, 62);
    note.note = {.kind = NoteKind::kTrade,
                 .job = JobId(1),
                 .user = UserId(2),
                 .other_user = UserId(3),
                 .type = GpuTypeId(4),
                 .value = -7};
    Record unsubmitted = arrived(1'000'000'000'000);
    unsubmitted.kind = RecordKind::kUnsubmitted;
    unsubmitted.submit = {2'000'000'000'000};
    Record end = at(RecordKind::kEnd, 1'000'000'000'000);
    end.counts = {.finished = 1, .failed = 2, .rejected = 3, .pending = 5, .unsubmitted = 4};
    return {run(),
            user,
            node,
            arrived(5),
            rejected,
            place(5),
            job(RecordKind::kStop, 9),
            evicted,
            down,
            up,
            speed,
            note,
            job(RecordKind::kFinished, 70),
            job(RecordKind::kFailed, 71),
            job(RecordKind::kCancelled, 72),
            unsubmitted,
            end};
  }
};

std::vector<std::uint8_t> encode(const std::vector<Record>& records) {
  Writer out;
  Time before;
  for (const Record& record : records) {
    encode_record(out, record, before);
    before = record.t;
  }
  return out.bytes();
}

std::vector<std::string> render_all(const std::vector<Record>& records) {
  std::vector<std::string> lines;
  for (const Record& record : records) lines.push_back(render(record));
  return lines;
}

TEST(Journal, EveryRecordKindComesBackAsItWas) {
  const Fixture fixture;
  const std::vector<Record> records = fixture.one_of_each();
  ASSERT_EQ(records.size(), kRecordKinds);
  Rendered back;
  ASSERT_TRUE(decode_journal(Reader(encode(records)), back).has_value());
  EXPECT_EQ(back.lines, render_all(records));
}

// HadarE's copies and Gandiva's packing come later; the format has room for them from the start.
TEST(Journal, PlaceRecordsCarryCopiesAndShares) {
  const Fixture fixture;
  Record copy = fixture.place(5);
  copy.copy = 2;
  Record shared = fixture.place(6);
  shared.share_num = 1;
  shared.share_den = 2;
  Record end = Fixture::at(RecordKind::kEnd, 7);
  Rendered back;
  ASSERT_TRUE(decode_journal(Reader(encode({copy, shared, end})), back).has_value());
  EXPECT_EQ(back.lines, render_all({copy, shared, end}));
}

TEST(Journal, AUsualPlaceRecordIsSmall) {
  const Fixture fixture;
  Record place = fixture.job(RecordKind::kPlace, 60'000);
  place.job = JobId(123'456);
  const std::vector<Slice> gang = {{NodeId(1'000), 1}};
  const std::vector<std::uint64_t> masks = {0x80};
  place.gang = gang;
  place.gpu_masks = masks;
  place.rate = place.locality = Rate::one();
  EXPECT_LE(encode({place}).size(), 13U);
}

TEST(Journal, EveryCutIsAnError) {
  const Fixture fixture;
  const std::vector<std::uint8_t> bytes = encode(fixture.one_of_each());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Rendered back;
    EXPECT_FALSE(decode_journal(Reader({bytes.data(), size}), back).has_value()) << size;
  }
}

TEST(Journal, GarbageIsAnError) {
  const std::vector<std::uint8_t> unknown_kind = {200, 1, 0};
  const std::vector<std::uint8_t> backwards = {static_cast<std::uint8_t>(RecordKind::kStop), 1, 1};
  Rendered back;
  EXPECT_EQ(decode_journal(Reader(unknown_kind), back).error().message,
            "record 1: unknown kind: 200");
  EXPECT_EQ(decode_journal(Reader(backwards), back).error().message,
            "record 1: time runs backwards or leaps: -1 ms");
}

TEST(Journal, FileAndHashAgreeWithWhatWasWritten) {
  const Fixture fixture;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("fairlead_journal_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const std::filesystem::path path = folder / "journal.zst";
  JournalFile only_hash;
  Rendered expected;
  {
    auto file = JournalFile::create(path);
    ASSERT_TRUE(file.has_value()) << file.error().message;
    Tee tee({&*file, &only_hash, &expected});
    for (int i = 0; i < 5'000; ++i) tee.on(fixture.place(i));
    tee.on(Fixture::at(RecordKind::kEnd, 9'999));
    EXPECT_FALSE(std::filesystem::exists(path)) << "it must appear whole, at close()";
    ASSERT_TRUE(file->close().has_value());
    ASSERT_TRUE(only_hash.close().has_value());
    EXPECT_EQ(file->hash(), only_hash.hash());
  }
  Rendered back;
  const Status status = read_journal(path, back);
  EXPECT_TRUE(status.has_value()) << status.error().message;
  EXPECT_EQ(back.lines, expected.lines);
  std::filesystem::remove_all(folder);
}

TEST(Journal, HashTellsOneBitApart) {
  const Fixture fixture;
  std::vector<std::string> hashes;
  for (const std::uint64_t seed : {0U, 1U, 1U}) {
    Record run = fixture.run();
    run.seed = seed;
    JournalFile journal;
    journal.on(run);
    ASSERT_TRUE(journal.close().has_value());
    hashes.push_back(journal.hash());
  }
  EXPECT_NE(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[1], hashes[2]);
}

TEST(JournalDeathTest, IsWrittenInOrderOnceAndToItsEnd) {
  const Fixture fixture;
  JournalFile journal;
  journal.on(fixture.run());
  EXPECT_DEATH((void)journal.hash(), "the journal may go on");
  journal.on(Fixture::at(RecordKind::kNodeDown, 20));
  EXPECT_DEATH(journal.on(Fixture::at(RecordKind::kNodeUp, 19)), "at 19 ms follows one at 20 ms");
  ASSERT_TRUE(journal.close().has_value());
  EXPECT_DEATH(journal.on(Fixture::at(RecordKind::kEnd, 30)), "follows the end of the journal");
  EXPECT_DEATH((void)journal.close(), "closed twice");
}

}  // namespace
}  // namespace fairlead
