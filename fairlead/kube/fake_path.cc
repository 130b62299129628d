#include "fairlead/kube/fake_path.h"

#include "fairlead/http/http.h"
#include "fairlead/kube/fake_patch.h"

#include <algorithm>
#include <vector>

namespace fairlead {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

}  // namespace

FakePath FakePath::parse(std::string_view text) {
  FakePath path;
  const std::size_t question = std::min(text.find('?'), text.size());
  if (question < text.size()) path.query = text.substr(question + 1);
  const std::vector<std::string> parts = split(text.substr(0, question));
  std::size_t at = !parts.empty() && parts[0] == "apis" ? 3 : 2;
  if (parts.size() < at) return path;
  for (std::size_t i = 0; i < at; ++i) path.resource += "/" + parts[i];
  if (parts.size() == at) return path;
  if (parts[at] == "namespaces" && parts.size() > at + 2) {
    path.name_space = parts[at + 1];
    at += 2;
  }
  path.resource += "/" + parts[at];
  if (parts.size() > at + 1) path.name = parts[at + 1];
  if (parts.size() > at + 2) path.sub = parts[at + 2];
  return path;
}

FakeSelection FakeSelection::of(const FakePath& path) {
  return {path.resource, path.name_space, query_value(path.query, "fieldSelector"),
          query_value(path.query, "labelSelector")};
}

bool FakeSelection::has(const FakeKey& key) const {
  return key.resource == resource && (name_space.empty() || key.name_space == name_space);
}

bool FakeSelection::has(const Json& object) const {
  return fields_match(object, fields) && labels_match(object, labels);
}

}  // namespace fairlead
