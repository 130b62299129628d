#include "fairlead/journal/journal.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/model/job_row.h"
#include "fairlead/model/step.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <limits>
#include <unistd.h>

namespace fairlead {
namespace {

std::string text_of(const record::Run& run) {
  return fmt::format("run {} {} {} {} {} {} {}", run.seed, run.jobs, run.policy, run.options,
                     run.cluster, run.trace, fmt::join(run.gpu_types, " "));
}

std::string text_of(const record::User& user) {
  return fmt::format("user {} {} {} {}", user.user.row(), user.name, user.tickets,
                     user.group.row());
}

std::string text_of(const record::Node& node) {
  return fmt::format("node {} {} {} {} {} {}", node.node.row(), node.name, node.type.row(),
                     node.host.row(), node.rack.row(), node.gpus);
}

std::string text_of(const JobSpec& asked) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", asked.job.row(),
                     asked.user.row(), asked.name, asked.model, asked.gpus, asked.gpus_min,
                     asked.gpus_max, asked.task_gpus, asked.extras.copies_max, asked.extras.pinned,
                     asked.types, asked.work.ms, asked.logged.time_limit.ms, asked.logged.priority,
                     asked.partition, asked.logged.start.ms);
}
std::string text_of(const record::Arrived& arrived) { return text_of(arrived.asked); }
std::string text_of(const record::Rejected& rejected) {
  return fmt::format("{} {}", text_of(rejected.asked), rejected.reason);
}
std::string text_of(const record::Unsubmitted& unsubmitted) {
  return fmt::format("{} {}", text_of(unsubmitted.asked), unsubmitted.submit.ms);
}

std::string text_of(const record::Evicted& evicted) {
  return fmt::format("{} {}", evicted.job.row(), evicted.lost.ms);
}
std::string text_of(const record::Reported& reported) {
  return fmt::format("{} {}", reported.job.row(), reported.left.ms);
}

std::string text_of(const record::Speed& speed) {
  return fmt::format("{} {}", speed.job.row(), speed.rate.fixed);
}

std::string text_of(const record::Place& place) {
  std::string text =
      fmt::format("{} {} rate={} overhead={} locality={} copy={} share={}/{}", place.job.row(),
                  place_kind_name(place.kind), place.rate.fixed, place.overhead.ms,
                  place.locality.fixed, place.copy, place.share_num, place.share_den);
  for (std::size_t i = 0; i < place.gang.size(); ++i) {
    text += fmt::format(" n{}:{}={:x}", place.gang[i].node.row(), place.gang[i].gpus,
                        place.gpu_masks[i]);
  }
  return text;
}

std::string text_of(const Note& note) {
  const NoteFields fields = fields_of(note);
  return fmt::format("{}/{}/{}/{}/{}/{}", note_info(note.index()).name, fields.job.row(),
                     fields.user.row(), fields.other_user.row(), fields.type.row(), fields.value);
}

std::string text_of(const record::End& end) {
  return fmt::format("{}/{}/{}/{}/{}", end.counts.finished, end.counts.failed, end.counts.rejected,
                     end.counts.pending, end.counts.unsubmitted);
}

