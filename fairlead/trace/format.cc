#include "fairlead/trace/format.h"

#include "fairlead/base/nearest.h"
#include "fairlead/base/parse.h"
#include "fairlead/trace/readers/readers.h"
#include "fairlead/trace/table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace fairlead {
namespace {

constexpr const TraceFormat* kFormats[] = {
    &kNativeFormat, &kTiresiasFormat, &kGavelFormat,      &kPhillyFormat, &kHeliosFormat,
    &kAcmeFormat,   &kPaiFormat,      &kOpenbFormat,      &kDlrmFormat,   &kSpotFormat,
    &kSacctFormat,  &kSwfFormat,      &kNormalizedFormat, &kTableFormat,
};

std::string_view unquoted(std::string_view field) {
  field = trimmed(field);
  if (field.size() < 2 || !field.starts_with('"') || !field.ends_with('"')) return field;
  return field.substr(1, field.size() - 2);
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// The fields of `needs` that are in `fields`, and the missing ones.
struct Likeness {
  std::size_t has = 0;
  std::vector<std::string_view> lacks;
};

Likeness likeness_of(std::string_view needs, const std::vector<std::string_view>& fields) {
  Likeness likeness;
  while (!needs.empty()) {
    const std::string_view name = needs.substr(0, needs.find(','));
    needs.remove_prefix(std::min(name.size() + 1, needs.size()));
    const bool has = std::ranges::any_of(
        fields, [&](std::string_view field) { return equal_but_for_case(field, name); });
    likeness.has += has ? 1 : 0;
    if (!has) likeness.lacks.push_back(name);
  }
  return likeness;
}

}  // namespace

TraceHead::TraceHead(std::string_view bytes) : bytes_(bytes) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (bytes_.starts_with(kByteOrderMark)) bytes_.remove_prefix(kByteOrderMark.size());
  if (bytes_.starts_with("sep="))
    bytes_.remove_prefix(std::min(bytes_.find('\n'), bytes_.size() - 1) + 1);
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

char TraceHead::separator() const {
  constexpr std::string_view kSeparators = ",;\t|";
  std::array<std::size_t, kSeparators.size()> counts{};
  bool quoted = false;
  for (const char c : line_) {
    if (c == '"') quoted = !quoted;
    const std::size_t which = kSeparators.find(c);
    if (!quoted && which != kSeparators.npos) ++counts[which];
  }
  return kSeparators[static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin())];
}

bool TraceHead::is_ruled() const {
  const std::size_t end = bytes_.find('\n');
  if (end == bytes_.npos) return false;
  std::string_view rule = bytes_.substr(end + 1);
  rule = rule.substr(0, rule.find_first_of("\r\n"));
  return rule.starts_with('-') && rule.find_first_not_of("- ") == rule.npos;
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

std::string_view instead_of_a_trace(std::string_view head) {
  if (head.empty()) return "the file is empty";
  if (head.starts_with("PK"))
    return "this is an Excel workbook or an archive: save the sheet as CSV";
  if (head.starts_with("PAR1")) return "this is a Parquet file: write it as CSV";
  const TraceHead begin(head);
  if (begin.first_byte() == '<') return "this is HTML or XML: save the table as CSV";
  return {};
}

std::string nearest_format(std::string_view head) {
  const TraceHead begin(head);
  const std::vector<std::string_view> fields = begin.fields(begin.separator());
  const TraceFormat* nearest = nullptr;
  Likeness best;
  for (const TraceFormat* format : kFormats) {
    Likeness likeness = likeness_of(format->needs, fields);
    if (format == &kTableFormat) {
      likeness.has += likeness.lacks.size();
      likeness.lacks = table_lacks(fields);
      likeness.has -= likeness.lacks.size();
    }
    if (likeness.has < 2 || likeness.has <= best.has) continue;
    best = std::move(likeness);
    nearest = format;
  }
  if (nearest == nullptr) return {};
  if (best.lacks.empty()) return fmt::format("it is like {}, but in another form", nearest->name);
  std::string text = fmt::format("it is like {}, but lacks ", nearest->name);
  for (const std::string_view name : best.lacks) {
    text += fmt::format("{}{}{}", name == best.lacks.front() ? "" : ", ", name,
                        did_you_mean(fields, name));
  }
  return text;
}

}  // namespace fairlead
