#include "fairlead/kube/reflector.h"

#include "fairlead/base/check.h"
#include "fairlead/kube/backoff.h"
#include "fairlead/kube/failure.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <set>

namespace fairlead {
namespace {

constexpr int kChunk = 500;
constexpr std::int64_t kWatchSecondsMin = 20;
constexpr std::uint64_t kWatchSecondsSpan = 9;  // 20 to 28
constexpr std::int64_t kFirstWatchSeconds = 5;
constexpr Duration kEndMargin = seconds(5);    // a stream that lasts this much longer is dead
constexpr Duration kShortStream = seconds(1);  // one that ends sooner counts as failed
constexpr int kQuietStreamsMax = 3;

// Versions are opaque by contract, but numbers wherever we compare them.
std::optional<std::uint64_t> number(std::string_view version) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), value);
  if (error != std::errc() || end != version.data() + version.size()) return std::nullopt;
  return value;
}

bool is_before(std::string_view a, std::string_view b) {
  const auto x = number(a);
  const auto y = number(b);
  return x && y && *x < *y;
}

KubeName name_of(const Json& object) {
  return {text_at(object, {"metadata", "namespace"}), text_at(object, {"metadata", "name"})};
}

const std::string& version_of(const Json& object) {
  return text_at(object, {"metadata", "resourceVersion"});
}

// Drops the field managers, which are most of an object and useless here.
std::shared_ptr<const Json> kept(Json&& object) {
  const auto metadata = object.find("metadata");
  if (metadata != object.end() && metadata->is_object()) metadata->erase("managedFields");
  return std::make_shared<const Json>(std::move(object));
}

// Returns true if the server has not reached that version yet, or never will after a restore.
bool is_too_large(const Json& status) {
  const Json& causes = json_at(status, {"details", "causes"});
  if (!item_at(status, {"details", "causes"}, "reason", "ResourceVersionTooLarge").is_null()) {
    return true;
  }
  return causes.is_null() &&
         text_at(status, {"message"}).find("Too large resource version") != std::string::npos;
}

}  // namespace

std::string_view list_cause_name(ListCause cause) {
  switch (cause) {
    case ListCause::kStart:
      return "start";
    case ListCause::kExpired:
      return "expired";
    case ListCause::kWentBack:
      return "went-back";
    case ListCause::kGarbled:
      return "garbled";
  }
  return "";
}

Reflector::Reflector(KubeDoor& door, std::string path, std::string selector, Sink sink)
    : door_(door),
      path_(std::move(path)),
      selector_(std::move(selector)),
      sink_(std::move(sink)),
      wake_at_(door.now()) {}

Reflector::~Reflector() { leave(); }

Duration Reflector::age() const {
  FL_CHECK(heard_.has_value());
  return door_.now() - *heard_;
}

std::string Reflector::query(std::string_view what) const {
  return fmt::format("{}?{}{}{}", path_, selector_, selector_.empty() ? "" : "&", what);
}

void Reflector::leave() {
  if (call_ != 0) door_.drop(call_);
  call_ = 0;
  state_ = State::kWaiting;
}

void Reflector::wake() {
  if (door_.now() < wake_at_) return;
  if (state_ == State::kWatching) {
    fail("the stream is silent", {});
  } else if (state_ == State::kWaiting) {
    list_next_ ? list() : watch();
  }
}

bool Reflector::handle(const KubeEvent& event) {
  if (call_ == 0 || event.call != call_) return false;
  if (event.kind == KubeEvent::Kind::kAnswer) {
    state_ == State::kProbing ? handle_probe(event) : handle_chunk(event);
  } else if (event.kind == KubeEvent::Kind::kLine) {
    handle_line(event.text);
  } else if (event.kind == KubeEvent::Kind::kEnd) {
    handle_end(event);
  }
  return true;
}

void Reflector::fail(std::string why, Duration at_least) {
  leave();
  trouble_ = std::move(why);
  ++figures_.failures;
  ++failures_;
  wake_at_ = door_.now() + std::max(backoff(failures_, door_.random()), at_least);
}

// -- Lists.

// Our version is useless for another watch. The list waits a little, so that an error in every stream does not cause a
// list each time immediately.
void Reflector::relist(ListCause cause) {
  leave();
  list_next_ = cause;
  ++failures_;
  wake_at_ = door_.now() + backoff(failures_, door_.random());
}

void Reflector::list() {
  state_ = State::kListing;
  begun_ = door_.now();
  chunks_.clear();
  list_chunk("");
}

void Reflector::list_chunk(const std::string& token) {
  const std::string rest = token.empty() ? "" : "&continue=" + token;
  call_ = door_.call({"GET", query(is_chunked_ ? fmt::format("limit={}{}", kChunk, rest) : "")});
  wake_at_ = Time::never();
}

void Reflector::handle_chunk(const KubeEvent& event) {
  call_ = 0;
  if (event.status == 410) {  // the list took longer than the server keeps its version
    is_chunked_ = false;
    return fail("the list expired before its end", event.retry_after);
  }
  if (event.status != 200) {
    return fail("list: " + failure_text(event), event.retry_after);
  }
  std::optional<Json> body = parsed_json(event.text);
  if (!body || !json_at(*body, {"items"}).is_array() || version_of(*body).empty()) {
    return fail("the answer is not a list", {});
  }
  for (Json& item : (*body)["items"]) chunks_.push_back(std::move(item));
  const std::string& token = text_at(*body, {"metadata", "continue"});
  if (!token.empty()) return list_chunk(token);
  take_list(version_of(*body));
}

