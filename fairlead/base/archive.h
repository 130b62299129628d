// Archive: writes the fields of a list, or reads them.
//
// A type with saved state has one list of its fields, which saves and loads them:
//
//   void fields(Archive& archive) { archive(rounds_, wake_, waiting_); }
//
// base/bytes.h defines the encodings. A container is its size, then its elements; an array has no size. Like a Reader,
// a reading archive never trusts its input: a value out of range makes the reader !ok(). A writing archive changes no
// field.
#pragma once

#include "fairlead/base/bytes.h"

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead {

class Archive;

template <class T>
concept HasFields = requires(T& value, Archive& archive) {
  value.fields(archive);
};

class Archive {
 public:
  explicit Archive(Writer& out) : out_(&out) {}
  explicit Archive(Reader& in) : in_(&in) {}

  bool reads() const { return in_ != nullptr; }
  bool ok() const { return out_ != nullptr || in_->ok(); }
  // Fails the reader if the fields read so far make no sense.
  void expect(bool makes_sense) {
    if (reads() && !makes_sense) in_->fail();
  }

  template <class... T>
  void operator()(T&... fields) {
    (field(fields), ...);
  }
  // Archives an enumerator from 0 to `last`.
  template <class Enum>
  void enumerator(Enum& value, Enum last) {
    auto number = static_cast<std::uint64_t>(value);
    field(number);
    expect(number <= static_cast<std::uint64_t>(last));
    if (ok()) value = static_cast<Enum>(number);
  }
  // Archives a container; archive_element(element) archives each element.
  template <class Container, class ArchiveElement>
  void elements(Container& container, ArchiveElement archive_element) {
    std::uint64_t left = container.size();
    field(left);
    if (!reads()) {
      for (auto& element : container) archive_element(element);
      return;
    }
    for (container.clear(); left > 0 && ok(); --left) {
      typename Container::value_type element{};
      archive_element(element);
      if (ok()) container.push_back(std::move(element));
    }
  }
  // Archives a number of items. Fails the reader if fewer bytes are left than items.
  void size(std::uint64_t& count) {
    field(count);
    expect(!reads() || count <= in_->left());
    if (!ok()) count = 0;
  }
  // Archives the elements of a container of that size, but not the size.
  template <class Container>
  void sized(Container& container, std::uint64_t count) {
    if (reads()) container.resize(ok() ? count : 0);
    for (auto& element : container) field(element);
  }
  // Archives columns of equal size: the size, then row by row.
  template <class First, class... Columns>
  void rows(First& first, Columns&... columns) {
    std::uint64_t count = first.size();
    size(count);
    if (reads()) (first.resize(count), ..., columns.resize(count));
    auto row = std::make_tuple(first.begin(), columns.begin()...);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::apply([&](auto&... each) { (field(*each++), ...); }, row);
    }
  }
  // Archives ids and a final none; archive_rest(id) archives more of each. Reading ignores `written`.
  template <class IdType, class ArchiveRest>
  void ids(const std::vector<IdType>& written, ArchiveRest archive_rest) {
    for (IdType id : written) {
      field(id);
      archive_rest(id);
    }
    IdType id;
    for (field(id); !id.is_none() && ok(); field(id)) archive_rest(id);
  }

 private:
  void field(bool& value) {
    if (out_ != nullptr) return out_->u64(value ? 1 : 0);
    value = in_->u64() != 0;
  }
  template <std::unsigned_integral T>
  void field(T& value) {
    if (out_ != nullptr) return out_->u64(value);
    const std::uint64_t read = in_->u64();
    expect(read <= std::numeric_limits<T>::max());
    value = static_cast<T>(ok() ? read : 0);
  }
  void field(std::int64_t& value) {
    if (out_ != nullptr) return out_->i64(value);
    value = in_->i64();
  }
  void field(double& value) {
    if (out_ != nullptr) return out_->real(value);
    value = in_->real();
  }
  void field(std::string& value) {
    if (out_ != nullptr) return out_->text(value);
    value = in_->text();
  }
  void field(Time& value) { field(value.ms); }
  void field(Duration& value) { field(value.ms); }
  void field(GpuTime& value) {
    if (out_ != nullptr) return out_->i64(saturated_gpu_ms(value));
    value = {in_->i64()};
  }
  template <class Tag>
  void field(Id<Tag>& value) {
    if (out_ != nullptr) return out_->id(value);
    value = in_->id<Id<Tag>>();
  }
  template <HasFields T>
  void field(T& value) {
    value.fields(*this);
  }
  template <class T, std::size_t kSize>
  void field(std::array<T, kSize>& values) {
    for (T& value : values) field(value);
  }
  template <class First, class Second>
  void field(std::pair<First, Second>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T>
  void field(std::vector<T>& values) {
    elements(values, [this](T& value) { field(value); });
  }
  template <class IdType, class T>
  void field(IdVector<IdType, T>& values) {
    elements(values, [this](T& value) { field(value); });
  }
  template <class Key, class Value>
  void field(std::map<Key, Value>& map) {
    std::vector<std::pair<Key, Value>> entries(map.begin(), map.end());
    field(entries);
    if (reads()) map = {entries.begin(), entries.end()};
  }

  Writer* out_ = nullptr;
  Reader* in_ = nullptr;
};

template <class T>
void save(T&& value, Writer& writer) {
  Archive archive(writer);
  value.fields(archive);
}
// Leaves the reader !ok() if its bytes do not encode a valid value.
template <class T>
void load(T&& value, Reader& reader) {
  Archive archive(reader);
  value.fields(archive);
}

}  // namespace fairlead
