#include "fairlead/base/bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace fairlead {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxUnsigned = std::numeric_limits<std::uint64_t>::max();

TEST(Bytes, ReadsBackWhatWasWritten) {
  Writer writer;
  for (std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, kMaxUnsigned})
    writer.u64(value);
  for (std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, kMin, kMax}) writer.i64(value);
  writer.text("");
  writer.text(std::string_view("a\0b", 3));
  writer.time(Time::never());
  writer.id(JobId(0));
  writer.id(JobId::none());

  Reader reader(writer.bytes());
  for (std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, kMaxUnsigned})
    EXPECT_EQ(reader.u64(), value);
  for (std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, kMin, kMax})
    EXPECT_EQ(reader.i64(), value);
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.text(), std::string("a\0b", 3));
  EXPECT_EQ(reader.time(), Time::never());
  EXPECT_EQ(reader.id<JobId>(), JobId(0));
  EXPECT_TRUE(reader.id<JobId>().is_none());
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 0U);
}

// The journal's hash depends on the encoding, so it is fixed.
TEST(Bytes, EncodesTheSameOnEveryMachine) {
  Writer writer;
  writer.u64(300);
  writer.i64(-2);
  writer.text("ab");
  EXPECT_EQ(writer.bytes(), (std::vector<std::uint8_t>{0xac, 0x02, 0x03, 0x02, 'a', 'b'}));
}

TEST(Reader, StaysBadAfterATruncatedItem) {
  const std::vector<std::uint8_t> truncated = {0x80};
  Reader reader(truncated);
  EXPECT_EQ(reader.u64(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.u64(), 0U);
  EXPECT_EQ(reader.text(), "");
  EXPECT_FALSE(reader.ok());
}

TEST(Reader, RejectsATextThatIsLongerThanTheInput) {
  Writer writer;
  writer.u64(kMaxUnsigned);
  Reader reader(writer.bytes());
  EXPECT_EQ(reader.text(), "");
  EXPECT_FALSE(reader.ok());
}

TEST(Reader, RejectsNumbersOfMoreThan64Bits) {
  std::vector<std::uint8_t> bytes(9, 0xff);
  bytes.push_back(0x02);
  Reader reader(bytes);
  EXPECT_EQ(reader.u64(), 0U);
  EXPECT_FALSE(reader.ok());
}

RC_GTEST_PROP(BytesProperty, AnyMixtureOfItemsSurvives, ()) {
  const auto numbers = *rc::gen::arbitrary<std::vector<std::int64_t>>();
  const auto texts = *rc::gen::arbitrary<std::vector<std::string>>();
  Writer writer;
  for (std::int64_t number : numbers) writer.i64(number);
  for (const std::string& text : texts) writer.text(text);
  Reader reader(writer.bytes());
  for (std::int64_t number : numbers) RC_ASSERT(reader.i64() == number);
  for (const std::string& text : texts) RC_ASSERT(reader.text() == text);
  RC_ASSERT(reader.ok() && reader.left() == 0U);
}

RC_GTEST_PROP(BytesProperty, ArbitraryInputIsNeverTrusted, ()) {
  const auto bytes = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
  Reader reader(bytes);
  for (int i = 0; i < 4; ++i) {
    const std::size_t before = reader.left();
    static_cast<void>(i % 2 == 0 ? reader.text().size() : static_cast<std::size_t>(reader.u64()));
    RC_ASSERT(reader.left() <= before);
  }
}

}  // namespace
}  // namespace fairlead
