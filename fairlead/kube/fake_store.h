// The objects of a fake API server: create, read, replace, patch and delete by path, with resource
// versions, preconditions, selectors, lists in chunks and a history that watches read and that is
// compacted.
//
// It answers as an API server does: status, and the object, the list or a Status. Pods have
// subresources `binding`, `eviction` (which a PodDisruptionBudget may refuse) and `status`; deleting a pod that is on a node marks it, and the
// fake kubelet (fake_cluster.h) takes it away. Schemas are not checked. Time stands still in it: each
// call is told the calendar's.
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/kube/fake_path.h"
#include "fairlead/kube/json.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

using FakeObject = std::shared_ptr<const Json>;

// One write. Objects as they are after it and were before; null: not there.
struct FakeChange {
  std::uint64_t version = 0;
  FakeKey key;
  FakeObject before;
  FakeObject after;
};

struct FakeAnswer {
  int status = 200;
  Json body;
};

// The body of an answer that says what went wrong.
FakeAnswer fake_failure(int status, std::string_view message);

class FakeStore {
 public:
  explicit FakeStore(std::uint64_t seed);

  // Serves one more resource: ("/apis/jobset.x-k8s.io/v1alpha2/jobsets", "JobSet"). There from the
  // start: nodes, namespaces, pods, configmaps, events (both groups), jobs, leases, priorityclasses,
  // poddisruptionbudgets.
  void serve(const std::string& resource, const std::string& kind);
  // Serves it no more, as after its CRD was deleted; its objects are gone.
  void unserve(const std::string& resource);
  bool serves(const std::string& resource) const { return kinds_.contains(resource); }

  // Any request but a watch.
  FakeAnswer handle(std::string_view method, const FakePath& path, std::string_view body,
                    std::string_view content_type, std::int64_t unix_ms);

  // Null: not there.
  FakeObject find(const FakeKey& key) const;
  std::vector<FakeObject> list(const FakeSelection& selection) const;
  // Replaces an object, or makes it, without preconditions, as controllers do here; no change where it
  // is the same. Null takes it away.
  void put(const FakeKey& key, const Json& object, std::int64_t unix_ms);

  // Called after each write; it must not write itself.
  void set_observer(std::function<void(const FakeChange&)> observer) {
    observer_ = std::move(observer);
  }

  std::uint64_t version() const { return version_; }
  // Of the last write to a resource; 0: there was none.
  std::uint64_t version_of(const std::string& resource) const;
  // The changes after `version`, oldest first. Nothing: some of them are compacted.
  std::optional<std::vector<FakeChange>> changes_after(std::uint64_t version) const;
  // Forgets the history up to now: watches and chunks from before are expired.
  void compact();
  // Versions go on from here, as after a restore from a backup: with it, watches from before ask for a
  // version from the future. REQUIRES: version > 0.
  void rewind(std::uint64_t version);

  // The line of a watch that a change gives; empty: none.
  std::string line(const FakeChange& change, const FakeSelection& selection) const;
  std::string bookmark(const std::string& resource) const;

 private:
  struct Kind {
    std::string kind;
    std::string api_version;
    bool is_custom = false;  // takes no strategic merge patch
  };
  // What is left of a list that is told in chunks.
  struct Rest {
    std::uint64_t version = 0;
    std::vector<FakeObject> objects;
  };

  // What is served under "/apis/batch/v1".
  FakeAnswer discovery(const FakePath& path) const;
  FakeAnswer list_answer(const FakePath& path);
  FakeAnswer chunk(const std::string& resource, Rest&& rest, std::size_t limit);
  FakeAnswer create(const FakePath& path, Json object, std::int64_t unix_ms);
  FakeAnswer replace(const FakeKey& key, const FakePath& path, Json object);
  FakeAnswer patch(const FakeKey& key, const FakePath& path, const Json& patch,
                   std::string_view content_type);
  FakeAnswer update(const FakeKey& key, const FakePath& path, Json object);
  FakeAnswer remove(const FakeKey& key, const Json& options, std::int64_t unix_ms);
  FakeAnswer bind(const FakeKey& key, const Json& binding, std::int64_t unix_ms);
  FakeAnswer evict(const FakeKey& key, const Json& eviction, std::int64_t unix_ms);
  // The refusal of an eviction; else each budget that is about the pod allows one less.
  std::optional<FakeAnswer> spend_budget(const Json& pod, std::int64_t unix_ms);
  std::string new_uid();
  // What the server says of an object that is made.
  void fill_in(const FakeKey& key, Json& object, std::int64_t unix_ms);
  void write(const FakeKey& key, Json object);
  void take(const FakeKey& key);
  void tell(const FakeChange& change);

  Rng rng_;
  std::map<std::string, Kind, std::less<>> kinds_;
  std::map<FakeKey, FakeObject> objects_;
  std::map<std::string, std::uint64_t> written_;  // versions of the last writes, by resource
  std::vector<FakeChange> history_;
  std::uint64_t version_ = 100;
  std::uint64_t compacted_ = 100;  // history_ begins after it
  std::map<std::string, Rest> rests_;
  std::uint64_t last_rest_ = 0;
  std::function<void(const FakeChange&)> observer_;
};

}  // namespace fairlead
