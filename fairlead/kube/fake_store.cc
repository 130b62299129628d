#include "fairlead/kube/fake_store.h"

#include "fairlead/http/http.h"
#include "fairlead/kube/door.h"
#include "fairlead/kube/fake_patch.h"
#include "fairlead/kube/fake_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace fairlead {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kServed = {{
    {kNodes, "Node"},
    {"/api/v1/namespaces", "Namespace"},
    {kPods, "Pod"},
    {"/api/v1/configmaps", "ConfigMap"},
    {"/api/v1/events", "Event"},
    {"/apis/events.k8s.io/v1/events", "Event"},
    {kJobs, "Job"},
    {"/apis/coordination.k8s.io/v1/leases", "Lease"},
    {"/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass"},
    {kBudgets, "PodDisruptionBudget"},
    {kQuotas, "ResourceQuota"},
    {kClaims, "PersistentVolumeClaim"},
    {kVolumes, "PersistentVolume"},
    {kClasses, "StorageClass"},
    {kDrivers, "CSIDriver"},
    {kCapacities, "CSIStorageCapacity"},
}};

std::string_view reason_of(int status) {
  switch (status) {
    case 400:
      return "BadRequest";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 405:
      return "MethodNotAllowed";
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 415:
      return "UnsupportedMediaType";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 504:
      return "Timeout";
    default:
      return "InternalError";
  }
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

FakeAnswer conflict(const FakeKey& key, std::string_view why) {
  return fake_failure(409,
                      fmt::format("Operation cannot be fulfilled on \"{}\": {}", key.name, why));
}

FakeAnswer not_found(const FakeKey& key) {
  return fake_failure(404, fmt::format("{} \"{}\" not found", key.resource, key.name));
}

FakeAnswer success() {
  return {201, {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}, {"code", 201}}};
}

}  // namespace

FakeAnswer fake_failure(int status, std::string_view message) {
  return {status,
          {{"kind", "Status"},
           {"apiVersion", "v1"},
           {"status", "Failure"},
           {"message", message},
           {"reason", reason_of(status)},
           {"code", status}}};
}

FakeStore::FakeStore(std::uint64_t seed) : rng_(seed) {
  for (const auto& [resource, kind] : kServed) serve(std::string(resource), std::string(kind));
  for (auto& [resource, kind] : kinds_) kind.is_custom = false;
}

void FakeStore::serve(const std::string& resource, const std::string& kind) {
  const std::string version = resource.substr(1, resource.rfind('/') - 1);
  kinds_[resource] = {kind, version.substr(version.find('/') + 1), true};
}

void FakeStore::unserve(const std::string& resource) {
  for (const FakeObject& object : list({resource, "", "", ""})) {
    take({resource, text_at(*object, {"metadata", "namespace"}),
          text_at(*object, {"metadata", "name"})});
  }
  kinds_.erase(resource);
}

FakeAnswer FakeStore::discovery(const FakePath& path) const {
  Json resources = Json::array();
  for (const auto& [resource, kind] : kinds_) {
    const std::size_t end = resource.rfind('/');
    if (resource.substr(0, end) != path.resource) continue;
    resources.push_back({{"name", resource.substr(end + 1)}, {"kind", kind.kind}});
  }
  if (resources.empty()) return fake_failure(404, "page not found");
  const std::string version = path.resource.substr(path.resource.find('/', 1) + 1);
  return {200, {{"kind", "APIResourceList"}, {"groupVersion", version}, {"resources", resources}}};
}

FakeAnswer FakeStore::handle(std::string_view method, const FakePath& path, std::string_view body,
                             std::string_view content_type, std::int64_t unix_ms) {
  const FakeKey key = {path.resource, path.name_space, path.name};
  if (path.resource.starts_with("/apis/") && std::ranges::count(path.resource, '/') == 3) {
    return discovery(path);
  }
  if (!kinds_.contains(path.resource)) return not_found(key);
  if (method == "GET") {
    if (path.name.empty()) return list_answer(path);
    const FakeObject object = find(key);
    return object ? FakeAnswer{200, *object} : not_found(key);
  }
  std::optional<Json> json = body.empty() ? Json::object() : parsed_json(body);
  if (!json) return fake_failure(400, "the body is not JSON");
  if (method == "POST" && path.sub == "binding") return bind(key, *json, unix_ms);
  if (method == "POST" && path.sub == "eviction") return evict(key, *json, unix_ms);
  if (method == "POST" && path.name.empty()) return create(path, std::move(*json), unix_ms);
  if (method == "PUT") return replace(key, path, std::move(*json));
  if (method == "PATCH") return patch(key, path, *json, content_type);
  if (method == "DELETE" && !path.name.empty()) return remove(key, *json, unix_ms);
  return fake_failure(405, "the server does not allow this method on the requested resource");
}

