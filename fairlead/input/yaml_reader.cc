#include "fairlead/input/yaml_reader.h"

#include "fairlead/base/parse.h"

#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>

namespace fairlead {
namespace {

std::string position(std::string_view file, const YAML::Mark& mark) {
  if (mark.is_null()) return fmt::format("{}:1:1", file);
  return fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1);
}

// Finds numbers such as 010, which is 8 for some readers of YAML and 10 for others.
bool has_leading_zero(std::string_view number) {
  number = trimmed(number);
  if (number.starts_with('-') || number.starts_with('+')) number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9';
}

// The positions at which the last document of a parser starts, and its content, if there is any.
class DocumentMarks final : public YAML::EventHandler {
 public:
  YAML::Mark start = YAML::Mark::null_mark();
  YAML::Mark content = YAML::Mark::null_mark();

  void OnDocumentStart(const YAML::Mark& mark) override {
    start = mark;
    content = YAML::Mark::null_mark();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { on_content(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    on_content(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    on_content(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    on_content(mark);
  }
  void OnMapEnd() override {}

 private:
  void on_content(const YAML::Mark& mark) {
    if (content.is_null()) content = mark;
  }
};

// Checks that nothing but empty documents follows the first one.
Status expect_one_document(const std::string& text, std::string_view file) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentMarks marks;
  parser.HandleNextDocument(marks);
  for (YAML::Mark last = marks.start; parser.HandleNextDocument(marks); last = marks.start) {
    if (marks.start.pos == last.pos) {  // if no further document can start, the parser stays
      return input_error("{}: not valid YAML: no value can start here", position(file, last));
    }
    if (marks.content.is_null()) continue;
    return input_error("{}: a file must have one YAML document; a second one starts here",
                       position(file, marks.content));
  }
  return {};
}

constexpr std::string_view kNoLeadingZeros = "expected a number without leading zeros";

}  // namespace

Result<std::string_view> yaml_text(ByteSource& source) {
  FL_TRY_ASSIGN(text, source.peek(kYamlBytesMax + 1));
  if (text.size() <= kYamlBytesMax) return text;
  return input_error("{}: a YAML file has at most {} bytes", source.name(), kYamlBytesMax);
}

Result<YamlNode> YamlNode::parse(std::string_view text, std::string_view file) {
  try {
    const std::string owned(text);
    const YAML::Node document = YAML::Load(owned);
    FL_TRY(expect_one_document(owned, file));
    return YamlNode(document, file);
  } catch (const YAML::Exception& e) {
    return input_error("{}: not valid YAML: {}", position(file, e.mark), e.msg);
  }
}

std::string YamlNode::where() const { return position(file_, node_.Mark()); }

tl::unexpected<Error> YamlNode::error(std::string_view what) const {
  return input_error("{}: {}", where(), what);
}

tl::unexpected<Error> YamlNode::bad_value(std::string_view what) const {
  const std::string_view kind = is_map() ? "a map" : is_list() ? "a list" : "nothing";
  return error(fmt::format("{}: {}", what, is_scalar() ? std::string_view(node_.Scalar()) : kind));
}

Result<std::vector<YamlNode::Pair>> YamlNode::pairs() const {
  if (!is_map()) return bad_value("expected a map of keys and values");
  std::vector<Pair> pairs;
  for (const auto& entry : node_) {
    const YamlNode key(entry.first, file_);
    FL_TRY_ASSIGN(name, key.text());
    if (std::ranges::find(pairs, name, &Pair::key) != pairs.end()) {
      return key.bad_value("this key occurs twice");
    }
    pairs.push_back(Pair{std::move(name), YamlNode(entry.second, file_)});
  }
  return pairs;
}

Status YamlNode::expect_keys(std::initializer_list<std::string_view> keys) const {
  FL_TRY(pairs());
  for (const auto& entry : node_) {
    if (std::ranges::find(keys, entry.first.Scalar()) == keys.end()) {
      return YamlNode(entry.first, file_)
          .bad_value(fmt::format("unknown key; known here are {}", fmt::join(keys, ", ")));
    }
  }
  return {};
}

std::optional<YamlNode> YamlNode::find(std::string_view key) const {
  if (!is_map()) return std::nullopt;
  for (const auto& entry : node_) {
    if (entry.first.IsScalar() && entry.first.Scalar() == key) return YamlNode(entry.second, file_);
  }
  return std::nullopt;
}

Result<YamlNode> YamlNode::get(std::string_view key) const {
  if (std::optional<YamlNode> value = find(key)) return *std::move(value);
  return error(fmt::format("the key is missing here: {}", key));
}

Result<std::vector<YamlNode>> YamlNode::items() const {
  if (!is_list() || node_.size() == 0) return bad_value("expected a list with at least one item");
  std::vector<YamlNode> items;
  for (const auto& item : node_) items.push_back(YamlNode(item, file_));
  return items;
}

Result<std::string> YamlNode::text() const {
  if (!is_scalar() || node_.Scalar().empty()) return bad_value("expected a word");
  return node_.Scalar();
}

Result<std::int64_t> YamlNode::integer(IntegerBounds bounds) const {
  const std::string text = is_scalar() ? node_.Scalar() : "";
  if (has_leading_zero(text)) return bad_value(kNoLeadingZeros);
  const Parsed<std::int64_t> number = parse_integer(text);
  if (number && *number >= bounds.min && *number <= bounds.max) return *number;
  return bad_value(fmt::format("expected a whole number from {} to {}", bounds.min, bounds.max));
}

Result<double> YamlNode::real(RealBounds bounds) const {
  const std::string text = is_scalar() ? node_.Scalar() : "";
  if (has_leading_zero(text)) return bad_value(kNoLeadingZeros);
  const Parsed<double> number = parse_number(text);
  if (number && *number >= bounds.min && *number <= bounds.max) return *number;
  return bad_value(fmt::format("expected a number from {} to {}", bounds.min, bounds.max));
}

}  // namespace fairlead