std::string text_of(const OneOf<record::GpusDown, record::GpusUp, record::Closed> auto& what) {
  return fmt::format("node {} GPUs {:x}", what.node.row(), what.gpus);
}
std::string text_of(const OneOf<record::Finished, record::Held, record::Released> auto& what) {
  return fmt::format("job {}", what.job.row());
}
std::string text_of(const OneOf<record::Failed, record::Cancelled> auto& what) {
  return fmt::format("job {} {}", what.job.row(), what.reason);
}
std::string text_of(const record::Stop& stop) {
  return fmt::format("job {} {} {}", stop.job.row(), static_cast<int>(stop.cause),
                     stop.is_reported);
}
std::string text_of(const record::Stopped& stopped) {
  return fmt::format("job {} {}", stopped.job.row(), stopped.run);
}
std::string text_of(const record::StopFailed& failed) {
  return fmt::format("job {} {} {}", failed.job.row(), failed.run, failed.reason);
}
std::string text_of(const record::Started& started) {
  return fmt::format("job {} {}", started.job.row(), started.overhead.ms);
}
std::string text_of(const record::StartFailed& failed) {
  return fmt::format("job {} {} {}", failed.job.row(), failed.retry.ms, failed.reason);
}
std::string text_of(const record::Cordoned& cordoned) {
  return fmt::format("node {} {}", cordoned.node.row(), cordoned.reason);
}
std::string text_of(const record::Uncordoned& uncordoned) {
  return fmt::format("node {}", uncordoned.node.row());
}
std::string text_of(const record::Tickets& tickets) {
  return fmt::format("user {} {}", tickets.user.row(), tickets.tickets);
}
std::string text_of(const record::Ignored& ignored) {
  return fmt::format("{} {} {} {}", event_name(ignored.event), ignored.job.row(),
                     ignored.node.row(), ignored.run);
}
std::string text_of(const record::Carried& carried) {
  return fmt::format("{} {} {} {}", carried.job.row(), carried.run,
                     static_cast<std::int64_t>(carried.attained.gpu_ms), carried.done.ms);
}
std::string text_of(const record::Pinned& pinned) {
  return fmt::format("{} {}", pinned.job.row(), pinned.is_pinned);
}
std::string text_of(const record::Forgotten& forgotten) {
  return fmt::format("user {} {}", forgotten.user.row(), forgotten.model);
}
std::string text_of(const record::Profiled& profiled) {
  const JobProfile& profile = profiled.profile;
  return fmt::format("{} {} {} {} {} {} {}", profiled.job.row(), profile.parameters_kb,
                     profile.gradients_kb, profile.largest_tensor_kb, profile.workers,
                     profile.samples, profile.step_us);
}
std::string text_of(const record::Charged& charged) {
  return fmt::format("user {} node {} {}", charged.user.row(), charged.node.row(),
                     static_cast<std::int64_t>(charged.attained.gpu_ms));
}
std::string text_of(const record::Group& group) {
  return fmt::format("group {} {} {} {}", group.group.row(), group.name, group.tickets,
                     group.quota);
}
std::string text_of(const record::Skipped&) { return "skipped"; }
std::string text_of(const record::Snapshot& snapshot) {
  std::string text = fmt::format("{} {}", snapshot.policy, snapshot.options);
  for (std::uint8_t byte : snapshot.state) text += fmt::format(" {:x}", byte);
  for (Time wake : snapshot.wakes) text += fmt::format(" {}", wake.ms);
  return text;
}

// Renders a record with everything that its views point to.
std::string render(const Record& r) {
  return fmt::format("{} t={} {}", r.what.index(), r.t.ms,
                     std::visit([](const auto& what) { return text_of(what); }, r.what));
}

struct Rendered : RecordSink {
  void on(const Record& record) override { lines.push_back(render(record)); }
  std::vector<std::string> lines;
};

struct Fixture {
  std::vector<std::string> gpu_types = {"V100", "K80"};
  std::vector<Slice> gang = {{NodeId(3), 4}, {NodeId(7), 2}};
  std::vector<std::uint64_t> masks = {0xf, 0x30};
  std::vector<std::uint8_t> state = {1, 200, 0};
  std::vector<Time> wakes = {{100}, {300}};

