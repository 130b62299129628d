#include "fairlead/journal/block_repair.h"

#include "fairlead/journal/block_header.h"
#include "fairlead/journal/journal.h"

#include <zstd.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace fairlead {
namespace {

constexpr std::size_t kNumberAt = 12;  // in a header

struct ByteChange {
  std::size_t at = 0;
  char by = 0;  // undoes the change, by exclusive or
};

// Returns the changes of one byte after which the block's check value is right.
std::vector<ByteChange> changes_of(std::string_view block) {
  std::vector<ByteChange> changes;
  const std::uint32_t differs = crc_of_block(block) ^ get_block_header(block).crc;
  for (std::size_t i = 0; i < kBlockCrcBytes; ++i) {
    const std::uint32_t byte = (differs >> (8 * i)) & 255;
    if (byte << (8 * i) == differs) changes.push_back({i, static_cast<char>(byte)});
  }
  std::uint32_t left = differs;
  for (std::size_t at = block.size(); at-- > kBlockCrcBytes;) {
    left = crc32c_step_back(left);
    if (left < 256) changes.push_back({at, static_cast<char>(left)});
  }
  return changes;
}

// The part of a journal whose blocks verify.
struct Reach {
  std::size_t bytes = 0;
  std::uint64_t blocks = 0;
  bool is_all = false;
};

Reach reach_of(std::string_view bytes) {
  Result<ByteSource> source = ByteSource::memory(bytes, "");
  if (!source) return {};
  Result<BlockReader> reader = BlockReader::read(*std::move(source));
  if (!reader) return {};
  Result<std::optional<Block>> block;
  while ((block = reader->next()) && *block) {
  }
  return {reader->bytes(), reader->blocks(), reader->bytes() == bytes.size()};
}

// Returns the size of the whole block at the front; 0: there is none.
std::size_t whole_block(std::string_view bytes) {
  if (bytes.size() < kBlockHeaderBytes) return 0;
  const BlockHeader header = get_block_header(bytes);
  if (header.number == 0 || header.length > bytes.size() - kBlockHeaderBytes) return 0;
  const std::size_t size = kBlockHeaderBytes + header.length;
  return crc_of_block(bytes.substr(0, size)) == header.crc ? size : 0;
}

class BlockRepairer {
 public:
  explicit BlockRepairer(std::string& bytes) : bytes_(bytes) {}

  BlockRepair run() && {
    if (!restore_magic()) return {};
    for (reach_ = reach_of(bytes_); !reach_.is_all; reach_ = reach_of(bytes_)) {
      if (!restore_block() && !drop_between()) break;
    }
    return std::move(repair_);
  }

 private:
  // Returns true if the file begins like a journal, if need be after a repair.
  bool restore_magic() {
    if (bytes_.size() < kBlocksMagic.size()) return false;
    const std::string was = bytes_.substr(0, kBlocksMagic.size());
    if (was == kBlocksMagic) return true;
    std::size_t changed = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < was.size(); ++i) {
      if (was[i] == kBlocksMagic[i]) continue;
      ++changed;
      at = i;
    }
    if (changed > 1) return false;
    bytes_.replace(0, was.size(), kBlocksMagic);
    if (reach_of(bytes_).blocks == 0) {  // there is no evidence that it is a journal
      bytes_.replace(0, was.size(), was);
      return false;
    }
    repair_.restored.push_back(at);
    return true;
  }

  // Restores the first block that does not verify, with the length in its header, or that of its frame.
  bool restore_block() {
    const std::string_view rest = std::string_view(bytes_).substr(reach_.bytes);
    if (rest.size() <= kBlockHeaderBytes) return false;
    const std::size_t room = rest.size() - kBlockHeaderBytes;
    const std::size_t frame =
        ZSTD_findFrameCompressedSize(rest.data() + kBlockHeaderBytes, room);  // an error is larger
    const std::size_t said = get_block_header(rest).length;
    if (said <= room && restore(kBlockHeaderBytes + said)) return true;
    return frame <= room && frame != said && restore(kBlockHeaderBytes + frame);
  }

  bool restore(std::size_t size) {
    const std::string_view block = std::string_view(bytes_).substr(reach_.bytes, size);
    for (const ByteChange& change : changes_of(block)) {
      char& byte = bytes_[reach_.bytes + change.at];
      byte = static_cast<char>(byte ^ change.by);
      if (change.by != 0 && reach_of(bytes_).bytes > reach_.bytes) {
        repair_.restored.push_back(reach_.bytes + change.at);
        return true;
      }
      byte = static_cast<char>(byte ^ change.by);
    }
    return false;
  }

  // Drops strange bytes in front of the next block of the chain.
  bool drop_between() {
    std::string number;
    for (std::size_t i = 0; i < 8; ++i) {
      number.push_back(static_cast<char>((reach_.blocks + 1) >> (8 * i)));
    }
    std::size_t at = reach_.bytes + kNumberAt;
    while ((at = bytes_.find(number, at + 1)) != std::string::npos) {
      const std::size_t begin = at - kNumberAt;
      if (whole_block(std::string_view(bytes_).substr(begin)) == 0) continue;
      std::string without = bytes_;
      without.erase(reach_.bytes, begin - reach_.bytes);
      if (reach_of(without).bytes <= reach_.bytes) continue;
      repair_.dropped += begin - reach_.bytes;
      bytes_ = std::move(without);
      return true;
    }
    return false;
  }

  std::string& bytes_;
  Reach reach_;
  BlockRepair repair_;
};

struct Arrivals : RecordSink {
  void on(const Record& record) override {
    if (std::holds_alternative<record::Arrived>(record.what)) ++count;
  }
  std::uint64_t count = 0;
};

// Returns the content of a whole block; empty: it has none.
std::vector<std::uint8_t> content_of(std::string_view block) {
  const std::string_view frame = block.substr(kBlockHeaderBytes);
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == 0 || size > kBlockBytesMax) return {};  // unknown and wrong are larger
  std::vector<std::uint8_t> content(size);
  const std::size_t count =
      ZSTD_decompress(content.data(), content.size(), frame.data(), frame.size());
  return count == size ? content : std::vector<std::uint8_t>();
}

}  // namespace

BlockRepair repair_blocks(std::string& bytes) { return BlockRepairer(bytes).run(); }

LostRecords lost_records(std::string_view rest) {
  LostRecords lost;
  Arrivals arrivals;
  while (!rest.empty()) {
    const std::size_t size = whole_block(rest);
    if (size > 0) {
      // The time of a block's first record counts from the last of the block before.
      RecordDecoder decoder;
      const std::vector<std::uint8_t> content = content_of(rest.substr(0, size));
      if (decoder.decode(Reader(content), arrivals)) lost.span += decoder.last() - Time{};
      lost.last = std::max(lost.last, get_block_header(rest).number);
    }
    rest.remove_prefix(std::max<std::size_t>(size, 1));
  }
  lost.jobs = arrivals.count;
  return lost;
}

}  // namespace fairlead
