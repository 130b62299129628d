#include "fairlead/report/json_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <vector>

namespace fairlead {
namespace {

std::string written(void (*write)(JsonText&)) {
  std::string text;
  JsonText json([&](std::string_view piece) { text += piece; });
  write(json);
  json.flush();
  return text;
}

TEST(JsonText, PutsCommasBetweenItems) {
  EXPECT_EQ(written([](JsonText& json) {
              json.begin('{');
              json.key("a");
              json.begin('[');
              json.end(']');
              json.column("b", std::vector<int>{1, 2}, [&](int n) { json.integer(n); });
              json.key("c");
              json.null();
              json.end('}');
            }),
            R"({"a":[],"b":[1,2],"c":null})");
}

TEST(JsonText, NumbersHaveNoMoreDigitsThanTheyNeed) {
  EXPECT_EQ(written([](JsonText& json) {
              json.begin('[');
              for (double value : {0.0, -0.00001, 1.5, 100.0, -2.25, 1.0 / 3}) json.number(value);
              json.number(std::numeric_limits<double>::quiet_NaN());
              json.end(']');
            }),
            "[0,0,1.5,100,-2.25,0.3333,null]");
}

TEST(JsonText, SecondsLoseNoMillisecond) {
  EXPECT_EQ(written([](JsonText& json) {
              json.begin('[');
              for (std::int64_t ms : {0, 1, 10, 1000, 100'050, -1, -1500}) json.seconds({ms});
              json.end(']');
            }),
            "[0,0.001,0.01,1,100.05,-0.001,-1.5]");
}

TEST(JsonText, TextIsValidWhateverItsBytes) {
  const std::string text = written([](JsonText& json) {
    json.begin('[');
    json.text("\"</script>\\\n\x01");
    json.text("a\xff\xc3z");
    json.text("\xf0\x9f\x9a\x80");
    json.end(']');
  });
  const auto value = nlohmann::json::parse(text, nullptr, false);
  ASSERT_FALSE(value.is_discarded()) << text;
  EXPECT_EQ(value[0], "\"</script>\\\n\x01");
  EXPECT_EQ(value[1], "a\xef\xbf\xbd\xef\xbf\xbdz");
  EXPECT_EQ(value[2], "\xf0\x9f\x9a\x80");
}

TEST(JsonText, PassesLongTextOnInPieces) {
  std::size_t pieces = 0;
  std::string text;
  JsonText json([&](std::string_view piece) {
    ++pieces;
    text += piece;
  });
  json.begin('[');
  for (int i = 0; i < 100'000; ++i) json.integer(7);
  json.end(']');
  json.flush();
  EXPECT_GT(pieces, 2U);
  EXPECT_EQ(text.size(), 200'001U);
  EXPECT_TRUE(text.starts_with("[7,7") && text.ends_with("7,7]"));
}

}  // namespace
}  // namespace fairlead
