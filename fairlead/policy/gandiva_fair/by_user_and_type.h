// ByUserAndType: a value for each user and GPU type.
//
// resize: O(users x types). All else O(1). Ours.
#pragma once

#include "fairlead/base/ids.h"

#include <cstddef>
#include <vector>

namespace fairlead {

template <class T>
class ByUserAndType {
 public:
  // Adds such values for new users. REQUIRES: no fewer users than before, and as many types.
  void resize(std::size_t users, std::size_t types, const T& value = {}) {
    types_ = types;
    values_.resize(users * types, value);
  }
  std::size_t types() const { return types_; }
  T& operator()(UserId user, GpuTypeId type) { return values_[row(user, type)]; }
  const T& operator()(UserId user, GpuTypeId type) const { return values_[row(user, type)]; }
  // All of them, user by user.
  std::vector<T>& values() { return values_; }

 private:
  std::size_t row(UserId user, GpuTypeId type) const { return user.row() * types_ + type.row(); }

  std::size_t types_ = 0;
  std::vector<T> values_;
};

}  // namespace fairlead
