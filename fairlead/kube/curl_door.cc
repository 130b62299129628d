#include "fairlead/kube/curl_door.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>

namespace fairlead {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr long kConnectLimitMs = 10'000;
constexpr unsigned kDeadConnectionMs = 15'000;
constexpr Duration kTokenFileAge = seconds(60);  // other clients use the same interval
constexpr std::int64_t kExpiryMarginMs = 30'000;
constexpr Duration kRefreshPause = seconds(5);  // between attempts to read credentials

std::int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  FL_CHECK(::clock_gettime(clock, &now) == 0, "{}", std::strerror(errno));
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// An older libcurl ignores CURLOPT_CAINFO_BLOB, and the certificate of an API server would not be accepted.
constexpr unsigned kOldestCurl = 0x074d00;  // 7.77

Status init_curl() {
  static const bool kStarts = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!kStarts) return missing_curl({});
  const curl_version_info_data& found = *curl_version_info(CURLVERSION_NOW);
  return found.version_num >= kOldestCurl ? Status() : missing_curl(found.version);
}

// A connection with a silent peer counts as broken.
int on_socket(void*, curl_socket_t socket, curlsocktype) {
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kDeadConnectionMs, sizeof kDeadConnectionMs);
  return CURL_SOCKOPT_OK;
}

// "host:port" of a server, and the path behind it.
struct Address {
  std::string scheme;
  std::string host;
  std::string port;
  std::string path;
};

Address address_of(const std::string& server) {
  Address address;
  const std::size_t begin = server.find("://") + 3;
  address.scheme = server.substr(0, begin);
  const std::size_t slash = std::min(server.find('/', begin), server.size());
  const std::string authority = server.substr(begin, slash - begin);
  address.path = server.substr(slash);
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != authority.npos && authority.find(']', colon) == authority.npos;
  address.host = authority.substr(0, has_port ? colon : authority.size());
  address.port =
      has_port ? authority.substr(colon + 1) : (address.scheme == "https://" ? "443" : "80");
  return address;
}

}  // namespace

struct FreeCurlList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, FreeCurlList>;

namespace {

void append(CurlList& list, const std::string& text) {
  curl_slist* const longer = curl_slist_append(list.get(), text.c_str());
  FL_CHECK(longer != nullptr, "out of memory");
  static_cast<void>(list.release());
  list.reset(longer);
}

curl_blob blob(std::string& text) { return {text.data(), text.size(), CURL_BLOB_COPY}; }

}  // namespace

Status missing_curl(std::string_view found) {
  if (!found.empty()) {
    return run_error(
        "libcurl 7.77 or later is needed to connect to API servers, and this system has {}: use "
        "the wheel or the image, which have their own, or a later system (Debian 12, Ubuntu 22.04)",
        found);
  }
  return run_error(
      "libcurl 7.77 or later, which connects to API servers, is missing or cannot start: install "
      "libcurl.so.4 of such a version (Debian 12, Ubuntu 22.04 and later: apt install libcurl4)");
}

struct CurlDoor::Multi {
  CURLM* handle = curl_multi_init();
  Multi() { FL_CHECK(handle != nullptr, "libcurl"); }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;
  ~Multi() { curl_multi_cleanup(handle); }
};

struct CurlDoor::Transfer {
  CURL* easy = curl_easy_init();
  Multi& multi;
  std::deque<KubeEvent>& events;
  CallId id;
  bool is_stream;
  KubeRequest request;
  CurlList headers{};
  CurlList connect_to{};
  std::array<char, CURL_ERROR_SIZE> error{};
  std::string text{};             // the body of an answer; for a stream, its last incomplete line
  std::string why{};              // the reason why we broke it off
  std::uint64_t credentials = 0;  // the number of the credentials that it was sent with
  bool was_tried_again = false;
  bool is_sent = false;

  Transfer(Multi& m, std::deque<KubeEvent>& e, CallId i, bool stream, KubeRequest&& r)
      : multi(m), events(e), id(i), is_stream(stream), request(std::move(r)) {
    FL_CHECK(easy != nullptr, "libcurl");
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    if (is_sent) curl_multi_remove_handle(multi.handle, easy);
    curl_easy_cleanup(easy);
  }

  int status() const {
    long code = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    return static_cast<int>(code);
  }

