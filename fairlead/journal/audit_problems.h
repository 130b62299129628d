// The inconsistencies that the audits found, in journal order.
#pragma once

#include "fairlead/base/units.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class AuditProblems {
 public:
  static constexpr std::size_t kMax = 20;  // texts kept

  template <class... Args>
  void add(Time t, fmt::format_string<Args...> format, Args&&... args) {
    ++count_;
    if (texts_.size() >= kMax) return;
    texts_.push_back(fmt::format("at {} ms: ", t.ms) +
                     fmt::format(format, std::forward<Args>(args)...));
  }
  const std::vector<std::string>& texts() const { return texts_; }
  std::int64_t count() const { return count_; }

 private:
  std::vector<std::string> texts_;
  std::int64_t count_ = 0;
};

// More jobs are not audited: a row takes about 100 bytes.
constexpr std::size_t kAuditedJobsMax = std::size_t{1} << 24;

}  // namespace fairlead
