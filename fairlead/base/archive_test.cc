#include "fairlead/base/archive.h"

#include <gtest/gtest.h>

#include <limits>

namespace fairlead {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen };

struct Part {
  bool is_on = false;
  std::uint16_t small = 0;
  void fields(Archive& archive) { archive(is_on, small); }
  friend bool operator==(const Part&, const Part&) = default;
};

struct Whole {
  std::int64_t count = 0;
  double level = 0;
  std::string name;
  Time at;
  Duration during;
  GpuTime served;
  JobId job;
  std::vector<Part> parts;
  IdVector<UserId, std::uint32_t> by_user;
  std::array<std::pair<NodeId, std::int64_t>, 2> pairs;
  std::map<JobId, std::string> names;
  void fields(Archive& archive) {
    archive(count, level, name, at, during, served, job, parts, by_user, pairs, names);
  }
  friend bool operator==(const Whole&, const Whole&) = default;
};

Whole whole() {
  Whole made;
  made.count = -5;
  made.level = 0.1;
  made.name = "a";
  made.at = Time::never();
  made.during = {7};
  made.served = {8};
  made.job = JobId(3);
  made.parts = {{true, 65'535}, {false, 0}};
  made.by_user.push_back(9);
  made.pairs = {{{NodeId(1), -1}, {NodeId(), 2}}};
  made.names = {{JobId(2), "x"}, {JobId(7), "y"}};
  return made;
}

TEST(Archive, ReadsBackWhatTheSameListWrote) {
  Writer writer;
  save(whole(), writer);
  Reader reader(writer.bytes());
  Whole read;
  read.parts.resize(5);  // replaced
  load(read, reader);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 0U);
  EXPECT_EQ(read, whole());
}

TEST(Archive, WritesAsTheWriterDoes) {
  Writer by_list;
  Archive archive(by_list);
  Part part{true, 300};
  std::vector<double> levels = {0.5};
  archive(part, levels);

  Writer by_hand;
  by_hand.u64(1);
  by_hand.u64(300);
  by_hand.u64(1);
  by_hand.real(0.5);
  EXPECT_EQ(by_list.bytes(), by_hand.bytes());
}

template <class ArchiveFields>
bool reads(const Writer& writer, ArchiveFields archive_fields) {
  Reader reader(writer.bytes());
  Archive archive(reader);
  archive_fields(archive);
  EXPECT_EQ(archive.ok(), reader.ok());
  return reader.ok();
}

TEST(Archive, RefusesValuesOutOfRange) {
  Writer writer;
  writer.u64(65'536);
  Part part;
  Colour colour = Colour::kRed;
  std::uint64_t count = 1;
  EXPECT_FALSE(reads(writer, [&](Archive& archive) { archive(part.small); }));
  EXPECT_FALSE(
      reads(writer, [&](Archive& archive) { archive.enumerator(colour, Colour::kGreen); }));
  EXPECT_EQ(colour, Colour::kRed);
  EXPECT_FALSE(reads(writer, [&](Archive& archive) { archive.size(count); }));
  EXPECT_EQ(count, 0U);
  EXPECT_FALSE(reads(writer, [&](Archive& archive) { archive.expect(false); }));
}

TEST(Archive, EndsWithItsInputWhateverTheSizesSay) {
  Writer writer;
  writer.u64(std::numeric_limits<std::uint64_t>::max());
  writer.u64(1);
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> others;
  EXPECT_FALSE(reads(writer, [&](Archive& archive) { archive(numbers); }));
  EXPECT_EQ(numbers, std::vector<std::uint64_t>{1});
  EXPECT_FALSE(reads(writer, [&](Archive& archive) { archive.rows(numbers, others); }));
  EXPECT_TRUE(numbers.empty());
  EXPECT_FALSE(
      reads(writer, [&](Archive& archive) { archive.ids(std::vector<JobId>(), [](JobId) {}); }));
}

TEST(Archive, HasColumnsRowByRowAndIdsUpToNone) {
  std::vector<std::uint64_t> numbers = {1, 2};
  std::vector<double> levels = {0.5, 0.25};
  Writer writer;
  Archive out(writer);
  out.rows(numbers, levels);
  out.ids(std::vector<JobId>{JobId(4)}, [&](JobId) { out(numbers[0]); });
  out.sized(numbers, 2);

  Writer by_hand;
  for (std::uint64_t number : {2U, 1U}) by_hand.u64(number);
  by_hand.real(0.5);
  by_hand.u64(2);
  by_hand.real(0.25);
  for (std::uint64_t number : {5U, 1U, 0U, 1U, 2U}) by_hand.u64(number);
  EXPECT_EQ(writer.bytes(), by_hand.bytes());

  Reader reader(writer.bytes());
  Archive in(reader);
  std::vector<std::uint64_t> read_numbers;
  std::vector<double> read_levels;
  std::vector<JobId> jobs;
  std::uint64_t rest = 0;
  in.rows(read_numbers, read_levels);
  in.ids(std::vector<JobId>(), [&](JobId job) {
    in(rest);
    jobs.push_back(job);
  });
  EXPECT_EQ(read_numbers, numbers);
  EXPECT_EQ(read_levels, levels);
  EXPECT_EQ(jobs, std::vector<JobId>{JobId(4)});
  EXPECT_EQ(rest, 1U);
  in.sized(read_numbers, 2);
  EXPECT_EQ(read_numbers, numbers);
  EXPECT_TRUE(reader.ok());
}

}  // namespace
}  // namespace fairlead