// Replaces our objects by the list.
void Reflector::take_list(const std::string& version) {
  ++figures_.lists[static_cast<std::size_t>(*list_next_)];
  std::set<KubeName> listed;
  std::vector<Json> items = std::exchange(chunks_, {});
  for (Json& item : items) {
    const KubeName name = name_of(item);
    listed.insert(name);
    put(name, kept(std::move(item)));
  }
  for (auto at = objects_.begin(); at != objects_.end();) {
    const auto next = std::next(at);
    if (!listed.contains(at->first)) remove(at);
    at = next;
  }
  version_ = version;
  heard_ = begun_;
  list_next_.reset();
  is_chunked_ = true;
  quiet_streams_ = 0;
  trouble_.clear();
  tell({Kind::kSynced});
  watch();
}

// -- Watches.

void Reflector::watch() {
  leave();
  state_ = State::kWatching;
  // After a failure the watch is short: its bookmark or end soon confirms that nothing was missed.
  const std::int64_t length =
      failures_ > 0
          ? kFirstWatchSeconds
          : kWatchSecondsMin + static_cast<std::int64_t>(door_.random() % kWatchSecondsSpan);
  call_ = door_.stream(
      {"GET", query(fmt::format("watch=true&allowWatchBookmarks=true&timeoutSeconds={}&"
                                "resourceVersion={}",
                                length, version_))});
  ++figures_.streams;
  begun_ = door_.now();
  lines_of_stream_ = 0;
  wake_at_ = begun_ + seconds(length) + kEndMargin;
}

// Our objects were up to date at that time, and the connection works.
void Reflector::hear(Time at) {
  heard_ = at;
  failures_ = 0;
  trouble_.clear();
}

void Reflector::handle_line(const std::string& text) {
  ++figures_.lines;
  ++lines_of_stream_;
  figures_.bytes += text.size();
  std::optional<Json> line = parsed_json(text);
  const std::string type = line ? text_at(*line, {"type"}) : "";
  if (type.empty() || !json_at(*line, {"object"}).is_object()) return relist(ListCause::kGarbled);
  Json object = std::move((*line)["object"]);
  if (type == "ERROR") return handle_error(object);
  const std::string version = version_of(object);
  if (version.empty()) return relist(ListCause::kGarbled);
  if (is_before(version, version_)) return relist(ListCause::kWentBack);
  version_ = version;
  hear(door_.now());
  if (type != "BOOKMARK") take(type, std::move(object));
}

void Reflector::handle_error(const Json& status) {
  if (integer_at(status, {"code"}) == 410) return relist(ListCause::kExpired);
  if (is_too_large(status)) return relist(ListCause::kWentBack);
  fail("watch: " + text_at(status, {"message"}), {});
}

void Reflector::handle_end(const KubeEvent& event) {
  call_ = 0;
  if (event.status == 410) return relist(ListCause::kExpired);
  if (event.status != 200) {
    const std::optional<Json> status = parsed_json(event.text);
    if (status && is_too_large(*status)) return relist(ListCause::kWentBack);
    return fail("watch: " + failure_text(event), event.retry_after);
  }
  const bool was_quiet = lines_of_stream_ == 0;
  if (was_quiet && door_.now() - begun_ < kShortStream) {
    return fail("watch: it ended at once", event.retry_after);
  }
  quiet_streams_ = was_quiet ? quiet_streams_ + 1 : 0;
  if (quiet_streams_ >= kQuietStreamsMax) return probe();
  hear(door_.now());
  watch();
}

// Our version was never confirmed: checks that the server has it.
void Reflector::probe() {
  quiet_streams_ = 0;
  state_ = State::kProbing;
  begun_ = door_.now();
  call_ = door_.call({"GET", query("limit=1")});
  wake_at_ = Time::never();
}

void Reflector::handle_probe(const KubeEvent& event) {
  call_ = 0;
  const std::optional<Json> body = parsed_json(event.text);
  if (event.status != 200 || !body) {
    return fail("list: " + failure_text(event), event.retry_after);
  }
  if (is_before(version_of(*body), version_)) return relist(ListCause::kWentBack);
  hear(begun_);
  watch();
}

void Reflector::take(const std::string& type, Json object) {
  const KubeName name = name_of(object);
  if (type == "ADDED" || type == "MODIFIED") return put(name, kept(std::move(object)));
  const auto found = objects_.find(name);
  if (type != "DELETED" || found == objects_.end()) return;
  found->second = kept(std::move(object));
  remove(found);
}

void Reflector::put(const KubeName& name, std::shared_ptr<const Json> object) {
  const auto found = objects_.find(name);
  if (found != objects_.end()) {
    if (text_at(*found->second, {"metadata", "uid"}) == text_at(*object, {"metadata", "uid"})) {
      if (version_of(*found->second) == version_of(*object)) return;
      const auto before = std::exchange(found->second, object);
      return tell({Kind::kModified, name, std::move(object), before});
    }
    remove(found);
  }
  objects_[name] = object;
  tell({Kind::kAdded, name, std::move(object)});
}

void Reflector::remove(Objects::iterator at) {
  ReflectedChange change = {Kind::kDeleted, at->first, std::move(at->second)};
  objects_.erase(at);
  tell(change);
}

void Reflector::tell(const ReflectedChange& change) {
  if (change.kind != Kind::kSynced) ++figures_.changes;
  sink_(change);
}

}  // namespace fairlead