  static std::size_t on_bytes(char* bytes, std::size_t, std::size_t count, void* self) {
    return static_cast<Transfer*>(self)->take({bytes, count}) ? count : 0;
  }
  // False: too much.
  bool take(std::string_view bytes) {
    if (is_stream && status() == 200) return take_lines(bytes);
    text.append(bytes);
    if (text.size() <= kKubeAnswerBytesMax) return true;
    why = fmt::format("the answer has more than {} bytes", kKubeAnswerBytesMax);
    return false;
  }
  bool take_lines(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      text.append(bytes.substr(0, end));
      if (text.size() > kKubeLineBytesMax) {
        why = fmt::format("a line has more than {} bytes", kKubeLineBytesMax);
        return false;
      }
      if (end == bytes.npos) return true;
      end_line();
      bytes.remove_prefix(end + 1);
    }
    return true;
  }
  void end_line() {
    if (!text.empty()) events.push_back({KubeEvent::Kind::kLine, id, 200, std::exchange(text, {})});
  }
};

Result<std::unique_ptr<CurlDoor>> CurlDoor::open(KubeTarget target, int leave) {
  FL_TRY(init_curl());
  FL_TRY_ASSIGN(authority, read_text(target.cluster.authority));
  FL_TRY_ASSIGN(credentials, read_credentials(target));
  return std::unique_ptr<CurlDoor>(
      new CurlDoor(std::move(target), std::move(credentials), std::move(authority), leave));
}

CurlDoor::CurlDoor(KubeTarget target, KubeCredentials credentials, std::string authority, int leave)
    : target_(std::move(target)),
      credentials_(std::move(credentials)),
      read_at_(Time() - kRefreshPause),
      authority_(std::move(authority)),
      leave_(leave),
      opened_ns_(nanoseconds(CLOCK_BOOTTIME)),
      multi_(std::make_unique<Multi>()) {
  curl_multi_setopt(multi_->handle, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl_multi_setopt(multi_->handle, CURLMOPT_MAX_HOST_CONNECTIONS, 64L);
}

CurlDoor::~CurlDoor() { transfers_.clear(); }

// The boot clock counts while the machine sleeps, so that a lease that expired meanwhile is over.
Time CurlDoor::now() { return {(nanoseconds(CLOCK_BOOTTIME) - opened_ns_) / kNsPerMs}; }

std::int64_t CurlDoor::unix_ms() { return nanoseconds(CLOCK_REALTIME) / kNsPerMs; }

std::uint64_t CurlDoor::random() {
  std::uint64_t value = 0;
  FL_CHECK(::getrandom(&value, sizeof value, 0) == sizeof value, "getrandom");
  return value;
}

CallId CurlDoor::call(KubeRequest request) { return begin(std::move(request), false); }
CallId CurlDoor::stream(KubeRequest request) { return begin(std::move(request), true); }

void CurlDoor::drop(CallId call) {
  transfers_.erase(call);
  std::erase_if(events_, [&](const KubeEvent& e) { return call != 0 && e.call == call; });
}

CallId CurlDoor::begin(KubeRequest&& request, bool is_stream) {
  const CallId id = ++last_call_;
  refresh(false);
  auto transfer = std::make_unique<Transfer>(*multi_, events_, id, is_stream, std::move(request));
  send(*transfer);
  transfers_[id] = std::move(transfer);
  return id;
}

void CurlDoor::send(Transfer& transfer) {
  transfer.credentials = credentials_number_;
  set_address(transfer);
  set_request(transfer);
  set_limits(transfer);
  set_tls(transfer);
  FL_CHECK(curl_multi_add_handle(multi_->handle, transfer.easy) == CURLM_OK);
  transfer.is_sent = true;
}

// If the certificate names another server than the one that we connect to, the URL has that name.
void CurlDoor::set_address(Transfer& transfer) {
  CURL* const easy = transfer.easy;
  const Address address = address_of(target_.cluster.server);
  const std::string& as = target_.cluster.server_name;
  const std::string& host = as.empty() ? address.host : as;
  const std::string url = fmt::format("{}{}:{}{}{}", address.scheme, host, address.port,
                                      address.path, transfer.request.path);
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  transfer.headers.reset();
  if (!as.empty()) {
    append(transfer.headers, fmt::format("Host: {}:{}", address.host, address.port));
    transfer.connect_to.reset();
    append(transfer.connect_to,
           fmt::format("{}:{}:{}:{}", host, address.port, address.host, address.port));
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, transfer.connect_to.get());
  }
  if (!target_.cluster.proxy.empty()) {
    curl_easy_setopt(easy, CURLOPT_PROXY, target_.cluster.proxy.c_str());
  }
}

void CurlDoor::set_request(Transfer& transfer) {
  CURL* const easy = transfer.easy;
  const KubeRequest& request = transfer.request;
  append(transfer.headers, "Accept: application/json");
  append(transfer.headers, "Expect:");
  if (!credentials_.token.empty()) {
    append(transfer.headers, "Authorization: Bearer " + credentials_.token);
  }
  if (!request.body.empty() || request.method == "POST") {
    append(transfer.headers, "Content-Type: " + request.content_type);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers.get());
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "fairlead");
}

