#include "fairlead/pods/tickets.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Tickets, ALineForEachNamespace) {
  const auto tickets = parse_tickets("vision: 3\nspeech: 1\n");
  ASSERT_TRUE(tickets.has_value());
  EXPECT_EQ(*tickets, (std::map<std::string, std::int64_t>{{"speech", 1}, {"vision", 3}}));
  EXPECT_TRUE(parse_tickets(" \n").value().empty());
}

TEST(Tickets, AnErrorSaysWhere) {
  const auto tickets = parse_tickets("vision: 3\nspeech: many\n");
  ASSERT_FALSE(tickets.has_value());
  EXPECT_EQ(tickets.error().message.substr(0, 12), "tickets:2:9:");
  EXPECT_FALSE(parse_tickets("speech: 0").has_value());
  EXPECT_FALSE(parse_tickets("- a").has_value());
}

}  // namespace
}  // namespace fairlead
