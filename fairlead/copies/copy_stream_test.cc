#include "fairlead/copies/copy_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <sys/socket.h>

namespace fairlead {
namespace {

class CopyStreamTest : public testing::Test {
 protected:
  CopyStreamTest() {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
    here_.emplace(Descriptor(pair[0]));
    there_ = Descriptor(pair[1]);
  }
  void write(std::string_view bytes) const {
    EXPECT_EQ(::send(there_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  std::optional<std::string> line() {
    here_->pump();
    const auto message = here_->take();
    return message ? std::optional(message->line) : std::nullopt;
  }

  std::optional<CopyStream> here_;
  Descriptor there_;
};

TEST_F(CopyStreamTest, AMessageComesOnceItIsWhole) {
  const std::string bytes =
      "6 3\nmade 5\1\n\2"
      "4 0\ndone";
  for (std::size_t i = 0; i + 1 < 13; ++i) {
    write(bytes.substr(i, 1));
    EXPECT_EQ(line(), std::nullopt);
  }
  write(bytes.substr(12));
  here_->pump();
  const auto first = here_->take();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->line, "made 5");
  EXPECT_EQ(first->content, "\1\n\2");
  EXPECT_EQ(line(), "done");
  EXPECT_EQ(line(), std::nullopt);
  EXPECT_FALSE(here_->is_closed());
}

TEST_F(CopyStreamTest, MessagesOfAnySizeArrive) {
  CopyStream other(std::move(there_));
  other.allow_any_size();
  const std::string content(5'000'000, 'x');
  here_->send("make 1 0 a b", content);
  here_->send("leave");
  std::vector<CopyMessage> got;
  while (got.size() < 2 && !other.is_closed()) {
    here_->pump();
    other.pump();
    while (auto message = other.take()) got.push_back(*std::move(message));
  }
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].content, content);
  EXPECT_EQ(got[1].line, "leave");
  EXPECT_TRUE(here_->has_sent_all());
}

TEST_F(CopyStreamTest, AStrangerCannotSendMuch) {
  write("10 5000\n");
  EXPECT_EQ(line(), std::nullopt);
  EXPECT_TRUE(here_->is_closed());
}

TEST_F(CopyStreamTest, WhatIsNoMessageClosesIt) {
  write("GET / HTTP/1.1\r\n");
  EXPECT_EQ(line(), std::nullopt);
  EXPECT_TRUE(here_->is_closed());
}

TEST_F(CopyStreamTest, LongHeadersCloseIt) {
  write(std::string(100, '1'));
  EXPECT_EQ(line(), std::nullopt);
  EXPECT_TRUE(here_->is_closed());
}

TEST_F(CopyStreamTest, WhatWasSentBeforeTheEndStillComes) {
  write("4 0\ndone");
  there_ = Descriptor();
  here_->pump();
  EXPECT_TRUE(here_->is_closed());
  const auto message = here_->take();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->line, "done");
}

}  // namespace
}  // namespace fairlead
