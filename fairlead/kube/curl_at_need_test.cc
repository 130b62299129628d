// The functions found at run time are libcurl's: arguments of each kind arrive.
#include <gtest/gtest.h>

#include <curl/curl.h>
#include <string>

namespace {

TEST(CurlAtNeed, PassesArgumentsOn) {
  ASSERT_EQ(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
  CURL* const easy = curl_easy_init();
  ASSERT_NE(easy, nullptr);
  EXPECT_EQ(curl_easy_setopt(easy, CURLOPT_URL, "http://127.0.0.1:1/path"), CURLE_OK);
  EXPECT_EQ(curl_easy_setopt(easy, CURLOPT_MAXREDIRS, -2L), CURLE_BAD_FUNCTION_ARGUMENT);
  std::string text = "kept";
  EXPECT_EQ(curl_easy_setopt(easy, CURLOPT_PRIVATE, &text), CURLE_OK);

  std::string* found = nullptr;
  EXPECT_EQ(curl_easy_getinfo(easy, CURLINFO_PRIVATE, &found), CURLE_OK);
  EXPECT_EQ(found, &text);
  EXPECT_STREQ(curl_easy_strerror(CURLE_OK), "No error");
  EXPECT_GE(curl_version_info(CURLVERSION_NOW)->version_num, 0x074d00U);
  curl_easy_cleanup(easy);
}

TEST(CurlAtNeed, RunsTransfers) {
  ASSERT_EQ(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
  CURLM* const multi = curl_multi_init();
  CURL* const easy = curl_easy_init();
  curl_slist* const headers = curl_slist_append(nullptr, "Accept: text/plain");
  EXPECT_EQ(curl_multi_setopt(multi, CURLMOPT_PIPELINING, long{CURLPIPE_MULTIPLEX}), CURLM_OK);
  curl_easy_setopt(easy, CURLOPT_URL, "unheard-of://127.0.0.1/");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  ASSERT_EQ(curl_multi_add_handle(multi, easy), CURLM_OK);
  int running = 1;
  EXPECT_EQ(curl_multi_perform(multi, &running), CURLM_OK);
  EXPECT_EQ(running, 0);
  int ready = 1;
  EXPECT_EQ(curl_multi_poll(multi, nullptr, 0, 0, &ready), CURLM_OK);
  EXPECT_EQ(ready, 0);

  int left = 1;
  const CURLMsg* const message = curl_multi_info_read(multi, &left);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->easy_handle, easy);
  EXPECT_EQ(message->data.result, CURLE_UNSUPPORTED_PROTOCOL);
  EXPECT_EQ(curl_multi_remove_handle(multi, easy), CURLM_OK);
  curl_easy_cleanup(easy);
  EXPECT_EQ(curl_multi_cleanup(multi), CURLM_OK);
  curl_slist_free_all(headers);
}

}  // namespace
