// Journals of any bytes: an error, damage or problems, no crash. Input that begins like a file is
// read as a file. It is read twice: as it is, and with every block sealed, so that the code behind
// the checks is reached too. Other input is read as records.

#include "fairlead/base/crc32c.h"
#include "fairlead/journal/audit.h"

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using fairlead::kBlockHeaderBytes;

void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

// Gives every block its correct number, hash and check value.
std::string sealed(std::string bytes) {
  fairlead::StreamHash hash;
  std::uint64_t number = 0;
  std::size_t begin = fairlead::kBlocksMagic.size();
  while (begin + kBlockHeaderBytes < bytes.size()) {
    const std::size_t frame = begin + kBlockHeaderBytes;
    const std::size_t length = ZSTD_findFrameCompressedSize(&bytes[frame], bytes.size() - frame);
    if (ZSTD_isError(length)) break;
    const unsigned long long size = ZSTD_getFrameContentSize(&bytes[frame], length);
    if (size > fairlead::kBlockBytesMax) break;
    std::string content(size, '\0');
    if (ZSTD_decompress(content.data(), size, &bytes[frame], length) != size) break;
    hash.add({reinterpret_cast<const std::uint8_t*>(content.data()), content.size()});
    put(bytes, begin + 4, length, 4);
    put(bytes, begin + 12, ++number, 8);
    put(bytes, begin + 20, hash.value(), 8);
    const auto* block = reinterpret_cast<const std::uint8_t*>(&bytes[begin]);
    put(bytes, begin, fairlead::crc32c({block + 4, kBlockHeaderBytes - 4 + length}), 4);
    begin = frame + length;
  }
  return bytes;
}

void read_file(std::string_view bytes) {
  auto source = fairlead::ByteSource::memory(bytes, "input");
  auto blocks = fairlead::BlockReader::read(std::move(*source));
  if (!blocks) return;
  fairlead::Audit audit;
  const auto end = fairlead::read_journal(std::move(*blocks), audit);
  using State = fairlead::JournalEnd::State;
  if (!end) __builtin_trap();  // memory can always be read
  if (audit.passed() && end->state != State::kFinished) __builtin_trap();
  if (end->bytes + end->rest.bytes != bytes.size()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (text.starts_with(fairlead::kBlocksMagic)) {
    read_file(text);
    read_file(sealed(std::string(text)));
    return 0;
  }
  fairlead::Audit audit;
  const bool whole = fairlead::decode_journal(fairlead::Reader({bytes, size}), audit).has_value();
  if (audit.passed() && !whole) __builtin_trap();  // a cut journal must not pass
  return 0;
}
