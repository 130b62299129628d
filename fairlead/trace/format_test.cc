#include "fairlead/trace/format.h"

#include "fairlead/base/file.h"
#include "fairlead/base/testing_docs.h"
#include "fairlead/trace/readers/readers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace fairlead {
namespace {

const TraceFormat* format_of_file(const std::string& name) {
  auto source = ByteSource::open("tests/data/traces/" + name);
  return format_of(source->peek(1 << 14).value());
}

TEST(TraceFormat, NamesAreUniqueAndReadBack) {
  for (const TraceFormat* format : all_formats()) EXPECT_EQ(find_format(format->name), format);
  EXPECT_EQ(
      format_names(),
      "native|tiresias|gavel|philly|helios|acme|pai|openb|dlrm|spot|sacct|swf|normalized|table");
  EXPECT_EQ(find_format("csv"), nullptr);
}

TEST(TraceFormat, IsExplainedInTheDocumentation) {
  const std::vector<DocRow> explained = doc_table("docs/formats.md", "| `--format` | file |");
  for (const TraceFormat* format : all_formats()) {
    const DocRow row = {fmt::format("`{}`", format->name), std::string(format->file)};
    EXPECT_EQ(std::ranges::count(explained, row), 1) << row[0] << ": " << row[1];
  }
  EXPECT_EQ(explained.size(), all_formats().size());
}

TEST(TraceFormat, IsFuzzed) {
  for (const TraceFormat* format : all_formats()) {
    EXPECT_TRUE(std::filesystem::exists(fmt::format("fuzz/corpus/{}", format->name)))
        << format->name;
  }
}

TEST(TraceFormat, IsToldByContent) {
  EXPECT_EQ(format_of_file("native.csv"), &kNativeFormat);
  EXPECT_EQ(format_of_file("normalized.csv"), &kNormalizedFormat);
  EXPECT_EQ(format_of_file("openb_normalized.csv"), &kNormalizedFormat);
  EXPECT_EQ(format_of_file("tiresias.csv"), &kTiresiasFormat);
  EXPECT_EQ(format_of_file("gavel.tsv"), &kGavelFormat);
  EXPECT_EQ(format_of_file("shockwave.tsv"), &kGavelFormat);
  EXPECT_EQ(format_of_file("philly.json"), &kPhillyFormat);
  EXPECT_EQ(format_of_file("helios.csv"), &kHeliosFormat);
  EXPECT_EQ(format_of_file("acme.csv"), &kAcmeFormat);
  EXPECT_EQ(format_of_file("pai.csv"), &kPaiFormat);
  EXPECT_EQ(format_of_file("openb.csv"), &kOpenbFormat);
  EXPECT_EQ(format_of_file("sacct.txt"), &kSacctFormat);
  EXPECT_EQ(format_of_file("swf.swf"), &kSwfFormat);
}

TEST(TraceFormat, IsToldDespiteQuotesAndByteOrderMarks) {
  EXPECT_EQ(format_of("\xef\xbb\xbf\"job\",\"submit_s\"\r\n"), &kNativeFormat);
  EXPECT_EQ(format_of("\xef\xbb\xbf \n [ {"), &kPhillyFormat);
}

TEST(TraceFormat, IsNotGuessed) {
  for (const char* head : {"", "\n", "a,b,c\n", "{\"jobid\": 1}", "1,2,3,4,5,6,7,8,9,10\n"})
    EXPECT_EQ(format_of(head), nullptr) << head;
}

// Headers that keep the columns of the log which they were made from.
TEST(TraceFormat, OfLowestRankWinsWhereAHeaderFitsSeveral) {
  EXPECT_EQ(format_of("job_id,num_gpu,submit_time,submit_s\n"), &kNormalizedFormat);
  EXPECT_EQ(format_of("job_id,num_gpu,gpu_num,vc,submit_time\n"), &kHeliosFormat);
  EXPECT_EQ(format_of("job,job_id,submit_s\n"), &kNativeFormat);
}

TEST(TraceFormat, OnlyNativeIsStrictByDefault) {
  for (const TraceFormat* format : all_formats()) {
    EXPECT_EQ(format->reading == Reading::kStrict, format == &kNativeFormat) << format->name;
  }
}

TEST(NearestFormat, SaysWhatIsLacking) {
  EXPECT_EQ(nearest_format("JobID|Submit|ElapsedRaw\n"),
            "it is like sacct, but lacks User, AllocTRES, State");
  EXPECT_EQ(nearest_format("job,gpuss,submit,duration\n"),
            "it is like table, but lacks gpus (did you mean gpuss?)");
  EXPECT_EQ(nearest_format("name;num_gpu;creation_time;deletion_time\n"),
            "it is like openb, but in another form");
  EXPECT_EQ(nearest_format("a,b,c\n"), "");
  EXPECT_EQ(nearest_format(""), "");
}

TEST(TraceHead, TheSeparatorIsTheOneThatTheHeaderHasMostOf) {
  EXPECT_EQ(TraceHead("a;b,c;d\n").separator(), ';');
  EXPECT_EQ(TraceHead("\"a,b,c\"|d\n").separator(), '|');
  EXPECT_EQ(TraceHead("sep=;\r\na;b\r\n").separator(), ';');
  EXPECT_EQ(TraceHead("a\tb\n").separator(), '\t');
  EXPECT_EQ(TraceHead("a\n").separator(), ',');
}

}  // namespace
}  // namespace fairlead