FakeObject FakeStore::find(const FakeKey& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<FakeObject> FakeStore::list(const FakeSelection& selection) const {
  std::vector<FakeObject> objects;
  const auto begin = objects_.lower_bound({selection.resource, selection.name_space, ""});
  for (auto at = begin; at != objects_.end() && selection.has(at->first); ++at) {
    if (selection.has(*at->second)) objects.push_back(at->second);
  }
  return objects;
}

FakeAnswer FakeStore::list_answer(const FakePath& path) {
  const std::string limit_text = query_value(path.query, "limit");
  const std::size_t limit = limit_text.empty() ? 0 : number(limit_text);
  const std::string token = query_value(path.query, "continue");
  if (token.empty()) return chunk(path.resource, {version_, list(FakeSelection::of(path))}, limit);
  const auto found = rests_.find(token);
  if (found == rests_.end()) return fake_failure(400, "continue key is not valid");
  Rest rest = std::move(found->second);
  rests_.erase(found);
  if (rest.version < compacted_) {
    return fake_failure(410,
                        "The provided continue parameter is too old to display a consistent list");
  }
  return chunk(path.resource, std::move(rest), limit);
}

FakeAnswer FakeStore::chunk(const std::string& resource, Rest&& rest, std::size_t limit) {
  const Kind& kind = kinds_.find(resource)->second;
  const std::size_t count = limit == 0 ? rest.objects.size() : std::min(limit, rest.objects.size());
  Json items = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    Json item = *rest.objects[i];  // items of a list have no kind of their own
    item.erase("kind");
    item.erase("apiVersion");
    items.push_back(std::move(item));
  }
  Json metadata = {{"resourceVersion", fmt::to_string(rest.version)}};
  if (count < rest.objects.size()) {
    rest.objects.erase(rest.objects.begin(),
                       rest.objects.begin() + static_cast<std::ptrdiff_t>(count));
    const std::string token = fmt::format("rest-{}", ++last_rest_);
    metadata["continue"] = token;
    metadata["remainingItemCount"] = rest.objects.size();
    rests_[token] = std::move(rest);
  }
  return {200,
          {{"kind", kind.kind + "List"},
           {"apiVersion", kind.api_version},
           {"metadata", std::move(metadata)},
           {"items", std::move(items)}}};
}

FakeAnswer FakeStore::create(const FakePath& path, Json object, std::int64_t unix_ms) {
  FakeKey key = {path.resource, path.name_space, text_at(object, {"metadata", "name"})};
  if (!object.is_object()) return fake_failure(400, "the body is not an object");
  Json& metadata = object["metadata"];
  if (key.name.empty()) {
    const std::string& prefix = text_at(metadata, {"generateName"});
    if (prefix.empty()) return fake_failure(422, "name or generateName is required");
    key.name = prefix + new_uid().substr(0, 5);
  }
  if (find(key)) {
    FakeAnswer answer = fake_failure(409, fmt::format("\"{}\" already exists", key.name));
    answer.body["reason"] = "AlreadyExists";
    return answer;
  }
  fill_in(key, object, unix_ms);
  write(key, std::move(object));
  return {201, *find(key)};
}

FakeAnswer FakeStore::replace(const FakeKey& key, const FakePath& path, Json object) {
  const FakeObject before = find(key);
  if (!before) return not_found(key);
  const std::string why = broken_precondition(*before, json_at(object, {"metadata"}));
  if (!why.empty()) return conflict(key, why);
  keep_identity(object, *before);
  return update(key, path, std::move(object));
}

FakeAnswer FakeStore::patch(const FakeKey& key, const FakePath& path, const Json& patch,
                            std::string_view content_type) {
  const FakeObject before = find(key);
  if (!before) return not_found(key);
  Json object = *before;
  const std::string& uid = text_at(patch, {"metadata", "uid"});
  if (!uid.empty() && uid != text_at(object, {"metadata", "uid"})) {
    return fake_failure(422, "metadata.uid: Invalid value: field is immutable");
  }
  const std::string why = broken_precondition(object, json_at(patch, {"metadata"}));
  if (!why.empty()) return conflict(key, why);
  if (content_type == kMergePatch) {
    merge_patch(object, patch);
  } else if (content_type == kStrategicMergePatch && !kinds_.find(key.resource)->second.is_custom) {
    strategic_merge_patch(object, patch);
  } else {
    return fake_failure(
        415, fmt::format("the body of the request was in an unknown format: {}", content_type));
  }
  return update(key, path, std::move(object));
}

