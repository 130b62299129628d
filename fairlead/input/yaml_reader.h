// YAML with errors that give the position (file:line:column), the valid values, and last the offending value.
//
// A YamlNode is one value of a document together with the name of its file. yaml-cpp throws;
// nothing that goes through here does. Every accessor checks, so a reader is a list of its
// expectations. Keys that a reader does not name are errors, and so are keys that occur twice.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Inclusive bounds of a number in a file.
struct IntegerBounds {
  std::int64_t min;
  std::int64_t max;
};
struct RealBounds {
  double min;
  double max;
};

// Returns the whole text of a source, valid as long as the source. Error: longer than kYamlBytesMax.
constexpr std::size_t kYamlBytesMax = std::size_t{1} << 24;
Result<std::string_view> yaml_text(ByteSource& source);

class YamlNode {  // NOLINT(bugprone-exception-escape): moving it does not throw
 public:
  // The document of `text`. `file` names it in errors. Error: a second document with content.
  static Result<YamlNode> parse(std::string_view text, std::string_view file);

  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_scalar() const { return node_.IsScalar(); }
  // Null, or a word without a character.
  bool is_empty() const { return node_.IsNull() || (is_scalar() && node_.Scalar().empty()); }

  // Error: this is not a map, has a key that is not among `keys`, or has one twice.
  Status expect_keys(std::initializer_list<std::string_view> keys) const;
  std::optional<YamlNode> find(std::string_view key) const;
  // Error: the key is missing.
  Result<YamlNode> get(std::string_view key) const;
  struct Pair;
  // The keys and values of a map, in file order. Error: not a map, or a key twice.
  Result<std::vector<Pair>> pairs() const;
  // The items of a list, in order. Error: not a list, or an empty one.
  Result<std::vector<YamlNode>> items() const;

  // Error: not a scalar, or empty.
  Result<std::string> text() const;
  // Errors of numbers: out of bounds, or with leading zeros.
  Result<std::int64_t> integer(IntegerBounds bounds) const;
  Result<double> real(RealBounds bounds) const;

  // "FILE:LINE:COLUMN".
  std::string where() const;
  // "FILE:LINE:COLUMN: WHAT".
  tl::unexpected<Error> error(std::string_view what) const;
  // Returns the error "FILE:LINE:COLUMN: WHAT: VALUE" with this scalar or the kind of this node.
  tl::unexpected<Error> bad_value(std::string_view what) const;

 private:
  YamlNode(const YAML::Node& node, std::string_view file) : node_(node), file_(file) {}

  YAML::Node node_;
  std::string file_;
};

struct YamlNode::Pair {  // NOLINT(bugprone-exception-escape)
  std::string key;
  YamlNode value;
};

}  // namespace fairlead
