#include "fairlead/journal/blocks.h"

#include "fairlead/base/check.h"
#include "fairlead/base/crc32c.h"
#include "fairlead/journal/block_header.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// A number so far off is none: what looks like a header is not one.
constexpr std::uint64_t kBlocksAhead = std::uint64_t{1} << 32;

void put(std::uint8_t* to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

// Puts the header in front of the frame that stands in `block` already.
void put_header(std::vector<std::uint8_t>& block, std::uint32_t records, std::uint64_t number,
                std::uint64_t hash) {
  put(&block[4], block.size() - kBlockHeaderBytes, 4);
  put(&block[8], records, 4);
  put(&block[12], number, 8);
  put(&block[20], hash, 8);
  put(block.data(), crc32c(std::span(block).subspan(kBlockCrcBytes)), kBlockCrcBytes);
}

}  // namespace

BlockWriter::BlockWriter(std::unique_ptr<AppendFile> file, std::uint64_t blocks)
    : file_(std::move(file)), blocks_(blocks), context_(ZSTD_createCCtx()) {
  FL_CHECK(context_ != nullptr, "zstd has no memory");
  // The fastest level: the journal is written while the simulation waits.
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, 1);
}

Result<BlockWriter> BlockWriter::create(const std::filesystem::path& path) {
  FL_TRY_ASSIGN(file, OutputFile::create(path));
  file.write(kBlocksMagic);
  FL_TRY(file.commit());
  return append_to(path, 0, kBlocksMagic.size());
}

Result<BlockWriter> BlockWriter::append_to(const std::filesystem::path& path, std::uint64_t blocks,
                                           std::uint64_t bytes) {
  FL_TRY_ASSIGN(file, append_to_file(path, bytes));
  return BlockWriter(std::move(file), blocks);
}

BlockWriter::BlockWriter(BlockWriter&&) noexcept = default;
BlockWriter::~BlockWriter() = default;

void BlockWriter::FreeContext::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

void BlockWriter::append(std::span<const std::uint8_t> content, std::uint32_t records,
                         std::uint64_t hash) {
  FL_CHECK(!content.empty() && content.size() <= kBlockBytesMax, "a block of {} bytes",
           content.size());
  block_.resize(kBlockHeaderBytes + ZSTD_compressBound(content.size()));
  const std::size_t length =
      ZSTD_compress2(context_.get(), block_.data() + kBlockHeaderBytes,
                     block_.size() - kBlockHeaderBytes, content.data(), content.size());
  FL_CHECK(!ZSTD_isError(length), "zstd: {}", ZSTD_getErrorName(length));
  block_.resize(kBlockHeaderBytes + length);
  put_header(block_, records, ++blocks_, hash);
  if (written_) written_ = file_->append(block_);
}

Status BlockWriter::sync() {
  if (written_) written_ = file_->sync();
  return written_;
}

Status BlockWriter::close() {
  FL_TRY(written_);
  return file_->close();
}

// The block that starts at the position of the source.
struct BlockReader::Seen {
  std::optional<BlockHeader> header;  // if there is room for one
  std::string_view frame;
  bool whole = false;
};

Result<BlockReader> BlockReader::open(const std::filesystem::path& path) {
  FL_TRY_ASSIGN(source, ByteSource::open(path.string()));
  return read(std::move(source));
}

Result<BlockReader> BlockReader::read(ByteSource source) {
  FL_TRY_ASSIGN(magic, source.peek(kBlocksMagic.size()));
  if (magic.starts_with("FLJ1")) {
    return input_error("{}: a journal of an earlier format, FLJ1; run the simulation again",
                       source.name());
  }
  if (!magic.starts_with(kBlocksMagic)) {
    return input_error("{}: not a Fairlead journal", source.name());
  }
  source.consume(kBlocksMagic.size());
  return BlockReader(std::move(source));
}

BlockReader::BlockReader(ByteSource source)
    : source_(std::move(source)), bytes_(kBlocksMagic.size()), context_(ZSTD_createDCtx()) {
  FL_CHECK(context_ != nullptr, "zstd has no memory");
}

BlockReader::BlockReader(BlockReader&&) noexcept = default;
BlockReader::~BlockReader() = default;

void BlockReader::FreeContext::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

Result<BlockReader::Seen> BlockReader::look() {
  Seen seen;
  FL_TRY_ASSIGN(head, source_.peek(kBlockHeaderBytes));
  if (head.size() < kBlockHeaderBytes) return seen;
  const BlockHeader header = get_block_header(head);
  seen.header = header;
  const std::size_t longest = ZSTD_compressBound(kBlockBytesMax);
  if (header.number == 0 || header.number > blocks_ + kBlocksAhead || header.length > longest) {
    return seen;
  }
  const std::size_t size = kBlockHeaderBytes + header.length;
  FL_TRY_ASSIGN(bytes, source_.peek(size));
  if (bytes.size() < size) return seen;
  seen.frame = bytes.substr(kBlockHeaderBytes, header.length);
  seen.whole = crc_of_block(bytes.substr(0, size)) == header.crc;
  return seen;
}

Result<std::optional<Block>> BlockReader::next() {
  FL_TRY_ASSIGN(seen, look());
  if (!seen.whole) {
    if (seen.header && seen.header->number == blocks_ + 1) {
      rest_.torn_records = seen.header->records;
    }
    FL_TRY(survey());
    if (rest_.blocks == 0) return std::nullopt;
    return damage(fmt::format("it is not whole, and whole blocks follow ({})", rest_.blocks));
  }
  const BlockHeader header = *seen.header;
  StreamHash hash = hash_;
  std::string wrong;
  if (header.number != blocks_ + 1) {
    wrong = fmt::format("block {} stands in its place", header.number);
  } else if (!decompress(seen.frame)) {
    wrong = "its content cannot be decompressed";
  } else if (hash.add(content_); hash.value() != header.hash) {
    wrong = "it does not continue the blocks before it";
  }
  if (!wrong.empty()) {
    FL_TRY(survey());
    return damage(wrong);
  }
  source_.consume(kBlockHeaderBytes + header.length);
  bytes_ += kBlockHeaderBytes + header.length;
  ++blocks_;
  hash_ = hash;
  return Block{.content = content_, .records = header.records};
}

tl::unexpected<Error> BlockReader::damage(std::string_view what) {
  damaged_ = true;
  return input_error("{}: damaged at byte {}, in block {}: {}", name(), bytes_, blocks_ + 1, what);
}

// Scans the rest for whole blocks, at any offset.
Status BlockReader::survey() {
  for (;;) {
    FL_TRY_ASSIGN(seen, look());
    if (seen.whole) {
      ++rest_.blocks;
      rest_.records += seen.header->records;
    }
    const std::size_t step = seen.whole ? kBlockHeaderBytes + seen.header->length : 1;
    FL_TRY_ASSIGN(left, source_.peek(step));
    if (left.empty()) return {};
    source_.consume(step);
    rest_.bytes += step;
  }
}

bool BlockReader::decompress(std::string_view frame) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == 0 || size > kBlockBytesMax) return false;  // unknown and wrong are larger
  content_.resize(size);
  const std::size_t count = ZSTD_decompressDCtx(context_.get(), content_.data(), content_.size(),
                                                frame.data(), frame.size());
  return count == size;  // an error is larger
}

}  // namespace fairlead
