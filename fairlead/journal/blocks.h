// The container of a journal: blocks of bytes that are appended to a file, each of them checked.
//
//   the bytes "FLJ2", then blocks, numbers in little-endian order:
//     0  crc      4 bytes, CRC-32C of the rest of the block
//     4  length   4 bytes, of the frame
//     8  records  4 bytes, how many the content is
//    12  number   8 bytes, of the block; the first is 1
//    20  hash     8 bytes, StreamHash of the content of this and all blocks before it
//    28  frame    the content, as one frame of zstd
//
// A block is whole or it is not there. A writer that was killed, or a machine that lost its power,
// leaves whole blocks and at most one that is not: a torn tail, which is cut. If a whole block
// follows one that is not, or one is missing, doubled, moved or of another journal, the file is
// damaged, which is an error. The content needs the blocks before it: records do not span blocks,
// but their times count from the record before. Format: ours, after the logs of LevelDB and etcd.
#pragma once

#include "fairlead/base/append_file.h"
#include "fairlead/base/file.h"
#include "fairlead/base/hash.h"
#include "fairlead/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct ZSTD_CCtx_s;  // zstd's own names, so that who includes this does without its header
struct ZSTD_DCtx_s;

namespace fairlead {

constexpr std::string_view kBlocksMagic = "FLJ2";
constexpr std::size_t kBlockHeaderBytes = 28;
// Chosen by measuring journals of a million jobs: zstd has smaller tables for up to 256 KiB at once,
// which compress journals best, 1 % better than one frame for all of it.
constexpr std::size_t kBlockBytes = std::size_t{240} << 10;
// It bounds the memory of readers, whatever a file says.
constexpr std::size_t kBlockBytesMax = std::size_t{16} << 20;

class BlockWriter {
 public:
  // Goes on after the first `blocks` blocks of a file, which has nothing behind them.
  BlockWriter(std::unique_ptr<AppendFile> file, std::uint64_t blocks);
  // A file without blocks at `path`, which replaces at once what was there. Error: it cannot be
  // written.
  static Result<BlockWriter> create(const std::filesystem::path& path);
  // Goes on after the first `blocks` blocks of a file, its first `bytes` bytes; cuts what follows.
  static Result<BlockWriter> append_to(const std::filesystem::path& path, std::uint64_t blocks,
                                       std::uint64_t bytes);
  BlockWriter(BlockWriter&&) noexcept;
  ~BlockWriter();

  // Writes a block with one call of the system. `hash`: of all content, this included. A failure
  // appears at sync() or close(), and nothing more is written. REQUIRES: content of 1 to
  // kBlockBytesMax bytes. O(bytes).
  void append(std::span<const std::uint8_t> content, std::uint32_t records, std::uint64_t hash);
  // Returns once the blocks would survive a loss of power. Error: they may not be written in full.
  Status sync();
  // sync(), and ends the file. REQUIRES: called once, last.
  Status close();

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<AppendFile> file_;
  std::uint64_t blocks_;
  Status written_;  // the first failure
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> context_;
  std::vector<std::uint8_t> block_;
};

// The content is valid until the next call of next().
struct Block {
  std::span<const std::uint8_t> content;
  std::uint32_t records = 0;
};

// What lies behind the last block that can be believed.
struct BlocksRest {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;   // whole ones among them; if any, the file is damaged
  std::uint64_t records = 0;  // in those
  // In the block that is not whole, by its own header; none where that is not there either.
  std::optional<std::uint32_t> torn_records;
};

// Reads a file block by block. Memory: one block.
class BlockReader {
 public:
  // Errors: the file cannot be read, or begins otherwise.
  static Result<BlockReader> open(const std::filesystem::path& path);
  static Result<BlockReader> read(ByteSource source);
  BlockReader(BlockReader&&) noexcept;
  ~BlockReader();

  // The next block, or none where there is no other whole one: at the end, or before a torn tail.
  // Errors: damage, with its offset and the block's number, or the system cannot read on. REQUIRES:
  // the last call returned a block.
  Result<std::optional<Block>> next();

  const std::string& name() const { return source_.name(); }
  // How many blocks were returned, where the last of them ends, and the hash of their content.
  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t bytes() const { return bytes_; }
  const StreamHash& hash() const { return hash_; }
  // After next() returned none or found damage.
  const BlocksRest& rest() const { return rest_; }
  bool damaged() const { return damaged_; }

 private:
  struct Seen;
  struct FreeContext {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  explicit BlockReader(ByteSource source);
  Result<Seen> look();
  Status survey();
  bool decompress(std::string_view frame);
  tl::unexpected<Error> damage(std::string_view what);

  ByteSource source_;
  std::uint64_t blocks_ = 0;
  std::uint64_t bytes_ = 0;
  StreamHash hash_;
  BlocksRest rest_;
  bool damaged_ = false;
  std::unique_ptr<ZSTD_DCtx_s, FreeContext> context_;
  std::vector<std::uint8_t> content_;
};

}  // namespace fairlead
