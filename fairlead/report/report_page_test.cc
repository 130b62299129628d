#include "fairlead/report/report_page.h"

#include "fairlead/base/rng.h"
#include "fairlead/report/testing_page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPage = "<p>é</p><script>__FAIRLEAD_REPORT_DATA__</script><p>end</p>";

class ReportPageTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  std::string written(const std::vector<std::string>& pieces) const {
    auto page = ReportPage::create(path_, kPage);
    EXPECT_TRUE(page.has_value());
    for (const std::string& piece : pieces) page->write(piece);
    const auto bytes = page->commit();
    EXPECT_TRUE(bytes.has_value());
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    EXPECT_EQ(static_cast<std::int64_t>(text.str().size()), *bytes);
    return text.str();
  }
  static std::string data_of(const std::string& html) {
    return report_data_of(html, "<script>", "</script>");
  }

  const fs::path path_ = fs::path(testing::TempDir()) / "fairlead_report_page_test.html";
};

TEST_F(ReportPageTest, PutsTheDataWhereThePageSays) {
  const std::string html = written({"{\"a\":", "1}"});
  EXPECT_TRUE(html.starts_with("<p>é</p><script>H4sI")) << html;  // gzip's first bytes
  EXPECT_TRUE(html.ends_with("</script><p>end</p>")) << html;
  EXPECT_EQ(data_of(html), "{\"a\":1}");
}

TEST_F(ReportPageTest, KeepsDataOfAnyLength) {
  Rng rng(3);
  for (const std::size_t size : {0UL, 1UL, 2UL, 3UL, 100UL, 65'536UL, 300'001UL}) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(rng.below(256));
    const std::size_t half = size / 2;
    EXPECT_TRUE(data_of(written({bytes.substr(0, half), bytes.substr(half)})) == bytes) << size;
  }
}

TEST_F(ReportPageTest, IsTheSameEveryTime) {
  EXPECT_EQ(written({"data", "data"}), written({"data", "data"}));
}

TEST_F(ReportPageTest, RefusesAPageWithoutOnePlaceForTheData) {
  for (const char* page : {"", "<p>", "__FAIRLEAD_REPORT_DATA____FAIRLEAD_REPORT_DATA__"}) {
    const auto created = ReportPage::create(path_, page);
    ASSERT_FALSE(created.has_value()) << page;
    EXPECT_EQ(created.error().kind, Error::Kind::kInput);
  }
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(ReportPageTest, TakesTheProgramsOwnPage) {
  EXPECT_TRUE(report_page_text().starts_with("<!doctype html>"));
  EXPECT_TRUE(ReportPage::create(path_, report_page_text()).has_value());
}

TEST_F(ReportPageTest, AnUnfinishedPageLeavesNothing) {
  { ReportPage::create(path_, kPage)->write("data"); }
  EXPECT_FALSE(fs::exists(path_));
}

}  // namespace
}  // namespace fairlead
