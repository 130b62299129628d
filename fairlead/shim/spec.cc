#include "fairlead/shim/spec.h"

#include <charconv>

namespace fairlead::shim {
namespace {

// Every field is a text that ends with a NUL; a list is its length and its items.
class Writer {
 public:
  void operator()(const std::string& text) { (bytes_ += text) += '\0'; }
  void operator()(std::uint64_t number) { (*this)(std::to_string(number)); }
  template <class T>
  void operator()(const std::vector<T>& list) {
    (*this)(std::uint64_t{list.size()});
    for (const T& item : list) (*this)(item);
  }
  std::string bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  void operator()(std::string& text) {
    const auto end = rest_.find('\0');
    if (end == rest_.npos) {
      is_good_ = false;
      return;
    }
    text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
  }
  template <class Number>
  requires std::is_integral_v<Number>
  void operator()(Number& number) {
    std::string text;
    (*this)(text);
    std::uint64_t read = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
    is_good_ &= error == std::errc() && end == text.data() + text.size();
    number = static_cast<Number>(read);
    is_good_ &= static_cast<std::uint64_t>(number) == read;
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    std::uint64_t size = 0;
    (*this)(size);
    is_good_ &= size <= rest_.size();  // an item has a byte at least
    for (std::uint64_t i = 0; i < size && is_good_; ++i) (*this)(list.emplace_back());
  }
  bool read_all() const { return is_good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

// The fields, in the order in which they are written.
void each_field(auto& spec, auto&& visit) {
  visit(spec.folder);
  visit(spec.cgroup);
  visit(spec.limit_groups);
  visit(spec.becomes_user);
  visit(spec.uid);
  visit(spec.gid);
  visit(spec.groups);
  visit(spec.umask);
  visit(spec.open_files);
  visit(spec.limits);
  visit(spec.niceness);
  visit(spec.processes);
  visit(spec.has_terminal);
  visit(spec.has_input);
  visit(spec.directory);
  visit(spec.command);
  visit(spec.environment);
}

}  // namespace

std::string encode(const Spec& spec) {
  Writer writer;
  each_field(spec, writer);
  return std::move(writer).bytes();
}

std::optional<Spec> decode(std::string_view bytes) {
  Spec spec;
  Reader reader(bytes);
  each_field(spec, reader);
  if (!reader.read_all()) return std::nullopt;
  return spec;
}

}  // namespace fairlead::shim
