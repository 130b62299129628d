// Published lists of nodes as CSV; the known headers are in cluster_file.h.

#include "fairlead/base/parse.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/csv_row.h"
#include "fairlead/model/cluster_build.h"

#include <algorithm>
#include <set>

namespace fairlead {
namespace {

// The names of columns in one published list. An empty name: the list has no such column.
struct ListFormat {
  std::string_view header;
  std::string_view node;
  std::string_view gpus;                   // default: 8 per node
  std::string_view gpu_type;               // else "GPU"
  std::vector<std::string_view> switches;  // from the top; names below repeat
  std::string_view cpu_milli{};
  std::string_view memory_mib{};
};

const std::vector<ListFormat>& list_formats() {
  static const std::vector<ListFormat> kFormats = {
      {"sn,cpu_milli,memory_mib,gpu,model", "sn", "gpu", "model", {}, "cpu_milli", "memory_mib"},
      {",machineId,number of GPUs", "machineId", "number of GPUs", "", {}},
      {"ip,DSW,PSW,ASW", "ip", "", "", {"DSW", "PSW", "ASW"}},
  };
  return kFormats;
}

class ListReader {
 public:
  explicit ListReader(const ListFormat& format) : format_(format), row_(format.header) {
    if (!format.switches.empty()) {
      fabric_.levels.assign(format.switches.rbegin(), format.switches.rend());
    }
  }

  // Adds the node that `lines` is at.
  Status read(const LineReader& lines) {
    FL_TRY(row_.read(lines));
    const std::string name(row_[format_.node]);
    if (name.empty()) return row_.bad(format_.node, "must not be empty");
    if (!names_.insert(name).second) return row_.bad(format_.node, "occurs twice");
    FL_TRY_ASSIGN(gpus, read_gpus());
    if (gpus == 0) return {};
    if (nodes_.size() == kNodesMax) {
      return row_.bad(format_.node, fmt::format("is one more than {} nodes", kNodesMax));
    }
    nodes_.push_back(
        {.name = name,
         .gpu_type = type(),
         .gpus = gpus,
         .host = "",
         .rack = rack(),
         .has = {thousandths_of(amount(format_.cpu_milli)), gb_of_mb(amount(format_.memory_mib))}});
    return {};
  }

  const std::vector<NodeSpec>& nodes() const { return nodes_; }
  const FabricSpec& fabric() const { return fabric_; }

 private:
  Result<std::uint32_t> read_gpus() const {
    if (format_.gpus.empty()) return 8U;
    const Parsed<std::int64_t> gpus = parse_integer(row_[format_.gpus]);
    if (gpus && *gpus >= 0 && *gpus <= kNodeGpusMax) return static_cast<std::uint32_t>(*gpus);
    return row_.bad(format_.gpus, fmt::format("must be a whole number from 0 to {}", kNodeGpusMax));
  }

  // Returns 0 if the list has no such column, or no number there.
  std::int64_t amount(std::string_view column) const {
    return column.empty() ? 0 : parse_integer(row_[column]).value_or(0);
  }

  std::string type() const {
    if (format_.gpu_type.empty() || row_[format_.gpu_type].empty()) return "GPU";
    return std::string(row_[format_.gpu_type]);
  }

  // The rack's name; its switches are noted.
  std::string rack() {
    std::string path;
    for (std::string_view column : format_.switches) {
      const std::string parent = path;
      path.append(path.empty() ? "" : "/").append(row_[column]);
      if (switch_names_.insert(path).second) fabric_.switches.push_back({path, parent, {}});
    }
    return path;
  }

  const ListFormat& format_;
  CsvRow row_;
  std::set<std::string> names_;
  std::set<std::string> switch_names_;
  FabricSpec fabric_;
  std::vector<NodeSpec> nodes_;
};

Result<const ListFormat*> recognise(const LineReader& lines) {
  std::string known;
  for (const ListFormat& format : list_formats()) {
    if (format.header == lines.line()) return &format;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", format.header);
  }
  return input_error("{}:1:1: not a list of nodes that is known here (known headers: {}): {}",
                     lines.name(), known, lines.line().substr(0, 80));
}

}  // namespace

bool is_node_list(std::string_view text) {
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  return std::ranges::find(list_formats(), line, &ListFormat::header) != list_formats().end();
}

Result<Cluster> read_node_list(ByteSource& source) {
  LineReader lines(source);
  FL_TRY_ASSIGN(any, lines.next());
  if (!any) return input_error("{}: the file is empty", source.name());
  FL_TRY_ASSIGN(format, recognise(lines));
  ListReader reader(*format);
  for (;;) {
    FL_TRY_ASSIGN(more, lines.next());
    if (!more) break;
    if (!lines.line().empty()) FL_TRY(reader.read(lines));
  }
  if (reader.nodes().empty()) return input_error("{}: a cluster without GPUs", source.name());
  Result<Cluster> cluster =
      build_cluster(cluster_name(source.name()), Links{}, reader.nodes(), reader.fabric());
  if (!cluster) return input_error("{}: {}", source.name(), cluster.error().message);
  return cluster;
}

}  // namespace fairlead
