#include "fairlead/pods/devices.h"

#include "fairlead/pods/kinds.h"
#include "fairlead/pods/members.h"
#include "fairlead/pods/resources.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace fairlead {
namespace {

constexpr std::string_view kGpuDrivers = "gpu.";
constexpr std::string_view kProtection = "resource.kubernetes.io/delete-protection";

// Reads an expression from left to right.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  // Returns true, and goes on behind the word, if it comes next.
  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // Returns the text between quotes that comes next.
  std::optional<std::string> quoted() {
    skip_blanks();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return std::nullopt;
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == rest_.npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string name() {
    const auto end = std::ranges::find_if_not(rest_, [](char c) {
      return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
    std::string text(rest_.begin(), end);
    rest_.remove_prefix(text.size());
    return text;
  }
  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }

 private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  std::string_view rest_;
};

bool is_gone(const ReflectedChange& change) {
  return change.kind == ReflectedChange::Kind::kDeleted;
}

std::vector<DeviceRequest::Result> results_of(const Json& claim) {
  std::vector<DeviceRequest::Result> results;
  for (const Json& result : json_at(claim, {"status", "allocation", "devices", "results"})) {
    results.push_back(
        {text_at(result, {"request"}),
         {text_at(result, {"driver"}), text_at(result, {"pool"}), text_at(result, {"device"})}});
  }
  return results;
}

// Returns whether some part of the object has claims.
bool has_claims_within(const Json& at) {
  if (at.is_object() && !json_at(at, {"resourceClaims"}).empty()) return true;
  return at.is_structured() && std::any_of(at.begin(), at.end(), has_claims_within);
}

}  // namespace

// --- Objects --------------------------------------------------------------------------------------

bool Devices::read_expression(std::string_view expression, Class& found) {
  Words words(expression);
  do {
    if (words.take("device.driver")) {
      if (!words.take("==")) return false;
      const auto driver = words.quoted();
      if (!driver) return false;
      found.driver = *driver;
      continue;
    }
    if (!words.take("device.attributes[") || !words.quoted() || !words.take("].")) return false;
    const std::string name = words.name();
    if (name.empty() || !words.take("==")) return false;
    const auto value = words.quoted();
    if (!value) return false;
    found.attributes[name] = *value;
  } while (words.take("&&"));
  return words.at_end();
}

bool Devices::on_class(const ReflectedChange& change) {
  const std::string& name = change.name.second;
  const bool was_known = classes_.erase(name) > 0;
  if (is_gone(change)) return was_known;
  Class found;
  for (const Json& selector : json_at(*change.object, {"spec", "selectors"})) {
    if (!read_expression(text_at(selector, {"cel", "expression"}), found)) return was_known;
  }
  if (!found.driver.starts_with(kGpuDrivers)) return was_known;
  classes_[name] = std::move(found);
  return true;
}

bool Devices::on_slice(const ReflectedChange& change) {
  const std::string& name = change.name.second;
  const auto before = slices_.find(name);
  if (before != slices_.end()) {
    slices_of_[before->second.node].erase(name);
    slices_.erase(before);
  }
  if (is_gone(change)) return true;
  const Json& spec = json_at(*change.object, {"spec"});
  Slice slice{.node = text_at(spec, {"nodeName"}),
              .generation = integer_at(spec, {"pool", "generation"}),
              .devices = {}};
  if (slice.node.empty()) return true;  // its devices are not inside one node
  for (const Json& device : json_at(spec, {"devices"})) {
    Device& parsed = slice.devices.emplace_back(
        Device{.id = {text_at(spec, {"driver"}), text_at(spec, {"pool", "name"}),
                      text_at(device, {"name"})},
               .attributes = {}});
    const Json& attributes = json_at(device, {"attributes"});
    if (!attributes.is_object()) continue;
    for (const auto& [key, value] : attributes.items()) {
      const std::string& text = text_at(value, {"string"});
      if (!text.empty()) parsed.attributes[key.substr(key.rfind('/') + 1)] = text;
    }
  }
  slices_of_[slice.node].insert(name);
  slices_[name] = std::move(slice);
  return true;
}

Devices::Asks Devices::parse_asks(const Json& claim_spec) {
  if (!json_at(claim_spec, {"devices", "constraints"}).empty()) return std::nullopt;
  std::vector<Ask> asks;
  for (const Json& request : json_at(claim_spec, {"devices", "requests"})) {
    const Json& exactly = json_at(request, {"exactly"});
    const std::string& mode = text_at(exactly, {"allocationMode"});
    const bool is_plain = exactly.is_object() && (mode.empty() || mode == "ExactCount") &&
                          json_at(exactly, {"selectors"}).empty() &&
                          !is_true_at(exactly, {"adminAccess"}) &&
                          json_at(exactly, {"capacity"}).empty();
    const std::int64_t count = integer_at(exactly, {"count"}, 1);
    if (!is_plain || count < 1 || count > 1'000) return std::nullopt;
    asks.push_back({text_at(request, {"name"}), text_at(exactly, {"deviceClassName"}),
                    static_cast<std::uint32_t>(count)});
  }
  if (asks.empty()) return std::nullopt;
  return asks;
}

bool Devices::on_template(const ReflectedChange& change) {
  if (is_gone(change)) return templates_.erase(change.name) > 0;
  Asks asks = parse_asks(json_at(*change.object, {"spec", "spec"}));
  const auto [at, is_new] = templates_.try_emplace(change.name, std::nullopt);
  const bool differs = is_new || at->second != asks;
  at->second = std::move(asks);
  return differs;
}

bool Devices::on_claim(const ReflectedChange& change) {
  assumed_.erase(change.name);
  if (is_gone(change)) return claims_.erase(change.name) > 0;
  const Json& object = *change.object;
  Claim claim{.version = text_at(object, {"metadata", "resourceVersion"}),
              .finalizers = {},
              .asks = parse_asks(json_at(object, {"spec"})),
              .results = results_of(object),
              .reserved_for = {},
              .is_leaving = !text_at(object, {"metadata", "deletionTimestamp"}).empty()};
  for (const Json& finalizer : json_at(object, {"metadata", "finalizers"}))
    claim.finalizers.push_back(text_at(finalizer, {}));
  for (const Json& user : json_at(object, {"status", "reservedFor"}))
    claim.reserved_for.insert(text_at(user, {"uid"}));
  const auto before = claims_.find(change.name);
  const bool differs = before == claims_.end() || before->second.asks != claim.asks;
  claims_[change.name] = std::move(claim);
  return differs;
}

void Devices::assume(const DeviceRequest& request) {
  if (request.kind == DeviceRequest::Kind::kAllocate) assumed_[request.claim] = request.results;
}

void Devices::take_answer(const DeviceRequest& request, std::shared_ptr<const Json> object) {
  const auto found = claims_.find(request.claim);
  if (object == nullptr) {
    assumed_.erase(request.claim);
  } else if (found != claims_.end() && found->second.version == request.version) {
    on_claim({.kind = ReflectedChange::Kind::kModified,
              .name = request.claim,
              .object = std::move(object)});
  }
}

// --- GPUs -----------------------------------------------------------------------------------------

bool Devices::selects(const Class& selecting, const Device& device) {
  return device.id.driver == selecting.driver &&
         std::ranges::all_of(selecting.attributes, [&](const auto& wanted) {
           const auto found = device.attributes.find(wanted.first);
           return found != device.attributes.end() && found->second == wanted.second;
         });
}

bool Devices::is_gpu(const Device& device) const {
  return std::ranges::any_of(classes_,
                             [&](const auto& entry) { return selects(entry.second, device); });
}

std::vector<const Devices::Device*> Devices::devices_of(const std::string& node) const {
  const auto names = slices_of_.find(node);
  std::vector<const Device*> devices;
  if (names == slices_of_.end()) return devices;
  std::map<std::pair<std::string, std::string>, std::int64_t> newest;  // by driver and pool
  const auto pool_of = [](const Device& device) {
    return std::pair(device.id.driver, device.id.pool);
  };
  for (const std::string& name : names->second) {
    const Slice& slice = slices_.at(name);
    for (const Device& device : slice.devices) {
      std::int64_t& generation = newest[pool_of(device)];
      generation = std::max(generation, slice.generation);
    }
  }
  for (const std::string& name : names->second) {
    const Slice& slice = slices_.at(name);
    for (const Device& device : slice.devices) {
      if (slice.generation == newest[pool_of(device)]) devices.push_back(&device);
    }
  }
  return devices;
}

std::uint32_t Devices::gpus_of(const std::string& node) const {
  const auto devices = devices_of(node);
  return static_cast<std::uint32_t>(
      std::ranges::count_if(devices, [&](const Device* device) { return is_gpu(*device); }));
}

std::string Devices::product_of(const std::string& node) const {
  for (const Device* device : devices_of(node)) {
    const auto found = device->attributes.find("productName");
    if (found != device->attributes.end() && is_gpu(*device)) return found->second;
  }
  return {};
}

std::optional<std::uint32_t> Devices::gpus_of(const Asks& asks) const {
  if (!asks) return std::nullopt;
  std::uint32_t gpus = 0;
  for (const Ask& ask : *asks) {
    if (!classes_.contains(ask.device_class)) return std::nullopt;
    gpus += ask.count;
  }
  return gpus;
}

std::optional<std::uint32_t> Devices::gpus_of_spec(const Json& pod_spec,
                                                   const std::string& name_space,
                                                   const Json& statuses) const {
  std::uint32_t all = 0;
  for (const Json& claim : json_at(pod_spec, {"resourceClaims"})) {
    const std::string& own = text_at(claim, {"resourceClaimName"});
    const Json* status = nullptr;
    for (const Json& made : statuses) {
      if (text_at(made, {"name"}) == text_at(claim, {"name"})) status = &made;
    }
    const std::string& name =
        own.empty() && status != nullptr ? text_at(*status, {"resourceClaimName"}) : own;
    const Asks* asks = nullptr;
    if (const auto found = claims_.find({name_space, name}); found != claims_.end()) {
      asks = &found->second.asks;
    } else if (const auto made =
                   templates_.find({name_space, text_at(claim, {"resourceClaimTemplateName"})});
               made != templates_.end()) {
      asks = &made->second;
    }
    const std::optional<std::uint32_t> gpus = asks == nullptr ? std::nullopt : gpus_of(*asks);
    if (!gpus) return std::nullopt;
    all += *gpus;
  }
  return all;
}

void Devices::write_gpus(Json& at, const std::string& name_space, const Json& statuses) const {
  if (!at.is_structured()) return;
  const bool is_spec = at.is_object() && !json_at(at, {"resourceClaims"}).empty() &&
                       !json_at(at, {"containers"}).empty();
  if (!is_spec) {
    for (Json& part : at) write_gpus(part, name_space, statuses);
    return;
  }
  const auto gpus = gpus_of_spec(at, name_space, statuses);
  if (!gpus) return;
  Json& resources = at["containers"][0]["resources"];
  const std::string resource(kGpuResource);
  const std::uint32_t own = count_at(at["containers"][0], {"resources", "limits", kGpuResource});
  resources["limits"][resource] = resources["requests"][resource] = std::to_string(own + *gpus);
  at.erase("resourceClaims");
}

bool Devices::has_claims(const Json& object) {
  return has_claims_within(json_at(object, {"spec"}));
}

std::shared_ptr<const Json> Devices::with_gpus(std::shared_ptr<const Json> object) const {
  if (!has_claims(*object)) return object;
  auto written = std::make_shared<Json>(*object);
  write_gpus((*written)["spec"], text_at(*object, {"metadata", "namespace"}),
             json_at(*object, {"status", "resourceClaimStatuses"}));
  return written;
}

std::vector<std::string> Devices::claims_of(const Json& pod) {
  std::vector<std::string> names;
  for (const Json& claim : json_at(pod, {"spec", "resourceClaims"})) {
    const std::string& own = text_at(claim, {"resourceClaimName"});
    names.push_back(own.empty() ? text_at(item_at(pod, {"status", "resourceClaimStatuses"}, "name",
                                                  text_at(claim, {"name"})),
                                          {"resourceClaimName"})
                                : own);
  }
  return names;
}

// --- Allocations ----------------------------------------------------------------------------------

std::set<DeviceId> Devices::allocated() const {
  std::set<DeviceId> all;
  for (const auto& [name, claim] : claims_) {
    for (const DeviceRequest::Result& result : claim.results) all.insert(result.device);
  }
  for (const auto& [name, results] : assumed_) {
    for (const DeviceRequest::Result& result : results) all.insert(result.device);
  }
  return all;
}

std::optional<std::vector<DeviceRequest::Result>> Devices::choose(const Claim& claim,
                                                                  const std::string& node,
                                                                  std::set<DeviceId>& taken) const {
  const auto devices = devices_of(node);
  std::vector<DeviceRequest::Result> results;
  for (const Ask& ask : *claim.asks) {
    const auto found = classes_.find(ask.device_class);
    if (found == classes_.end()) return std::nullopt;
    std::uint32_t left = ask.count;
    for (const Device* device : devices) {
      if (left == 0) break;
      if (!selects(found->second, *device) || !taken.insert(device->id).second) continue;
      results.push_back({ask.request, device->id});
      --left;
    }
    if (left > 0) return std::nullopt;
  }
  return results;
}

std::optional<std::vector<DeviceRequest>> Devices::needs(const Pod& pod, const std::string& node,
                                                         std::set<DeviceId>& taken) const {
  std::vector<DeviceRequest> requests;
  std::set<DeviceId> here;
  for (const Device* device : devices_of(node)) here.insert(device->id);
  taken.merge(allocated());
  for (const std::string& name : pod.device_claims) {
    const auto found = claims_.find({pod.name_space, name});
    if (found == claims_.end() || found->second.is_leaving || !found->second.asks)
      return std::nullopt;
    const Claim& claim = found->second;
    DeviceRequest request{.claim = found->first, .version = claim.version};
    const bool is_here = std::ranges::all_of(
        claim.results, [&](const auto& result) { return here.contains(result.device); });
    const bool is_reserved = claim.reserved_for.contains(pod.uid);
    const bool is_others = claim.reserved_for.size() > (is_reserved ? 1U : 0U);
    if (!claim.results.empty() && is_here && is_reserved) continue;
    if (is_others) return std::nullopt;
    if (!claim.results.empty() && !is_here) {
      request.kind = DeviceRequest::Kind::kRelease;
    } else if (std::ranges::find(claim.finalizers, kProtection) == claim.finalizers.end()) {
      request.finalizers = claim.finalizers;
      request.finalizers.emplace_back(kProtection);
    } else {
      const auto results =
          claim.results.empty() ? choose(claim, node, taken) : std::optional(claim.results);
      if (!results) return std::nullopt;
      request.kind = DeviceRequest::Kind::kAllocate;
      request.node = node;
      request.pod = pod.name;
      request.pod_uid = pod.uid;
      request.results = *results;
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace fairlead
