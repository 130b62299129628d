// The container of a journal: blocks of bytes that are appended to a file, each with a checksum.
//
//   the bytes "FLJ2", then blocks, numbers in little-endian order:
//     0  crc      4 bytes, CRC-32C of the rest of the block
//     4  length   4 bytes, size of the frame
//     8  records  4 bytes, number of records in the content
//    12  number   8 bytes, number of the block, counted from 1
//    20  hash     8 bytes, StreamHash of the content of this and all blocks before it
//    28  frame    the content: one zstd frame
//
// A killed writer, or a loss of power, leaves whole blocks and at most one partial block at the end.
// This torn tail is cut. The file is damaged, which is an error, if a whole block follows a partial one,
// or if a block is missing, doubled, moved or from another journal. Decoding needs the blocks before:
// records do not span blocks, but a record's time counts from the record before. The format is our own,
// modelled on the logs of LevelDB and etcd.
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

struct ZSTD_CCtx_s;  // zstd's own names: users of this header do not need zstd's header
struct ZSTD_DCtx_s;

namespace fairlead {

constexpr std::string_view kBlocksMagic = "FLJ2";
constexpr std::size_t kBlockHeaderBytes = 28;
// Chosen by measuring journals of a million jobs. Up to 256 KiB at once zstd uses smaller tables, which
// compress journals best: 1 % better than one frame for the whole journal.
constexpr std::size_t kBlockBytes = std::size_t{240} << 10;
// Bounds the memory of readers, whatever length a file states.
constexpr std::size_t kBlockBytesMax = std::size_t{16} << 20;

class BlockWriter {
 public:
  // Continues a file that ends after its first `blocks` blocks.
  BlockWriter(std::unique_ptr<AppendFile> file, std::uint64_t blocks);
  // Creates a file without blocks, which replaces the file at `path` at once. Error: the new file
  // cannot be written.
  static Result<BlockWriter> create(const std::filesystem::path& path);
  // Continues after the first `blocks` blocks of a file, its first `bytes` bytes; cuts the rest.
  static Result<BlockWriter> append_to(const std::filesystem::path& path, std::uint64_t blocks,
                                       std::uint64_t bytes);
  BlockWriter(BlockWriter&&) noexcept;
  ~BlockWriter();

  // Writes a block with one system call. `hash`: of all content so far, this block included. After a
  // failure nothing more is written; sync() and close() return it. REQUIRES: content of 1 to
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

// The part of a file behind its last valid block.
struct BlocksRest {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;   // number of whole blocks; if there is any, the file is damaged
  std::uint64_t records = 0;  // number of records in these blocks
  // Number of records in the partial block, by its own header; none if the header is cut too.
  std::optional<std::uint32_t> torn_records;
};

// Reads a file block by block. Memory: one block.
class BlockReader {
 public:
  // Errors: the file cannot be read, or does not start with kBlocksMagic.
  static Result<BlockReader> open(const std::filesystem::path& path);
  static Result<BlockReader> read(ByteSource source);
  BlockReader(BlockReader&&) noexcept;
  ~BlockReader();

  // Returns the next whole block, or none at the end and before a torn tail. Errors: damage, with its
  // offset and the block's number; or a failed read. REQUIRES: the last call returned a block.
  Result<std::optional<Block>> next();

  const std::string& name() const { return source_.name(); }
  // The number of blocks returned so far, the offset of their end, and the hash of their content.
  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t bytes() const { return bytes_; }
  const StreamHash& hash() const { return hash_; }
  // Valid after next() returned none or found damage.
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