void CurlDoor::set_limits(Transfer& transfer) {
  CURL* const easy = transfer.easy;
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_bytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error.data());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectLimitMs);
  if (!transfer.is_stream) {
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(kKubeCallLimit.ms));
  }
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 10L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &on_socket);
}

void CurlDoor::set_tls(Transfer& transfer) {
  CURL* const easy = transfer.easy;
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  if (target_.cluster.skip_verify) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!authority_.empty()) {
    const curl_blob authority = blob(authority_);
    curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &authority);
  }
  if (!credentials_.key.empty()) {
    const curl_blob certificate = blob(credentials_.certificate);
    const curl_blob key = blob(credentials_.key);
    curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key);
  }
}

void CurlDoor::refresh(bool must) {
  const bool has_expired = credentials_.expires_unix_ms != 0 &&
                           credentials_.expires_unix_ms < unix_ms() + kExpiryMarginMs;
  const Duration age = now() - read_at_;
  const bool is_old = !target_.user.token.file.empty() && age > kTokenFileAge;
  if (age < kRefreshPause || !(must || is_old || has_expired)) return;
  read_at_ = now();
  Result<KubeCredentials> fresh = read_credentials(target_);
  // The current credentials may still be valid; if not, the server rejects them.
  if (!fresh || *fresh == credentials_) return;
  credentials_ = std::move(*fresh);
  ++credentials_number_;
}

KubeEvent CurlDoor::wait(Time until) {
  while (true) {
    if (events_.empty()) {
      int running = 0;
      curl_multi_perform(multi_->handle, &running);
      collect();
    }
    if (!events_.empty()) {
      KubeEvent event = std::move(events_.front());
      events_.pop_front();
      return event;
    }
    const KubeEvent::Kind came = poll(until);
    if (came == KubeEvent::Kind::kTerminate) leave_ = -1;
    if (came != KubeEvent::Kind::kTime) return {came};
    if (now() >= until) return {};
  }
}

KubeEvent::Kind CurlDoor::poll(Time until) {
  std::array<curl_waitfd, 2> waits{};
  unsigned count = 0;
  for (const int descriptor : {leave_, also_}) {
    if (descriptor >= 0) waits[count++] = {descriptor, CURL_WAIT_POLLIN, 0};
  }
  const std::int64_t left = std::clamp<std::int64_t>((until - now()).ms, 0, 60'000);
  curl_multi_poll(multi_->handle, waits.data(), count, static_cast<int>(left), nullptr);
  for (const curl_waitfd& wait : waits) {
    if (wait.revents == 0) continue;
    return wait.fd == leave_ ? KubeEvent::Kind::kTerminate : KubeEvent::Kind::kReady;
  }
  return KubeEvent::Kind::kTime;
}

void CurlDoor::collect() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_->handle, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    finish(*transfer, message->data.result);
  }
}

bool CurlDoor::tries_again(Transfer& transfer, int status) {
  if (status != 401 || transfer.was_tried_again) return false;
  // Another call may have caused a new read since.
  if (transfer.credentials == credentials_number_) refresh(true);
  if (transfer.credentials == credentials_number_) return false;
  transfer.was_tried_again = true;
  transfer.text.clear();
  curl_multi_remove_handle(multi_->handle, transfer.easy);
  transfer.is_sent = false;
  send(transfer);
  return true;
}

void CurlDoor::finish(Transfer& transfer, int curl_code) {
  const CallId id = transfer.id;
  const bool is_whole = curl_code == CURLE_OK;
  const int status = is_whole ? transfer.status() : 0;
  if (tries_again(transfer, status)) return;
  if (transfer.is_stream && status == 200) transfer.end_line();
  KubeEvent event = {transfer.is_stream ? KubeEvent::Kind::kEnd : KubeEvent::Kind::kAnswer, id,
                     status};
  if (is_whole) {
    event.text = std::move(transfer.text);
    curl_off_t after_seconds = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_RETRY_AFTER, &after_seconds);
    event.retry_after = seconds(std::clamp<curl_off_t>(after_seconds, 0, 3600));
  } else if (!transfer.why.empty()) {
    event.text = transfer.why;
  } else {
    event.text = transfer.error[0] != '\0' ? transfer.error.data()
                                           : curl_easy_strerror(static_cast<CURLcode>(curl_code));
  }
  events_.push_back(std::move(event));
  transfers_.erase(id);
}

}  // namespace fairlead
