#include "fairlead/journal/repair.h"

#include <algorithm>
#include <system_error>

namespace fairlead {
namespace {

struct Ignored : RecordSink {
  void on(const Record& /*record*/) override {}
};

// The first `bytes` bytes of a file that has so many.
Status copy_begin(const std::filesystem::path& from, std::uint64_t bytes, OutputFile& to) {
  FL_TRY_ASSIGN(source, ByteSource::open(from.string()));
  while (bytes > 0) {
    FL_TRY_ASSIGN(piece, source.peek(1));
    if (piece.empty()) return input_error("{}: it became shorter", from.string());
    const std::size_t count = std::min<std::uint64_t>(bytes, piece.size());
    to.write(piece.substr(0, count));
    source.consume(count);
    bytes -= count;
  }
  return {};
}

Status keep_original(const std::filesystem::path& path) {
  std::filesystem::path kept = path;
  kept += ".damaged";
  std::error_code error;
  if (std::filesystem::copy_file(path, kept, error)) return {};
  return run_error("{}: cannot keep the original there: {}", kept.string(), error.message());
}

}  // namespace

Result<JournalEnd> repair_journal(const std::filesystem::path& from,
                                  const std::filesystem::path& to, bool cut_damage) {
  Ignored ignored;
  FL_TRY_ASSIGN(found, read_journal(from, ignored));
  if (found.rest.blocks > 0 && !cut_damage) {
    return input_error(
        "{}; to cut there would lose {} records in {} whole blocks and what is damaged: --cut does "
        "it",
        found.problem, found.rest.records, found.rest.blocks);
  }
  std::error_code error;
  const bool in_place = from == to || std::filesystem::equivalent(from, to, error);
  if (in_place && found.rest.bytes == 0) return found;
  FL_TRY_ASSIGN(file, OutputFile::create(to));
  FL_TRY(copy_begin(from, found.bytes, file));
  if (in_place) FL_TRY(keep_original(from));
  FL_TRY(file.commit());
  return found;
}

}  // namespace fairlead
