#include "fairlead/input/outages_file.h"

#include "fairlead/base/parse.h"
#include "fairlead/input/csv.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace fairlead {
namespace {

// Parses "0+3" as a mask; none for any other text.
std::optional<std::uint64_t> gpus_named(std::string_view text, std::uint32_t has) {
  if (text.empty()) return kAllGpus;
  std::uint64_t mask = 0;
  for (;;) {
    const std::size_t plus = text.find('+');
    const Parsed<std::int64_t> gpu = parse_integer(text.substr(0, plus));
    if (!gpu || *gpu < 0 || *gpu >= has) return std::nullopt;
    const std::uint64_t bit = std::uint64_t{1} << *gpu;
    if ((mask & bit) != 0) return std::nullopt;
    mask |= bit;
    if (plus == std::string_view::npos) return mask;
    text.remove_prefix(plus + 1);
  }
}

class OutagesReader {
 public:
  OutagesReader(ByteSource& source, const Cluster& cluster) : csv_(source), cluster_(cluster) {
    for (NodeId node : ids<NodeId>(cluster.nodes())) names_.emplace(cluster.node_names[node], node);
  }

  Result<std::vector<NodeOutage>> read() {
    FL_TRY(csv_.read_header());
    FL_TRY_ASSIGN(node, csv_.require("node"));
    FL_TRY_ASSIGN(down, csv_.require("down_s"));
    FL_TRY_ASSIGN(up, csv_.require("up_s"));
    columns_ = {.node = node, .down = down, .up = up, .gpus = csv_.find("gpus")};
    FL_TRY(check_header());
    WorkloadBuilder errors("", Reading::kStrict);
    for (;;) {
      FL_TRY_ASSIGN(more, csv_.next());
      if (!more) return std::move(outages_);
      read_row();
      if (csv_.bad()) FL_TRY(csv_.reject(errors));
    }
  }

 private:
  struct Columns {
    CsvReader::Column node = CsvReader::kMissing;
    CsvReader::Column down = CsvReader::kMissing;
    CsvReader::Column up = CsvReader::kMissing;
    CsvReader::Column gpus = CsvReader::kMissing;
  };

  // A column of another name is most likely a mistake.
  Status check_header() const {
    const std::vector<std::string>& names = csv_.header();
    for (CsvReader::Column column = 0; column < names.size(); ++column) {
      const std::string& name = names[column];
      if (name == "node" || name == "down_s" || name == "up_s" || name == "gpus") continue;
      return input_error("{}: no such column (there are: node, down_s, up_s, gpus): {}",
                         csv_.where(column).text(), name);
    }
    return {};
  }

  void read_row() {
    const auto named = names_.find(csv_.text(columns_.node));
    if (named == names_.end()) return csv_.fault(columns_.node, "is not a node of the cluster");
    NodeOutage outage{.node = named->second, .down = csv_.time(columns_.down), .up = Time::never()};
    if (!csv_.text(columns_.up).empty()) outage.up = csv_.time(columns_.up);
    if (csv_.bad()) return;
    if (outage.up <= outage.down) return csv_.fault(columns_.up, "must be after down_s");
    const std::uint32_t has = cluster_.node_gpus[outage.node];
    const auto gpus = gpus_named(csv_.text(columns_.gpus), has);
    if (!gpus) return csv_.fault(columns_.gpus, "must be GPUs of the node, as 0+3");
    outage.gpus = *gpus;
    std::vector<NodeOutage>& earlier = of_node_[outage.node];
    const bool overlaps = std::ranges::any_of(earlier, [&](const NodeOutage& other) {
      return outage.down < other.up && other.down < outage.up && (outage.gpus & other.gpus) != 0;
    });
    if (overlaps) return csv_.fault(columns_.down, "overlaps with an earlier row of its node");
    earlier.push_back(outage);
    outages_.push_back(outage);
  }

  CsvReader csv_;
  const Cluster& cluster_;
  Columns columns_;
  std::map<std::string_view, NodeId> names_;
  std::map<NodeId, std::vector<NodeOutage>> of_node_;
  std::vector<NodeOutage> outages_;
};

}  // namespace

Result<std::vector<NodeOutage>> read_outages(ByteSource& source, const Cluster& cluster) {
  return OutagesReader(source, cluster).read();
}

Result<std::vector<NodeOutage>> load_outages(const std::string& path, const Cluster& cluster) {
  FL_TRY_ASSIGN(source, ByteSource::open(path));
  return read_outages(source, cluster);
}

}  // namespace fairlead
