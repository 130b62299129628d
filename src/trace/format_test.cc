#include "fairlead/trace/format.h"

#include "fairlead/base/file.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

std::optional<TraceFormat> format_of_file(const std::string& name) {
  auto source = ByteSource::open("tests/data/traces/" + name);
  return format_of(source->peek(1 << 14).value());
}

TEST(TraceFormat, NamesAreUniqueAndReadBack) {
  std::string joined;
  for (std::size_t i = 0; i < kTraceFormats; ++i) {
    const auto format = static_cast<TraceFormat>(i);
    EXPECT_EQ(format_named(format_name(format)), format);
    joined += (i == 0 ? "" : "|") + std::string(format_name(format));
  }
  EXPECT_EQ(format_names(), joined);
  EXPECT_EQ(format_named("csv"), std::nullopt);
}

TEST(TraceFormat, IsToldByContent) {
  EXPECT_EQ(format_of_file("native.csv"), TraceFormat::kNative);
  EXPECT_EQ(format_of_file("normalized.csv"), TraceFormat::kNormalized);
  EXPECT_EQ(format_of_file("openb_normalized.csv"), TraceFormat::kNormalized);
  EXPECT_EQ(format_of_file("tiresias.csv"), TraceFormat::kTiresias);
  EXPECT_EQ(format_of_file("gavel.tsv"), TraceFormat::kGavel);
  EXPECT_EQ(format_of_file("shockwave.tsv"), TraceFormat::kGavel);
  EXPECT_EQ(format_of_file("philly.json"), TraceFormat::kPhilly);
  EXPECT_EQ(format_of_file("helios.csv"), TraceFormat::kHelios);
  EXPECT_EQ(format_of_file("acme.csv"), TraceFormat::kAcme);
  EXPECT_EQ(format_of_file("pai.csv"), TraceFormat::kPai);
  EXPECT_EQ(format_of_file("openb.csv"), TraceFormat::kOpenb);
  EXPECT_EQ(format_of_file("sacct.txt"), TraceFormat::kSacct);
}

TEST(TraceFormat, IsToldDespiteQuotesAndByteOrderMarks) {
  EXPECT_EQ(format_of("\xef\xbb\xbf\"job\",\"submit_s\"\r\n"), TraceFormat::kNative);
  EXPECT_EQ(format_of("\xef\xbb\xbf \n [ {"), TraceFormat::kPhilly);
}

TEST(TraceFormat, IsNotGuessed) {
  for (const char* head : {"", "\n", "a,b,c\n", "{\"jobid\": 1}", "1,2,3,4,5,6,7,8,9,10\n"})
    EXPECT_EQ(format_of(head), std::nullopt) << head;
}

TEST(TraceFormat, OnlyNativeIsStrictByDefault) {
  EXPECT_EQ(default_reading(TraceFormat::kNative), Reading::kStrict);
  EXPECT_EQ(default_reading(TraceFormat::kPhilly), Reading::kLenient);
}

}  // namespace
}  // namespace fairlead
