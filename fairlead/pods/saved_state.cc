#include "fairlead/pods/saved_state.h"

#include "fairlead/journal/checked_journal.h"

#include <zstd.h>

namespace fairlead {
namespace {

constexpr std::uint64_t kVersion = 2;
constexpr std::uint64_t kWithoutSpeeds = 1;
constexpr std::size_t kUnpackedBytesMax = std::size_t{64} << 20;
constexpr int kLevel = 3;

std::string packed(const std::vector<std::uint8_t>& bytes) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  FL_CHECK(context != nullptr, "out of memory");
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context, out.data(), out.size(), bytes.data(), bytes.size());
  ZSTD_freeCCtx(context);
  FL_CHECK(ZSTD_isError(size) == 0, "{}", ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

Result<std::vector<std::uint8_t>> unpacked(std::string_view bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size > kUnpackedBytesMax) return input_error("the bytes are not a saved state");
  std::vector<std::uint8_t> out(size);
  const std::size_t count = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(count) != 0)
    return input_error("the saved state is damaged: {}", ZSTD_getErrorName(count));
  out.resize(count);
  return out;
}

// Returns the first node that differs from the cluster's, or empty.
std::string other_node(const RecordedRun& run, const Cluster& cluster) {
  std::size_t count = 0;
  for (const Record& record : run.records()) {
    const auto* node = std::get_if<record::Node>(&record.what);
    if (node == nullptr) continue;
    ++count;
    const NodeId id = node->node;
    const bool is_same = cluster.node_type.has(id) && cluster.node_names[id] == node->name &&
                         cluster.node_type[id] == node->type &&
                         cluster.node_host[id] == node->host &&
                         cluster.node_rack[id] == node->rack && cluster.node_gpus[id] == node->gpus;
    if (!is_same) return std::string(node->name);
  }
  if (count == cluster.nodes()) return {};
  return cluster.node_names[NodeId(count)];
}

}  // namespace

Status fits(const SavedState& state, const RunLabel& label, const Cluster& cluster) {
  const RecordedRun& run = state.run;
  const auto* of =
      run.records().empty() ? nullptr : std::get_if<record::Run>(&run.records().front().what);
  if (of == nullptr) return input_error("the bytes are not a saved state");
  if (of->policy != label.policy || of->options != label.options) {
    return input_error("the saved state has another policy or options: {}:{}", of->policy,
                       of->options);
  }
  if (!std::ranges::equal(of->gpu_types, cluster.type_names)) {
    return input_error("the saved state has other GPU types");
  }
  if (of->cluster != label.cluster)
    return input_error("the saved state has other levels of nodes: {}", of->cluster);
  const std::string other = other_node(run, cluster);
  return other.empty() ? Status() : input_error("the saved state has other nodes: {}", other);
}

std::string save_state(const Engine& engine, const RunLabel& label,
                       const std::map<JobId, std::string>& owners, LearnedSpeeds learned, Time time,
                       std::int64_t unix_ms) {
  SavedState state{
      .time = time, .unix_ms = unix_ms, .owners = owners, .learned = std::move(learned), .run = {}};
  const Jobs& jobs = engine.tables().jobs;
  std::erase_if(state.owners, [&](const auto& owner) { return !jobs.is_here(owner.first); });
  Writer out;
  out.u64(kVersion);
  save(state, out);
  save(state.learned, out);
  RecordEncoder encoder(out);
  return engine.condense(label, encoder) ? packed(out.bytes()) : "";
}

Result<SavedState> parse_state(std::string_view bytes) {
  FL_TRY_ASSIGN(plain, unpacked(bytes));
  Reader in(plain);
  const std::uint64_t version = in.u64();
  if (version != kVersion && version != kWithoutSpeeds) {
    return input_error("the saved state is from another version of Fairlead");
  }
  SavedState state;
  load(state, in);
  if (version != kWithoutSpeeds) load(state.learned, in);
  if (!in.ok() || state.time < Time{}) return input_error("the saved state is cut off");
  // Without this check, records that no run can have written would look like a bug of the engine.
  CheckedJournal checked(state.run);
  RecordDecoder decoder;
  FL_TRY(decoder.decode(in, checked));
  if (decoder.records() != state.run.records().size()) {
    return input_error("{}", checked.status().error().message);
  }
  return state;
}

}  // namespace fairlead
