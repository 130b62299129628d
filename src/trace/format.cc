#include "fairlead/trace/format.h"

#include "fairlead/base/parse.h"
#include "fairlead/trace/readers/readers.h"

#include <algorithm>
#include <string>

namespace fairlead {
namespace {

constexpr const TraceFormat* kFormats[] = {
    &kNativeFormat, &kTiresiasFormat, &kGavelFormat,      &kPhillyFormat,
    &kHeliosFormat, &kAcmeFormat,     &kPaiFormat,        &kOpenbFormat,
    &kSacctFormat,  &kSwfFormat,      &kNormalizedFormat,
};

std::string_view unquoted(std::string_view field) {
  field = trimmed(field);
  if (field.size() < 2 || !field.starts_with('"') || !field.ends_with('"')) return field;
  return field.substr(1, field.size() - 2);
}

}  // namespace

TraceHead::TraceHead(std::string_view bytes) : bytes_(bytes) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (bytes_.starts_with(kByteOrderMark)) bytes_.remove_prefix(kByteOrderMark.size());
  line_ = bytes_.substr(0, bytes_.find('\n'));
  if (line_.ends_with('\r')) line_.remove_suffix(1);
}

char TraceHead::first_byte() const {
  const std::size_t at = bytes_.find_first_not_of(" \t\r\n");
  return at == bytes_.npos ? '\0' : bytes_[at];
}

std::vector<std::string_view> TraceHead::fields(char separator) const {
  std::vector<std::string_view> fields;
  for (std::string_view rest = line_;;) {
    const std::size_t end = rest.find(separator);
    fields.push_back(unquoted(rest.substr(0, end)));
    if (end == rest.npos) return fields;
    rest.remove_prefix(end + 1);
  }
}

bool TraceHead::has(char separator, std::initializer_list<std::string_view> names) const {
  const std::vector<std::string_view> found = fields(separator);
  return std::ranges::all_of(
      names, [&](std::string_view name) { return std::ranges::find(found, name) != found.end(); });
}

std::span<const TraceFormat* const> all_formats() { return kFormats; }

const TraceFormat* find_format(std::string_view name) {
  const auto* const found = std::ranges::find(kFormats, name, &TraceFormat::name);
  return found == std::end(kFormats) ? nullptr : *found;
}

std::string_view format_names() {
  static const std::string kNames = [] {
    std::string names;
    for (const TraceFormat* format : kFormats) names.append("|").append(format->name);
    return names.substr(1);
  }();
  return kNames;
}

const TraceFormat* format_of(std::string_view head) {
  const TraceHead begin(head);
  const TraceFormat* best = nullptr;
  for (const TraceFormat* format : kFormats) {
    if (best != nullptr && best->rank <= format->rank) continue;
    if (format->is(begin)) best = format;
  }
  return best;
}

}  // namespace fairlead
