#include "fairlead/input/cluster_file.h"

#include "fairlead/base/counted.h"
#include "fairlead/base/nearest.h"
#include "fairlead/base/parse.h"
#include "fairlead/input/embedded.h"
#include "fairlead/input/yaml_reader.h"
#include "fairlead/model/cluster_build.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace fairlead {
namespace {

constexpr std::string_view kShorthandHelp =
    "12xV100:4,6xP100:4 is 12 nodes of 4 V100 and 6 nodes of 4 P100";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// True for digits followed by 'x'. A dot or a slash marks a path that starts in the same way.
bool looks_like_shorthand(std::string_view spec) {
  const auto digits =
      static_cast<std::size_t>(std::ranges::find_if_not(spec, is_digit) - spec.begin());
  return digits > 0 && spec.substr(digits).starts_with('x') &&
         spec.find_first_of("./") == spec.npos;
}

// One part of the shorthand: COUNTxTYPE:GPUS.
struct Part {
  std::int64_t count = 0;
  std::string_view type;
  std::int64_t gpus = 0;
};

Result<Part> parse_part(std::string_view text, std::string_view spec) {
  const std::size_t x = text.find('x');
  const std::size_t colon = text.rfind(':');
  const auto wrong = [&](std::string_view what) {
    const auto column = text.data() - spec.data() + 1;
    return input_error("cluster shorthand:1:{}: {} ({}): {}", column, what, kShorthandHelp, text);
  };
  if (x == text.npos || colon == text.npos || colon < x) return wrong("expected COUNTxTYPE:GPUS");
  const Part part = {parse_integer(text.substr(0, x)).value_or(0),
                     text.substr(x + 1, colon - x - 1),
                     parse_integer(text.substr(colon + 1)).value_or(0)};
  if (part.count < 1 || part.count > kNodesMax) {
    return wrong(fmt::format("the count of nodes must be from 1 to {}", kNodesMax));
  }
  if (part.type.empty()) return wrong("the GPU type is missing");
  if (part.gpus < 1 || part.gpus > kNodeGpusMax) {
    return wrong(fmt::format("the GPUs of a node must be from 1 to {}", kNodeGpusMax));
  }
  return part;
}

const EmbeddedFile* find_preset(std::string_view name) {
  const auto presets = embedded_clusters();
  const auto found = std::ranges::find(presets, name, &EmbeddedFile::name);
  return found == presets.end() ? nullptr : &*found;
}

Result<Cluster> load_file(std::string_view spec) {
  std::error_code ignored;
  if (!std::filesystem::exists(spec, ignored)) {
    std::vector<std::string_view> names;
    for (const EmbeddedFile& preset : embedded_clusters()) names.push_back(preset.name);
    return input_error(
        "a cluster is a preset ({}), a shorthand ({}) or a file, and this is none of them: {}{}",
        fmt::join(names, ", "), kShorthandHelp, spec, did_you_mean(names, spec));
  }
  FL_TRY_ASSIGN(source, ByteSource::open(std::string(spec)));
  FL_TRY_ASSIGN(text, yaml_text(source));
  if (is_node_list(text) || spec.ends_with(".csv")) return read_node_list(source);
  return parse_cluster_yaml(text, spec);
}

}  // namespace

Result<Cluster> load_cluster(std::string_view spec) {
  if (const EmbeddedFile* preset = find_preset(spec)) {
    return parse_cluster_yaml(preset->text, preset->name);
  }
  return looks_like_shorthand(spec) ? parse_cluster_shorthand(spec) : load_file(spec);
}

Result<Cluster> parse_cluster_shorthand(std::string_view spec) {
  std::vector<NodeSpec> nodes;
  for (std::string_view rest = spec; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    FL_TRY_ASSIGN(part, parse_part(rest.substr(0, comma), spec));
    if (static_cast<std::int64_t>(nodes.size()) + part.count > kNodesMax) {
      return input_error("a cluster has at most {} nodes: {}", kNodesMax, spec);
    }
    const NodeSpec node = {.name = "",
                           .gpu_type = std::string(part.type),
                           .gpus = static_cast<std::uint32_t>(part.gpus),
                           .host = "",
                           .rack = "r0"};
    nodes.insert(nodes.end(), static_cast<std::size_t>(part.count), node);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return build_cluster(std::string(spec), Links{}, nodes);
}

std::vector<ClusterPreset> preset_clusters() {
  std::vector<ClusterPreset> presets;
  for (const EmbeddedFile& file : embedded_clusters()) {
    const Result<YamlNode> root = YamlNode::parse(file.text, file.name);
    FL_CHECK(root.has_value(), "preset {}: {}", file.name, root.error().message);
    const auto about = root->find("about");
    FL_CHECK(about.has_value(), "preset {} has no about", file.name);
    presets.push_back({std::string(file.name), about->text().value_or("")});
  }
  return presets;
}

std::string cluster_name(std::string_view file) {
  const std::filesystem::path name = std::filesystem::path(file).stem();  // "lab.csv.gz": "lab.csv"
  return (name.extension() == ".csv" ? name.stem() : name).string();
}

std::string describe(const Cluster& cluster) {
  std::vector<std::string> types;
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    types.push_back(fmt::format("{} {}", cluster.type_gpus[type], cluster.type_names[type]));
  }
  return fmt::format("{}, {}: {}", counted(cluster.nodes(), "node"), counted(cluster.gpus, "GPU"),
                     fmt::join(types, ", "));
}

}  // namespace fairlead
