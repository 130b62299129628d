#include "fairlead/journal/repair.h"

#include <string>
#include <system_error>
#include <utility>

namespace fairlead {
namespace {

struct Ignored : RecordSink {
  void on(const Record& /*record*/) override {}
};

Result<std::string> read_all(const std::filesystem::path& path) {
  FL_TRY_ASSIGN(source, ByteSource::open(path.string()));
  std::string bytes;
  while (true) {
    FL_TRY_ASSIGN(piece, source.peek(1));
    if (piece.empty()) return bytes;
    bytes += piece;
    source.consume(piece.size());
  }
}

Status keep_original(const std::filesystem::path& path) {
  std::filesystem::path kept = path;
  kept += ".damaged";
  std::error_code error;
  if (std::filesystem::copy_file(path, kept, error)) return {};
  return run_error("{}: cannot keep the original there: {}", kept.string(), error.message());
}

}  // namespace

Result<Repair> repair_journal(const std::filesystem::path& from, const std::filesystem::path& to,
                              bool cut_damage) {
  FL_TRY_ASSIGN(bytes, read_all(from));
  Repair repair{.end = {}, .blocks = repair_blocks(bytes), .lost = {}};
  FL_TRY_ASSIGN(source, ByteSource::memory(bytes, from.string()));
  FL_TRY_ASSIGN(blocks, BlockReader::read(std::move(source)));
  Ignored ignored;
  FL_TRY_ASSIGN(found, read_journal(std::move(blocks), ignored));
  const std::string_view kept = std::string_view(bytes).substr(0, found.bytes);
  repair.lost = lost_records(std::string_view(bytes).substr(found.bytes));
  repair.end = std::move(found);
  const BlocksRest& rest = repair.end.rest;
  if (rest.blocks > 0 && !cut_damage) {
    return input_error(
        "{}; a cut there would lose {} records in {} whole blocks and the damaged bytes: add "
        "--cut",
        repair.end.problem, rest.records, rest.blocks);
  }
  std::error_code error;
  const bool in_place = from == to || std::filesystem::equivalent(from, to, error);
  if (in_place && rest.bytes == 0 && !repair.blocks.is_needed()) return repair;
  FL_TRY_ASSIGN(file, OutputFile::create(to));
  file.write(kept);
  if (in_place) FL_TRY(keep_original(from));
  FL_TRY(file.commit());
  return repair;
}

}  // namespace fairlead
