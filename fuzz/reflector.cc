// A watch of any lines: the notifications add up, objects are added before they are modified or
// deleted, and the cache equals the notifications. The first line is the answer to the list; an
// empty line ends the stream.

#include "fairlead/kube/reflector.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace fairlead {
namespace {

// Answers nothing by itself.
class MuteDoor final : public KubeDoor {
 public:
  Time now() override { return now_; }
  std::int64_t unix_ms() override { return 0; }
  std::uint64_t random() override { return 0; }
  CallId call(KubeRequest) override { return ++last; }
  CallId stream(KubeRequest) override { return ++last; }
  void drop(CallId) override {}
  KubeEvent wait(Time until) override {
    now_ = std::max(now_, until);
    return {};
  }
  CallId last = 0;

 private:
  Time now_;
};

void check(std::string_view text) {
  MuteDoor door;
  std::set<KubeName> known;
  Reflector reflector(door, "/api/v1/pods", "", [&](const ReflectedChange& change) {
    using Kind = ReflectedChange::Kind;
    if (change.kind == Kind::kAdded) FL_CHECK(known.insert(change.name).second);
    if (change.kind == Kind::kModified) FL_CHECK(known.contains(change.name) && change.before);
    if (change.kind == Kind::kDeleted) FL_CHECK(known.erase(change.name) == 1);
    FL_CHECK((change.kind == Kind::kSynced) == !change.object);
  });
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    reflector.wake();
    reflector.handle({KubeEvent::Kind::kAnswer, door.last, 200, line});
    reflector.handle(
        {line.empty() ? KubeEvent::Kind::kEnd : KubeEvent::Kind::kLine, door.last, 200, line});
    door.wait(std::min(reflector.wake_at(), door.now() + seconds(60)));
    FL_CHECK(known.size() == reflector.objects().size());
  }
}

}  // namespace
}  // namespace fairlead

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fairlead::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
