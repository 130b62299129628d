#include "fairlead/http/http.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

using Of = HttpReader::Of;

std::vector<HttpMessage> messages_of(HttpReader& reader) {
  std::vector<HttpMessage> messages;
  while (auto message = reader.next()) messages.push_back(std::move(*message));
  return messages;
}

std::vector<HttpMessage> read(std::string_view bytes, Of of = Of::kRequests) {
  HttpReader reader(of);
  const Status status = reader.feed(bytes);
  EXPECT_TRUE(status) << status.error().message;
  return messages_of(reader);
}

std::string error_of(std::string_view bytes, Of of = Of::kRequests) {
  HttpReader reader(of);
  const Status status = reader.feed(bytes);
  EXPECT_TRUE(messages_of(reader).empty());
  return status ? "no error" : status.error().message;
}

TEST(Http, ARequestComesBackAsItWasWritten) {
  const auto messages =
      read(http_request("POST", "/v1/jobs?all=1&user=a%20b", R"({"gpus":2})", "secret"));
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].method, "POST");
  EXPECT_EQ(messages[0].path, "/v1/jobs");
  EXPECT_EQ(messages[0].query, "all=1&user=a%20b");
  EXPECT_EQ(messages[0].host, "localhost");
  EXPECT_EQ(messages[0].token, "secret");
  EXPECT_EQ(messages[0].body, R"({"gpus":2})");
  EXPECT_TRUE(messages[0].keep_alive);
}

TEST(Http, ARequestNeedsNoBody) {
  for (const char* method : {"GET", "POST"}) {
    const auto messages = read(http_request(method, "/v1/jobs/3/cancel"));
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].method, method);
    EXPECT_EQ(messages[0].body + messages[0].query + messages[0].token, "");
  }
}

TEST(Http, AResponseComesBackAsItWasWritten) {
  const auto messages =
      read(http_response(404, "application/json", R"({"error":"no job 7"})"), Of::kResponses);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].status, 404);
  EXPECT_EQ(messages[0].body, R"({"error":"no job 7"})");
  EXPECT_TRUE(messages[0].keep_alive);
}

TEST(Http, MessagesMayComeInAnyPiecesAndSeveralAtOnce) {
  const std::string bytes = http_request("POST", "/v1/jobs", "{}", "secret") +
                            http_request("GET", "/healthz") +
                            "PUT /v1/users/ann HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    HttpReader reader(Of::kRequests);
    std::vector<HttpMessage> messages;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      ASSERT_TRUE(reader.feed(std::string_view(bytes).substr(at, piece)));
      while (auto message = reader.next()) messages.push_back(std::move(*message));
    }
    ASSERT_EQ(messages.size(), 3U) << piece;
    EXPECT_EQ(messages[0].token, "secret");
    EXPECT_EQ(messages[0].body, "{}");
    EXPECT_EQ(messages[1].path, "/healthz");
    EXPECT_EQ(messages[1].token, "");
    EXPECT_EQ(messages[2].body, "abcde");
  }
}

TEST(Http, AReaderThatMovesReadsOn) {
  HttpReader first(Of::kRequests);
  ASSERT_TRUE(first.feed("GET /a HTTP/1.1\r\nHo"));
  HttpReader second = std::move(first);
  ASSERT_TRUE(second.feed("st: h\r\n\r\n"));
  const auto messages = messages_of(second);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].host, "h");
}

TEST(Http, APathIsDecodedAndItsQueryIsNot) {
  const auto messages = read("GET /v1/users/a%2Fb%20%c3%A4?x=%20 HTTP/1.1\r\n\r\n");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].path, "/v1/users/a/b \xc3\xa4");
  EXPECT_EQ(messages[0].query, "x=%20");
}

TEST(Http, AnEncodedNameIsDecodedToItself) {
  std::string name;
  for (int byte = 1; byte < 256; ++byte) name += static_cast<char>(byte);
  const auto messages = read(http_request("GET", "/v1/users/" + http_encoded(name)));
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].path, "/v1/users/" + name);
}

TEST(Http, APathThatCannotBeDecodedIsAnError) {
  for (const char* path : {"/%", "/%4", "/%4x", "/%x4", "/a%00b", "*", "http://host/a"}) {
    EXPECT_EQ(error_of(std::string("GET ") + path + " HTTP/1.1\r\n\r\n"),
              "an HTTP message: it asks for no path")
        << path;
  }
}