FakeAnswer FakeStore::update(const FakeKey& key, const FakePath& path, Json object) {
  const FakeObject before = find(key);
  keep_part(object, *before, path);
  const std::string_view forbidden = forbidden_change(key, *before, object);
  if (!forbidden.empty()) return fake_failure(422, forbidden);
  if (json_at(object, {"spec"}) != json_at(*before, {"spec"})) {
    object["metadata"]["generation"] = integer_at(*before, {"metadata", "generation"}) + 1;
  }
  write(key, std::move(object));
  return {200, *find(key)};
}

FakeAnswer FakeStore::remove(const FakeKey& key, const Json& options, std::int64_t unix_ms) {
  const FakeObject before = find(key);
  if (!before) return not_found(key);
  const std::string why = broken_precondition(*before, json_at(options, {"preconditions"}));
  if (!why.empty()) return conflict(key, why);
  Json object = *before;
  const std::int64_t grace =
      integer_at(options, {"gracePeriodSeconds"},
                 integer_at(object, {"spec", "terminationGracePeriodSeconds"}, 30));
  if (key.resource != kPods || !is_at_work(object) || grace == 0) {
    take(key);
    return {200, object};
  }
  if (!object["metadata"].contains("deletionTimestamp") ||
      grace < integer_at(object, {"metadata", "deletionGracePeriodSeconds"})) {
    object["metadata"]["deletionTimestamp"] = timestamp(unix_ms + grace * 1000);
    object["metadata"]["deletionGracePeriodSeconds"] = grace;
    write(key, std::move(object));
  }
  return {200, *find(key)};
}

FakeAnswer FakeStore::bind(const FakeKey& key, const Json& binding, std::int64_t unix_ms) {
  const FakeObject before = find(key);
  if (!before) return not_found(key);
  Json pod = *before;
  const std::string why = broken_precondition(pod, json_at(binding, {"metadata"}));
  if (!why.empty()) return conflict(key, why);
  const std::string& node = text_at(pod, {"spec", "nodeName"});
  if (pod["metadata"].contains("deletionTimestamp")) {
    return conflict(key,
                    fmt::format("pod {} is being deleted, cannot be assigned to a host", key.name));
  }
  if (!node.empty()) {
    return conflict(key, fmt::format("pod {} is already assigned to node \"{}\"", key.name, node));
  }
  if (!json_at(pod, {"spec", "schedulingGates"}).empty()) {
    return conflict(key, fmt::format("pod {} has non-empty .spec.schedulingGates", key.name));
  }
  for (const std::string_view part : {"annotations", "labels"}) {
    const Json& added = json_at(binding, {"metadata", part});
    if (added.is_object()) merge_patch(pod["metadata"][part], added);
  }
  pod["spec"]["nodeName"] = text_at(binding, {"target", "name"});
  set_condition(pod, {{"type", "PodScheduled"},
                      {"status", "True"},
                      {"reason", nullptr},
                      {"message", nullptr},
                      {"lastTransitionTime", timestamp(unix_ms)}});
  write(key, std::move(pod));
  return success();
}

FakeAnswer FakeStore::evict(const FakeKey& key, const Json& eviction, std::int64_t unix_ms) {
  const FakeObject before = find(key);
  if (!before) return not_found(key);
  const Json& options = json_at(eviction, {"deleteOptions"});
  const std::string why = broken_precondition(*before, json_at(options, {"preconditions"}));
  if (!why.empty()) return conflict(key, why);
  Json pod = *before;
  if (is_at_work(pod)) {
    if (auto refusal = spend_budget(pod, unix_ms)) return *std::move(refusal);
  }
  set_condition(pod, {{"type", "DisruptionTarget"},
                      {"status", "True"},
                      {"reason", "EvictionByEvictionAPI"},
                      {"lastTransitionTime", timestamp(unix_ms)}});
  write(key, std::move(pod));
  const FakeAnswer answer =
      remove(key, {{"gracePeriodSeconds", json_at(options, {"gracePeriodSeconds"})}}, unix_ms);
  return answer.status == 200 ? success() : answer;
}