  Record run(std::uint64_t seed = 42) const {
    return {{0},
            record::Run{.seed = seed,
                        .jobs = 2,
                        .policy = "fifo",
                        .options = "skip=true",
                        .cluster = "slides",
                        .trace = "demo",
                        .gpu_types = gpu_types}};
  }
  static JobSpec asked() {
    return {.job = JobId(1),
            .user = UserId(2),
            .name = "application_1 \"quoted\"",
            .model = "ResNet50",
            .gpus = 12,
            .gpus_min = 6,
            .gpus_max = 24,
            .task_gpus = 3,
            .extras = {.copies_max = 5, .pinned = kPinnedUntilSeen},
            .work = hours(3),
            .logged = {.time_limit = hours(4), .priority = -50, .start = {9'000}},
            .partition = "gpu"};
  }
  record::Place place() const {
    return {.job = JobId(1),
            .kind = PlaceKind::kMigrate,
            .gang = gang,
            .gpu_masks = masks,
            .rate = Rate::of(0.25),
            .overhead = seconds(10),
            .is_reported = true,
            .locality = Rate::of(0.5)};
  }
  // One record of each kind, each with every field that its kind has. No two numbers of a record are
  // equal, because a swap of equal numbers would go unnoticed.
  std::vector<Record> one_of_each() const {
    const Note trade = note::Trade{UserId(2), UserId(3), GpuTypeId(4), {-7}};
    const Time end{1'000'000'000'000};
    return {
        run(),
        {{0}, record::User{.user = UserId(1), .name = "Ann", .tickets = 3}},
        {{0},
         record::Node{.node = NodeId(5),
                      .name = "n5",
                      .type = GpuTypeId(1),
                      .host = HostId(2),
                      .rack = RackId(3),
                      .gpus = 4}},
        {{5}, record::Arrived{asked()}},
        {{5}, record::Rejected{asked(), "larger than the cluster"}},
        {{5}, place()},
        {{9}, record::Stop{JobId(1), StopCause::kHeld, true}},
        {{9}, record::Held{JobId(1)}},
        {{10}, record::Stopped{JobId(1), 7}},
        {{11}, record::StopFailed{JobId(1), 8, "it does not die"}},
        {{12}, record::Released{JobId(1)}},
        {{13}, record::Started{JobId(1), seconds(3)}},
        {{14}, record::StartFailed{JobId(1), {2000}, "no such file"}},
        {{15}, record::Cordoned{NodeId(4), "three starts failed"}},
        {{15}, record::Closed{NodeId(4), 0x6}},
        {{16}, record::Uncordoned{NodeId(4)}},
        {{17}, record::Tickets{UserId(3), 5}},
        {{18}, record::Ignored{EventKind::kStarted, JobId(1), NodeId(2), 3}},
        {{19}, record::Skipped{}},
        {{20}, record::Snapshot{"tiresias", "promote=2", state, wakes}},
        {{50}, record::Evicted{JobId(1), seconds(2)}},
        {{50}, record::GpusDown{NodeId(3)}},
        {{60}, record::GpusUp{NodeId(3), 0x5}},
        {{61}, record::Speed{JobId(1), Rate::of(1.5)}},
        {{61}, record::Reported{JobId(1), Duration{7}}},
        {{62}, record::Carried{JobId(1), 3, {5}, Duration{9}}},
        {{62}, record::Pinned{JobId(1), true}},
        {{62}, record::Forgotten{UserId(3), "vgg"}},
        {{62}, record::Profiled{JobId(1), {900, 800, 700, 8, 32, 4'000'000'000}}},
        {{62}, record::Group{GroupId(0), "vision", 3, 16}},
        {{62}, record::Charged{UserId(3), NodeId(2), {60'000}}},
        {{62}, trade},
        {{70}, record::Finished{JobId(1)}},
        {{71}, record::Failed{JobId(1), "exit status 1"}},
        {{72}, record::Cancelled{JobId(1)}},
        {end, record::Unsubmitted{asked(), {2'000'000'000'000}}},
        {end,
         record::End{{.finished = 1, .failed = 2, .rejected = 3, .pending = 5, .unsubmitted = 4}}}};
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
  ASSERT_EQ(records.size(), std::variant_size_v<Record::What>);
  Rendered back;
  ASSERT_TRUE(decode_journal(Reader(encode(records)), back).has_value());
  EXPECT_EQ(back.lines, render_all(records));
}

TEST(Journal, EveryCauseOfAStopComesBackAndOldOnesHaveTheirOldBytes) {
  for (std::size_t i = 0; i < kStopCauses; ++i) {
    const record::Stop stop{JobId(1), static_cast<StopCause>(i), true};
    const std::vector<std::uint8_t> bytes = encode({{{0}, stop}});
    EXPECT_EQ(bytes.back(), 2 * i + 1);
    Rendered back;
    (void)decode_journal(Reader(bytes), back);  // it has no end
    EXPECT_EQ(back.lines, render_all({{{0}, stop}}));
  }
  std::vector<std::uint8_t> bytes = encode({{{0}, record::Stop{JobId(1)}}});
  EXPECT_EQ(bytes.back(), 0);
  bytes.back() = 2 * kStopCauses;
  Rendered back;
  EXPECT_EQ(decode_journal(Reader(bytes), back).error().message, "record 1: cut off or damaged");
}

TEST(Journal, ACancellationMayHaveAReasonAndCostsNothingWithoutOne) {
  const Record plain{{6}, record::Cancelled{JobId(4)}};
  const Record because{{6}, record::Cancelled{JobId(4), "job 3 failed"}};
  const Record end{{7}, record::End{}};
  EXPECT_EQ(encode({plain}).size(), 3U);  // the kind, the time and the job
  Rendered back;
  ASSERT_TRUE(decode_journal(Reader(encode({plain, because, end})), back).has_value());
  EXPECT_EQ(back.lines, render_all({plain, because, end}));
}

TEST(Journal, AReportOfNothingLeftOrLessIsRefused) {
  for (const std::int64_t left_ms :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    Rendered back;
    const Record reported{{61}, record::Reported{JobId(1), Duration{left_ms}}};
    const Status read = decode_journal(Reader(encode({reported})), back);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "record 1: left_ms is out of range");
  }
}

TEST(Journal, AProfileThatNoJobCanHaveIsRefused) {
  for (const JobProfile profile :
       {JobProfile{}, JobProfile{900, 800, 801, 8, 32, 4000},
        JobProfile{900, 800, 700, 0, 32, 4000}, JobProfile{900, 800, 700, 8, 32, 0}}) {
    Rendered back;
    const Record profiled{{61}, record::Profiled{JobId(1), profile}};
    const Status read = decode_journal(Reader(encode({profiled})), back);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "record 1: the profile is out of range");
  }
}

TEST(Journal, AUsersGroupStandsBehindItsTicketsAndCostsNothingWithoutOne) {
  const Record grouped{{6}, record::User{UserId(4), "cat", kTicketsMax, GroupId(7)}};
  const Record alone{{6}, record::User{UserId(5), "dan", 2}};
  const Record end{{7}, record::End{}};
  Rendered back;
  ASSERT_TRUE(decode_journal(Reader(encode({grouped, alone, end})), back).has_value());
  EXPECT_EQ(back.lines, render_all({grouped, alone, end}));
  // Kind, time, user, name and tickets: as it was before there were groups.
  EXPECT_EQ(encode({alone}), (std::vector<std::uint8_t>{1, 12, 6, 3, 'd', 'a', 'n', 4}));
}

// HadarE's copies and Gandiva's packing come later; the format has room for them from the start.
TEST(Journal, PlaceRecordsCarryCopiesAndShares) {
  const Fixture fixture;
  Record copy{{5}, fixture.place()};
  std::get<record::Place>(copy.what).copy = 2;
  Record shared{{6}, fixture.place()};
  std::get<record::Place>(shared.what).share_den = 2;
  const Record end{{7}, record::End{}};
  Rendered back;
  ASSERT_TRUE(decode_journal(Reader(encode({copy, shared, end})), back).has_value());
  EXPECT_EQ(back.lines, render_all({copy, shared, end}));
}

TEST(Journal, AUsualPlaceRecordIsSmall) {
  const std::vector<Slice> gang = {{NodeId(1'000), 1}};
  const std::vector<std::uint64_t> masks = {0x80};
  const Record place{{60'000},
                     record::Place{.job = JobId(123'456), .gang = gang, .gpu_masks = masks}};
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
  const std::uint8_t stop = 11;
  const std::vector<std::uint8_t> backwards = {stop, 1, 1};
  Rendered back;
  EXPECT_EQ(decode_journal(Reader(unknown_kind), back).error().message,
            "record 1: unknown kind: 200");
  EXPECT_EQ(decode_journal(Reader(backwards), back).error().message,
            "record 1: time runs backwards or leaps: -1 ms");
}

// A later version may write extras that this one does not know: it must not take their bytes for others.
TEST(Journal, AnExtraThatIsNotKnownIsAnError) {
  const record::Arrived plain{{.job = JobId(0), .user = UserId(0), .name = "a"}};
  std::vector<std::uint8_t> bytes = encode({{{0}, plain}});
  Rendered back;
  EXPECT_EQ(decode_journal(Reader(bytes), back).error().message,
            "the journal ends without its end record, after record 1");
  const std::vector<std::uint8_t> one_gpu = {1, 1, 1};  // gpus, gpus_min, gpus_max
  const auto gang = std::find_end(bytes.begin(), bytes.end(), one_gpu.begin(), one_gpu.end());
  Writer word;
  word.u64(std::uint64_t{1} << 62 | 1);
  bytes.insert(bytes.erase(gang), word.bytes().begin(), word.bytes().end());
  bytes.push_back(0x40);  // the mask
  bytes.push_back(5);     // the value
  EXPECT_EQ(decode_journal(Reader(bytes), back).error().message, "record 1: cut off or damaged");
}

TEST(Journal, AnExtraBeyondItsRangeIsAnError) {
  const record::Arrived most{
      {.job = JobId(0), .user = UserId(0), .name = "a", .extras = {.copies_max = kCopiesMax + 1}}};
  Rendered back;
  EXPECT_EQ(decode_journal(Reader(encode({{{0}, most}})), back).error().message,
            "record 1: copies_max is out of range");
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
    for (int i = 0; i < 5'000; ++i) tee.on({{i}, fixture.place()});
    tee.on({{9'999}, record::End{}});
    EXPECT_TRUE(std::filesystem::exists(path)) << "a crash must leave what was written";
    ASSERT_TRUE(file->close().has_value());
    ASSERT_TRUE(only_hash.close().has_value());
    EXPECT_EQ(file->hash(), only_hash.hash());
  }
  Rendered back;
  const Result<JournalEnd> end = read_finished_journal(path, back);
  EXPECT_TRUE(end.has_value()) << end.error().message;
  EXPECT_EQ(back.lines, expected.lines);
  std::filesystem::remove_all(folder);
}

TEST(Journal, HashTellsOneBitApart) {
  const Fixture fixture;
  std::vector<std::string> hashes;
  for (const std::uint64_t seed : {0U, 1U, 1U}) {
    JournalFile journal;
    journal.on(fixture.run(seed));
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
  journal.on({{20}, record::GpusDown{NodeId(0)}});
  EXPECT_DEATH(journal.on({{19}, record::GpusUp{NodeId(0)}}), "at 19 ms follows one at 20 ms");
  ASSERT_TRUE(journal.close().has_value());
  EXPECT_DEATH(journal.on({{30}, record::End{}}), "follows the end of the journal");
  EXPECT_DEATH((void)journal.close(), "closed twice");
}

}  // namespace
}  // namespace fairlead