TEST(Http, NothingIsReadAfterTheLastMessageOfAConnection) {
  HttpReader reader(Of::kRequests);
  ASSERT_TRUE(reader.feed("GET /a HTTP/1.1\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(reader.feed("GET /c HTTP/1.1\r\n\r\n"));
  const auto messages = messages_of(reader);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].path, "/a");
  EXPECT_FALSE(messages[0].keep_alive);
  EXPECT_FALSE(read("GET / HTTP/1.0\r\n\r\n")[0].keep_alive);
  EXPECT_FALSE(read(http_response(400, "text/plain", "no", false), Of::kResponses)[0].keep_alive);
}

TEST(Http, AWishForAnotherProtocolIsIgnored) {
  const auto messages =
      read("GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1].path, "/b");
}

TEST(Http, WhatIsNoHttpIsAnErrorAndStaysOne) {
  HttpReader reader(Of::kRequests);
  const Status status = reader.feed("hello\r\n\r\n");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "an HTTP message: invalid HTTP method");
  EXPECT_FALSE(reader.feed(http_request("GET", "/")));
  EXPECT_FALSE(reader.next());
}

TEST(Http, AStatusBelow100IsAnError) {
  EXPECT_EQ(error_of("HTTP/1.1 0 OK\r\nContent-Length: 0\r\n\r\n", Of::kResponses),
            "an HTTP message: its status is none");
}

TEST(Http, LengthsThatContradictEachOtherAreAnError) {
  EXPECT_NE(error_of("POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "no error");
  EXPECT_NE(error_of("POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"),
            "no error");
}

TEST(Http, TwoHostsAreAnErrorAndOneBehindTheBodyIsNone) {
  EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"),
            "an HTTP message: it has two Host headers");
  const auto messages = read(
      "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "0\r\nHost: b\r\nAuthorization: Bearer c\r\n\r\n");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].host, "a");
  EXPECT_EQ(messages[0].token, "");
}

TEST(Http, ABodyMayBeAsLargeAsItSaysAndNoLarger) {
  const std::string largest(kHttpBytesMax, 'x');
  EXPECT_EQ(read(http_request("PUT", "/", largest))[0].body, largest);
  // Rejected by its declared length before any of it arrived, and by the bytes received if no length was declared.
  EXPECT_EQ(error_of("PUT / HTTP/1.1\r\nContent-Length: 4194305\r\n\r\n"),
            "an HTTP message: it is too large");
  EXPECT_EQ(
      error_of("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n400001\r\n" + largest + "x"),
      "an HTTP message: it is too large");
}

TEST(Http, ValuesOfAQueryAreDecoded) {
  EXPECT_EQ(query_value("all=1&user=a%20b", "user"), "a b");
  EXPECT_EQ(query_value("all=1&user=a", "all"), "1");
  EXPECT_EQ(query_value("users=a", "user"), "");
  EXPECT_EQ(query_value("user=%zz", "user"), "");
}

TEST(Http, CookiesAreFoundByName) {
  const auto messages =
      read("GET / HTTP/1.1\r\nHost: a\r\nCookie: one=1; token=secret;two=2\r\n\r\n");
  ASSERT_EQ(messages.size(), 1U);
  const std::string& cookies = messages[0].cookies;
  EXPECT_EQ(cookie_value(cookies, "one"), "1");
  EXPECT_EQ(cookie_value(cookies, "token"), "secret");
  EXPECT_EQ(cookie_value(cookies, "two"), "2");
  EXPECT_EQ(cookie_value(cookies, "tok"), "");
  EXPECT_EQ(cookie_value("", "one"), "");
}

TEST(Http, AResponseMayHaveMoreHeaders) {
  const std::string bytes = http_response(200, "text/plain", "x", true, "A: b\r\n");
  EXPECT_NE(bytes.find("\r\nA: b\r\n\r\nx"), std::string::npos) << bytes;
}

TEST(Http, EndlessHeadersAreAnError) {
  std::string bytes = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 10'000; ++i) bytes += "X-More: and more\r\n";
  EXPECT_EQ(error_of(bytes), "an HTTP message: too many header bytes seen; overflow detected");
}

}  // namespace
}  // namespace fairlead
