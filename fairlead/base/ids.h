// Dense typed ids and the vectors they index.
//
// An entity (job, node, user, ...) is identified by its row number. Each kind of row has its own
// type, so a NodeId cannot index a table of jobs, and ids have no arithmetic. Ids order by row,
// which for jobs is the order of the input. sizeof(Id) == 4.
#pragma once

#include "fairlead/base/check.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace fairlead {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;  // none
  constexpr explicit Id(std::size_t row) : row_(static_cast<std::uint32_t>(row)) {}

  static constexpr Id none() { return Id(); }
  constexpr bool is_none() const { return row_ == kNone; }
  constexpr std::uint32_t row() const { return row_; }

  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t row_ = kNone;
};

using JobId = Id<struct JobTag>;
using UserId = Id<struct UserTag>;
using GroupId = Id<struct GroupTag>;
using ModelId = Id<struct ModelTag>;
using PartitionId = Id<struct PartitionTag>;
using LabelId = Id<struct LabelTag>;
using NodeId = Id<struct NodeTag>;
using HostId = Id<struct HostTag>;
using RackId = Id<struct RackTag>;
using SwitchId = Id<struct SwitchTag>;
using LinkId = Id<struct LinkTag>;
using GpuTypeId = Id<struct GpuTypeTag>;

// The number of a run of a job (a time in which it has GPUs), from 1; 0: the job has not run yet. Steps and events
// carry it, so that an event of a finished run is not mistaken for one of the current run.
using RunId = std::uint32_t;

// A column: one value per id of one kind. Row i belongs to IdType(i).
template <class IdType, class T>
class IdVector {
 public:
  using value_type = T;

  IdVector() = default;
  explicit IdVector(std::size_t size, const T& value = T()) : rows_(size, value) {}

  // REQUIRES: id is a row of this column.
  decltype(auto) operator[](IdType id) {
    FL_DCHECK(id.row() < rows_.size(), "row {} of {}", id.row(), rows_.size());
    return rows_[id.row()];
  }
  decltype(auto) operator[](IdType id) const {
    FL_DCHECK(id.row() < rows_.size(), "row {} of {}", id.row(), rows_.size());
    return rows_[id.row()];
  }

  IdType push_back(T value) {
    rows_.push_back(std::move(value));
    return IdType(rows_.size() - 1);
  }
  // Returns the value of that row; first extends a short column with default values. REQUIRES: !id.is_none().
  decltype(auto) grow_to(IdType id) {
    FL_CHECK(!id.is_none());
    if (id.row() == rows_.size()) {
      rows_.emplace_back();
    } else if (!has(id)) {
      rows_.resize(id.row() + std::size_t{1});
    }
    return rows_[id.row()];
  }
  void resize(std::size_t size, const T& value = T()) { rows_.resize(size, value); }
  // Reserves room for `size` rows. A column that grows in small steps is still moved rarely.
  void reserve(std::size_t size) {
    if (size > rows_.capacity()) rows_.reserve(std::max(size, 2 * rows_.capacity()));
  }
  void clear() { rows_.clear(); }
  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  bool has(IdType id) const { return id.row() < rows_.size(); }

  auto begin() { return rows_.begin(); }
  auto end() { return rows_.end(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  std::vector<T> rows_;
};

// Iterates over the ids 0..count-1: for (NodeId node : ids<NodeId>(cluster.nodes())) ...
template <class IdType>
class IdRange {
 public:
  explicit IdRange(std::size_t count) : count_(count) {}
  struct Iterator {
    std::size_t row;
    IdType operator*() const { return IdType(row); }
    Iterator& operator++() {
      ++row;
      return *this;
    }
    friend bool operator==(Iterator, Iterator) = default;
  };
  Iterator begin() const { return {0}; }
  Iterator end() const { return {count_}; }

 private:
  std::size_t count_;
};

template <class IdType>
IdRange<IdType> ids(std::size_t count) {
  return IdRange<IdType>(count);
}

}  // namespace fairlead

template <class Tag>
struct std::hash<fairlead::Id<Tag>> {
  std::size_t operator()(fairlead::Id<Tag> id) const noexcept { return id.row(); }
};
