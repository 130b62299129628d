// The journal on disk: one zstd stream of "FLJ1" and the encoded records.

#include "fairlead/base/file.h"

#include "fairlead/base/hash.h"
#include "fairlead/journal/journal.h"

#include <zstd.h>

#include <utility>

namespace fairlead {
namespace {

constexpr std::string_view kMagic = "FLJ1";
constexpr std::size_t kFlushBytes = std::size_t{1} << 16;

}  // namespace

struct JournalFile::Output {
  explicit Output(OutputFile opened) : file(std::move(opened)), stream(ZSTD_createCCtx()) {
    // The fastest level: the journal is written while the simulation waits.
    ZSTD_CCtx_setParameter(stream, ZSTD_c_compressionLevel, 1);
    FL_CHECK(stream != nullptr, "zstd has no memory");
    compressed.resize(ZSTD_CStreamOutSize());
  }
  ~Output() { ZSTD_freeCCtx(stream); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(const void* bytes, std::size_t size, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in{bytes, size, 0};
    std::size_t left = 0;
    do {
      ZSTD_outBuffer out{compressed.data(), compressed.size(), 0};
      left = ZSTD_compressStream2(stream, &out, &in, directive);
      FL_CHECK(!ZSTD_isError(left), "zstd: {}", ZSTD_getErrorName(left));
      file.write({compressed.data(), out.pos});
    } while (directive == ZSTD_e_end ? left != 0 : in.pos < in.size);
  }

  OutputFile file;
  ZSTD_CCtx* stream;
  std::vector<char> compressed;
};

JournalFile::JournalFile() : hash_(kHashStart) {}
JournalFile::JournalFile(JournalFile&&) noexcept = default;
JournalFile::~JournalFile() = default;

Result<JournalFile> JournalFile::create(const std::filesystem::path& path) {
  FL_TRY_ASSIGN(file, OutputFile::create(path));
  JournalFile journal;
  journal.output_ = std::make_unique<Output>(std::move(file));
  journal.output_->write(kMagic.data(), kMagic.size(), ZSTD_e_continue);
  return journal;
}

void JournalFile::on(const Record& record) {
  FL_CHECK(!closed_, "a record follows the end of the journal");
  encode_record(buffer_, record, last_);
  last_ = record.t;
  if (buffer_.bytes().size() >= kFlushBytes) flush();
}

void JournalFile::flush() {
  hash_ = hash_bytes(hash_, buffer_.bytes());
  if (output_) output_->write(buffer_.bytes().data(), buffer_.bytes().size(), ZSTD_e_continue);
  buffer_.clear();
}

Status JournalFile::close() {
  FL_CHECK(!std::exchange(closed_, true), "the journal is closed twice");
  flush();
  if (!output_) return {};
  output_->write(nullptr, 0, ZSTD_e_end);
  const std::unique_ptr<Output> output = std::move(output_);
  return output->file.commit();
}

std::string JournalFile::hash() const {
  FL_CHECK(closed_, "the journal may go on");
  return fmt::format("{:016x}", hash_);
}

Status read_journal(const std::filesystem::path& path, RecordSink& sink) {
  FL_TRY_ASSIGN(source, ByteSource::open(path.string()));
  std::vector<std::uint8_t> records;
  for (;;) {
    FL_TRY_ASSIGN(bytes, source.peek(kFlushBytes));
    if (bytes.empty()) break;
    records.insert(records.end(), bytes.begin(), bytes.end());
    source.consume(bytes.size());
  }
  if (records.size() < kMagic.size() ||
      !std::equal(kMagic.begin(), kMagic.end(), records.begin())) {
    return input_error("{}: not a Fairlead journal", path.string());
  }
  const Reader reader({records.data() + kMagic.size(), records.size() - kMagic.size()});
  if (Status status = decode_journal(reader, sink); !status) {
    return input_error("{}: {}", path.string(), status.error().message);
  }
  return {};
}

}  // namespace fairlead
