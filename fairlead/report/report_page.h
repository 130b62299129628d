// A report as one self-contained HTML file: the page with the data inside.
//
// The data replaces kReportPlaceholder in the page, as base64 of gzip. So no byte of it, for example in a job's or
// user's name, is read as markup. Memory is bounded by buffers; equal pages and data give an equal file with one
// version of zlib.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace fairlead {

constexpr std::string_view kReportPlaceholder = "__FAIRLEAD_REPORT_DATA__";

// Returns the page that the program has: web/built/report.html.
std::string_view report_page_text();

class ReportPage {
 public:
  // `page` must outlive it. Errors: the file cannot be created, or the page does not contain the placeholder exactly
  // once.
  static Result<ReportPage> create(const std::filesystem::path& path, std::string_view page);
  ReportPage(ReportPage&&) noexcept;
  ~ReportPage();

  // Appends to the data. A failure appears at commit().
  void write(std::string_view data);
  // Makes the file appear. Returns its bytes. REQUIRES: called once, last.
  Result<std::int64_t> commit();

 private:
  struct Gzip;
  ReportPage(OutputFile file, std::string_view page, std::size_t placeholder_at);
  void compress(std::string_view data, bool last);
  void write_base64(std::string_view bytes, bool last);
  void write_text(std::string_view text);

  OutputFile file_;
  std::string_view rest_of_page_;
  std::unique_ptr<Gzip> gzip_;
  std::string waiting_;  // less than three bytes, which base64 encodes together
  std::int64_t bytes_ = 0;
};

}  // namespace fairlead
