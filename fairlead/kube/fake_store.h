// The objects of a fake API server: create, read, replace, patch and delete by path. It has resource
// versions, preconditions, selectors, lists in chunks, and a history for watches that can be compacted.
//
// The store answers like an API server: a status, and the object, the list or a Status. Pods have the
// subresources `binding`, `eviction` (which a PodDisruptionBudget may refuse) and `status`. Deleting a pod
// on a node only marks it; the fake kubelet (fake_cluster.h) removes it. Schemas are not checked. The store
// has no clock: each call passes the calendar time.
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

// One write, with the object after it and before it; null: there is none.
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

// Returns an answer whose body describes the failure.
FakeAnswer fake_failure(int status, std::string_view message);

class FakeStore {
 public:
  explicit FakeStore(std::uint64_t seed);

  // Serves one more resource: ("/apis/jobset.x-k8s.io/v1alpha2/jobsets", "JobSet"). Served from the start:
  // nodes, namespaces, pods, configmaps, events (both groups), jobs, leases, priorityclasses,
  // poddisruptionbudgets, quotas, claims, volumes and storage classes.
  void serve(const std::string& resource, const std::string& kind);
  // Stops serving a resource, as if its CRD was deleted; its objects are deleted.
  void unserve(const std::string& resource);
  bool serves(const std::string& resource) const { return kinds_.contains(resource); }

  // Handles any request except a watch.
  FakeAnswer handle(std::string_view method, const FakePath& path, std::string_view body,
                    std::string_view content_type, std::int64_t unix_ms);

  // Returns null if there is no such object.
  FakeObject find(const FakeKey& key) const;
  std::vector<FakeObject> list(const FakeSelection& selection) const;
  // Replaces or creates an object without preconditions; for the fake controllers. An equal object
  // changes nothing. Null deletes it.
  void put(const FakeKey& key, const Json& object, std::int64_t unix_ms);

  // Sets a function that is called after each write; it must not write.
  void set_observer(std::function<void(const FakeChange&)> observer) {
    observer_ = std::move(observer);
  }

  std::uint64_t version() const { return version_; }
  // Returns the version of the last write to a resource; 0: there was none.
  std::uint64_t version_of(const std::string& resource) const;
  // Returns the changes after `version`, oldest first; nothing if some of them are compacted.
  std::optional<std::vector<FakeChange>> changes_after(std::uint64_t version) const;
  // Forgets the history up to now: earlier watches and chunks are expired.
  void compact();
  // Continues from `version`, as after a restore from a backup: earlier watches then ask for a version
  // from the future. REQUIRES: version > 0.
  void rewind(std::uint64_t version);

  // Returns the line that a watch sends for a change; empty: none.
  std::string line(const FakeChange& change, const FakeSelection& selection) const;
  std::string bookmark(const std::string& resource) const;

 private:
  struct Kind {
    std::string kind;
    std::string api_version;
    bool is_custom = false;  // it does not accept strategic merge patches
  };
  // The rest of a list that is sent in chunks.
  struct Rest {
    std::uint64_t version = 0;
    std::vector<FakeObject> objects;
  };

  // Returns the resources served under a group version, for example "/apis/batch/v1".
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
  // Returns the refusal of an eviction, if any. Otherwise lowers each budget that selects the pod by one.
  std::optional<FakeAnswer> spend_budget(const Json& pod, std::int64_t unix_ms);
  std::string new_uid();
  // Fills in the fields that the server sets on a new object.
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
  std::uint64_t compacted_ = 100;  // history_ starts after this version
  std::map<std::string, Rest> rests_;
  std::uint64_t last_rest_ = 0;
  std::function<void(const FakeChange&)> observer_;
};

}  // namespace fairlead
