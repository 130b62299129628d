#include "fairlead/slurm/places.h"

#include "fairlead/base/parse.h"
#include "fairlead/model/speed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace fairlead {
namespace {

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

class Features {
 public:
  Features(std::string_view text, const std::vector<std::string>& features)
      : rest_(text), features_(features) {}

  bool expression(int depth = 0) {
    bool met = term(depth);
    while (!rest_.empty() && rest_.front() != ')' && rest_.front() != ']') {
      const bool any = rest_.front() == '|';
      rest_.remove_prefix(1);
      const bool next = term(depth);
      met = any ? met || next : met && next;
    }
    return met;
  }

 private:
  bool term(int depth) {
    constexpr int kDepthMax = 20;  // far more than people write
    if (!rest_.empty() && (rest_.front() == '(' || rest_.front() == '[') && depth < kDepthMax) {
      rest_.remove_prefix(1);
      const bool met = expression(depth + 1);
      rest_.remove_prefix(std::min<std::size_t>(1, rest_.size()));
      take_word();  // a count
      return met;
    }
    const std::string_view word = take_word();
    return has(features_, trimmed(word.substr(0, word.find('*'))));
  }

  std::string_view take_word() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of("&|,)]"));
    rest_.remove_prefix(word.size());
    return word;
  }

  std::string_view rest_;
  const std::vector<std::string>& features_;
};

bool meets_partitions(std::string_view partitions, const SlurmNode& node) {
  if (partitions.empty() || node.partitions.empty()) return true;
  while (!partitions.empty()) {
    const std::string_view one = partitions.substr(0, partitions.find(','));
    if (has(node.partitions, one)) return true;
    partitions.remove_prefix(std::min(one.size() + 1, partitions.size()));
  }
  return false;
}

bool meets(const SlurmAsked& asked, const SlurmNode& node) {
  return (asked.gpu_type.empty() ||
          type_key(product_of_type(node.spec.gpu_type)) == type_key(asked.gpu_type)) &&
         meets_partitions(asked.partitions, node) && meets_features(asked.features, node.features);
}

// Nodes of one type, and what all of them are called in Slurm.
struct Kind {
  std::vector<std::size_t> nodes;
  std::vector<std::string> words;  // partitions and features
};

// Returns the partitions and features that the requests name.
std::set<std::string, std::less<>> words_in(const std::set<SlurmAsked>& asked) {
  std::set<std::string, std::less<>> words;
  for (const SlurmAsked& one : asked) {
    for (std::string_view rest :
         {std::string_view(one.partitions), std::string_view(one.features)}) {
      while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find_first_of("&|,()[]*"));
        words.emplace(trimmed(word));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      }
    }
  }
  return words;
}

std::vector<std::string> words_of(const SlurmNode& node,
                                  const std::set<std::string, std::less<>>& known) {
  std::vector<std::string> words;
  for (const auto* names : {&node.partitions, &node.features}) {
    for (const std::string& name : *names) {
      if (known.contains(name) && !has(words, name)) words.push_back(name);
    }
  }
  return words;
}

// Names each kind by the words that not all kinds have.
void name_kinds(std::map<std::vector<bool>, Kind>& kinds, const std::string& product,
                std::vector<SlurmNode>& nodes) {
  std::set<std::string> taken;
  for (auto& [meets, kind] : kinds) {
    std::vector<std::string> own = kind.words;
    std::erase_if(own, [&](const std::string& word) {
      return std::ranges::all_of(kinds,
                                 [&](const auto& other) { return has(other.second.words, word); });
    });
    std::string type = product;
    if (kinds.size() > 1)
      type += fmt::format("/{}", own.empty() ? "other" : fmt::to_string(fmt::join(own, "&")));
    std::ranges::replace(type, '+', '-');  // it stands between types
    const std::string base = type;
    for (int number = 2; !taken.insert(type).second; ++number)
      type = fmt::format("{}.{}", base, number);
    for (const std::size_t node : kind.nodes) nodes[node].spec.gpu_type = type;
  }
}

}  // namespace

bool meets_features(std::string_view expression, const std::vector<std::string>& features) {
  return expression.empty() || Features(expression, features).expression();
}

SlurmPlaces::SlurmPlaces(std::vector<SlurmNode> nodes, const std::set<SlurmAsked>& asked)
    : nodes_(std::move(nodes)) {
  if (split(asked)) return;
  dropped_ = "features";
  std::set<SlurmAsked> fewer;
  for (const SlurmAsked& one : asked) fewer.insert({one.gpu_type, one.partitions, ""});
  if (split(fewer)) return;
  dropped_ = "features and partitions";
}

// Gives types to the nodes, unless there would be too many.
bool SlurmPlaces::split(const std::set<SlurmAsked>& asked) {
  const std::set<std::string, std::less<>> known = words_in(asked);
  std::map<std::string, std::map<std::vector<bool>, Kind>> products;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    std::vector<bool> met;
    for (const SlurmAsked& one : asked) met.push_back(meets(one, nodes_[i]));
    Kind& kind = products[nodes_[i].spec.gpu_type][met];
    std::vector<std::string> words = words_of(nodes_[i], known);
    if (kind.nodes.empty()) kind.words = words;
    std::erase_if(kind.words, [&](const std::string& word) { return !has(words, word); });
    kind.nodes.push_back(i);
  }
  std::size_t types = 0;
  for (const auto& [product, kinds] : products) types += kinds.size();
  if (types > kGpuTypesMax) return false;
  for (auto& [product, kinds] : products) name_kinds(kinds, product, nodes_);
  return true;
}

std::vector<NodeSpec> SlurmPlaces::specs() const {
  std::vector<NodeSpec> specs;
  for (const SlurmNode& node : nodes_) specs.push_back(node.spec);
  return specs;
}

SlurmPlaces::Answer SlurmPlaces::runs_on(const SlurmAsked& request) const {
  SlurmAsked asked = request;
  if (!dropped_.empty()) asked.features.clear();
  if (dropped_.ends_with("partitions")) asked.partitions.clear();
  Answer answer;
  const auto met_by_none = [&](const SlurmAsked& one) {
    return std::ranges::none_of(nodes_, [&](const SlurmNode& node) { return meets(one, node); });
  };
  if (met_by_none({"", asked.partitions, ""})) {
    answer.ignored = "partition " + asked.partitions;
    asked.partitions.clear();
  }
  if (met_by_none({"", "", asked.features})) {
    answer.ignored = "features " + asked.features;
    asked.features.clear();
  }
  answer.nowhere = met_by_none(asked);
  if (asked == SlurmAsked()) return answer;
  std::set<std::string> types;
  for (const SlurmNode& node : nodes_) {
    if (meets(asked, node)) types.insert(node.spec.gpu_type);
  }
  answer.types = fmt::format("{}", fmt::join(types, "+"));
  return answer;
}

std::string SlurmPlaces::type_of(std::string_view product, std::string_view types) const {
  std::string found;
  for (const SlurmNode& node : nodes_) {
    const std::string& type = node.spec.gpu_type;
    if (type_key(product_of_type(type)) != type_key(product)) continue;
    if (found.empty()) found = type;
    if (fmt::format("+{}+", types).find(fmt::format("+{}+", type)) != std::string::npos)
      return type;
  }
  return found;
}

}  // namespace fairlead
