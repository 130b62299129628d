// The functions of libcurl that we call, for a program that is not linked with it: each is looked up in libcurl.so.4 at
// its first call (FAIRLEAD_PORTABLE). If the library is not installed, curl_global_init() returns an error, after which
// no other function may be called.

// Its macros would hide the functions. NOLINTNEXTLINE(readability-identifier-naming)
#define CURL_DISABLE_TYPECHECK
#include <cstdarg>
#include <curl/curl.h>
#include <dlfcn.h>

#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

namespace {

void* library() {
  static void* const kLibrary = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  return kLibrary;
}

template <typename Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library(), name));
}

// The argument after an option is a long, a pointer or a curl_off_t: all are passed in the same way.
static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));

}  // namespace

#define FL_FIND(name) static const auto kFound = find<decltype(name)>(#name)

CURLcode curl_global_init(long flags) {
  if (library() == nullptr) return CURLE_FAILED_INIT;
  FL_FIND(curl_global_init);
  return kFound(flags);
}

curl_version_info_data* curl_version_info(CURLversion version) {
  FL_FIND(curl_version_info);
  return kFound(version);
}

CURL* curl_easy_init() {
  FL_FIND(curl_easy_init);
  return kFound();
}

void curl_easy_cleanup(CURL* easy) {
  FL_FIND(curl_easy_cleanup);
  kFound(easy);
}

CURLcode curl_easy_setopt(CURL* easy, CURLoption option, ...) {
  FL_FIND(curl_easy_setopt);
  std::va_list arguments;
  va_start(arguments, option);
  void* const value = va_arg(arguments, void*);
  va_end(arguments);
  return kFound(easy, option, value);
}

CURLcode curl_easy_getinfo(CURL* easy, CURLINFO info, ...) {
  FL_FIND(curl_easy_getinfo);
  std::va_list arguments;
  va_start(arguments, info);
  void* const value = va_arg(arguments, void*);
  va_end(arguments);
  return kFound(easy, info, value);
}

const char* curl_easy_strerror(CURLcode code) {
  FL_FIND(curl_easy_strerror);
  return kFound(code);
}

CURLM* curl_multi_init() {
  FL_FIND(curl_multi_init);
  return kFound();
}

CURLMcode curl_multi_cleanup(CURLM* multi) {
  FL_FIND(curl_multi_cleanup);
  return kFound(multi);
}

CURLMcode curl_multi_setopt(CURLM* multi, CURLMoption option, ...) {
  FL_FIND(curl_multi_setopt);
  std::va_list arguments;
  va_start(arguments, option);
  void* const value = va_arg(arguments, void*);
  va_end(arguments);
  return kFound(multi, option, value);
}

CURLMcode curl_multi_add_handle(CURLM* multi, CURL* easy) {
  FL_FIND(curl_multi_add_handle);
  return kFound(multi, easy);
}

CURLMcode curl_multi_remove_handle(CURLM* multi, CURL* easy) {
  FL_FIND(curl_multi_remove_handle);
  return kFound(multi, easy);
}

CURLMcode curl_multi_perform(CURLM* multi, int* running) {
  FL_FIND(curl_multi_perform);
  return kFound(multi, running);
}

CURLMcode curl_multi_poll(CURLM* multi, curl_waitfd* more, unsigned count, int limit_ms,
                          int* ready) {
  FL_FIND(curl_multi_poll);
  return kFound(multi, more, count, limit_ms, ready);
}

CURLMsg* curl_multi_info_read(CURLM* multi, int* left) {
  FL_FIND(curl_multi_info_read);
  return kFound(multi, left);
}

curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  FL_FIND(curl_slist_append);
  return kFound(list, text);
}

void curl_slist_free_all(curl_slist* list) {
  FL_FIND(curl_slist_free_all);
  kFound(list);
}