std::optional<FakeAnswer> FakeStore::spend_budget(const Json& pod, std::int64_t unix_ms) {
  std::vector<FakeObject> budgets =
      list({std::string(kBudgets), text_at(pod, {"metadata", "namespace"}), "", ""});
  std::erase_if(budgets, [&](const FakeObject& of) { return !budget_selects(*of, pod); });
  if (budgets.empty() || !text_at(pod, {"metadata", "deletionTimestamp"}).empty())
    return std::nullopt;
  if (budgets.size() > 1) {
    return fake_failure(500,
                        "This pod has more than one PodDisruptionBudget, which the eviction "
                        "subresource does not support.");
  }
  Json budget = *budgets.front();
  const std::int64_t allowed = integer_at(budget, {"status", "disruptionsAllowed"});
  if (allowed <= 0) {
    return fake_failure(429, "Cannot evict pod as it would violate the pod's disruption budget.");
  }
  budget["status"]["disruptionsAllowed"] = allowed - 1;
  put({std::string(kBudgets), text_at(budget, {"metadata", "namespace"}),
       text_at(budget, {"metadata", "name"})},
      budget, unix_ms);
  return std::nullopt;
}

void FakeStore::put(const FakeKey& key, const Json& object, std::int64_t unix_ms) {
  if (object.is_null()) {
    take(key);
    return;
  }
  Json made = object;
  if (const FakeObject before = find(key)) {
    keep_identity(made, *before);
  } else {
    fill_in(key, made, unix_ms);
  }
  write(key, std::move(made));
}

void FakeStore::fill_in(const FakeKey& key, Json& object, std::int64_t unix_ms) {
  const Kind& kind = kinds_.find(key.resource)->second;
  object["kind"] = kind.kind;
  object["apiVersion"] = kind.api_version;
  Json& metadata = object["metadata"];
  metadata["name"] = key.name;
  if (!key.name_space.empty()) metadata["namespace"] = key.name_space;
  metadata["uid"] = new_uid();
  metadata["creationTimestamp"] = timestamp(unix_ms);
  metadata["generation"] = 1;
  if (key.resource == kPods) complete_pod(object);
}

void FakeStore::write(const FakeKey& key, Json object) {
  const FakeObject before = find(key);
  // A write that changes nothing does not get a new version.
  if (before) object["metadata"]["resourceVersion"] = (*before)["metadata"]["resourceVersion"];
  if (before && *before == object) return;
  object["metadata"]["resourceVersion"] = fmt::to_string(++version_);
  const auto after = std::make_shared<const Json>(std::move(object));
  objects_[key] = after;
  tell({version_, key, before, after});
}

void FakeStore::take(const FakeKey& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  const FakeObject before = found->second;
  objects_.erase(found);
  ++version_;
  tell({version_, key, before, nullptr});
}

void FakeStore::tell(const FakeChange& change) {
  history_.push_back(change);
  written_[change.key.resource] = change.version;
  if (observer_) observer_(change);
}

std::optional<std::vector<FakeChange>> FakeStore::changes_after(std::uint64_t version) const {
  if (version < compacted_) return std::nullopt;
  const auto begin = std::ranges::upper_bound(history_, version, {}, &FakeChange::version);
  return std::vector<FakeChange>(begin, history_.end());
}

void FakeStore::compact() {
  history_.clear();
  compacted_ = version_;
}

void FakeStore::rewind(std::uint64_t version) {
  version_ = version;
  written_.clear();
  compact();
}

std::string FakeStore::line(const FakeChange& change, const FakeSelection& selection) const {
  if (!selection.has(change.key)) return {};
  const bool had = change.before && selection.has(*change.before);
  const bool has = change.after && selection.has(*change.after);
  if (!had && !has) return {};
  Json object = has ? *change.after : *change.before;
  object["metadata"]["resourceVersion"] = fmt::to_string(change.version);
  return compact_text({{"type", !has  ? "DELETED"
                                : had ? "MODIFIED"
                                      : "ADDED"},
                       {"object", std::move(object)}});
}

std::uint64_t FakeStore::version_of(const std::string& resource) const {
  const auto found = written_.find(resource);
  return found == written_.end() ? 0 : found->second;
}

std::string FakeStore::bookmark(const std::string& resource) const {
  const Kind& kind = kinds_.find(resource)->second;
  const std::string version = fmt::to_string(version_of(resource));
  return compact_text({{"type", "BOOKMARK"},
                       {"object",
                        {{"kind", kind.kind},
                         {"apiVersion", kind.api_version},
                         {"metadata", {{"resourceVersion", version}}}}}});
}

std::string FakeStore::new_uid() {
  const std::uint64_t a = rng_.next();
  const std::uint64_t b = rng_.next();
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xffff,
                     b >> 48, b & 0xffff'ffff'ffff);
}

}  // namespace fairlead
