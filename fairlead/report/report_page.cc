#include "fairlead/report/report_page.h"

#include "fairlead/base/check.h"
#include "fairlead/base/embedded_file.h"

#include <zlib.h>

#include <array>
#include <span>

namespace fairlead {

std::span<const EmbeddedFile> embedded_report_page();

namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

struct ReportPage::Gzip {
  Gzip() {
    constexpr int kGzipHeader = 16;
    constexpr int kMemory = 9;
    const int status = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                    MAX_WBITS + kGzipHeader, kMemory, Z_DEFAULT_STRATEGY);
    FL_CHECK(status == Z_OK, "zlib: {}", status);
  }
  ~Gzip() { deflateEnd(&stream); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  z_stream stream = {};
};

std::string_view report_page_text() { return embedded_report_page().front().text; }

Result<ReportPage> ReportPage::create(const std::filesystem::path& path, std::string_view page) {
  const std::size_t at = page.find(kReportPlaceholder);
  if (at == std::string_view::npos || page.find(kReportPlaceholder, at + 1) != page.npos) {
    return input_error("a report page contains {} exactly once", kReportPlaceholder);
  }
  FL_TRY_ASSIGN(file, OutputFile::create(path));
  return ReportPage(std::move(file), page, at);
}

ReportPage::ReportPage(OutputFile file, std::string_view page, std::size_t placeholder_at)
    : file_(std::move(file)),
      rest_of_page_(page.substr(placeholder_at + kReportPlaceholder.size())),
      gzip_(std::make_unique<Gzip>()) {
  write_text(page.substr(0, placeholder_at));
}

ReportPage::ReportPage(ReportPage&&) noexcept = default;
ReportPage::~ReportPage() = default;

void ReportPage::write(std::string_view data) { compress(data, false); }

Result<std::int64_t> ReportPage::commit() {
  compress({}, true);
  write_base64({}, true);
  write_text(rest_of_page_);
  FL_TRY(file_.commit());
  return bytes_;
}

void ReportPage::compress(std::string_view data, bool last) {
  z_stream& stream = gzip_->stream;
  std::array<char, 1 << 16> compressed;
  // zlib does not write to its input, despite its type.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  do {
    stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
    stream.avail_out = static_cast<uInt>(compressed.size());
    const int status = deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    FL_CHECK(status != Z_STREAM_ERROR);
    write_base64({compressed.data(), compressed.size() - stream.avail_out}, false);
  } while (stream.avail_out == 0);
}

void ReportPage::write_base64(std::string_view bytes, bool last) {
  waiting_ += bytes;
  std::string text;
  text.reserve(waiting_.size() / 3 * 4 + 4);
  const auto byte = [&](std::size_t i) {
    return i < waiting_.size() ? static_cast<unsigned char>(waiting_[i]) : 0U;
  };
  std::size_t done = 0;
  for (; done + 3 <= waiting_.size() || (last && done < waiting_.size()); done += 3) {
    const unsigned group = byte(done) << 16 | byte(done + 1) << 8 | byte(done + 2);
    for (int shift = 18; shift >= 0; shift -= 6) text += kBase64[group >> shift & 63];
  }
  // Each '=' in a group that is not full stands for a missing byte.
  for (std::size_t i = waiting_.size(); i < done; ++i) text[text.size() - (done - i)] = '=';
  waiting_.erase(0, std::min(done, waiting_.size()));
  write_text(text);
}

void ReportPage::write_text(std::string_view text) {
  file_.write(text);
  bytes_ += static_cast<std::int64_t>(text.size());
}

}  // namespace fairlead
