#include "fairlead/local/old_logs.h"

#include "fairlead/base/overloaded.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fairlead {
namespace {

// The file of Io::log_path().
std::string log_name(JobId job) { return fmt::format("{}.log", job.row()); }

}  // namespace

void OldLogs::on(const Record& record) {
  if (keep_.ms == 0) return;
  std::visit(Overloaded{
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& what) {
                   ends_.emplace_back(record.t, what.job);
                 },
                 [](const auto&) {},
             },
             record.what);
}

void OldLogs::forget_removed() {
  const std::vector<std::string> names = io_.list("logs");
  std::erase_if(ends_, [&](const auto& end) {
    return !std::ranges::binary_search(names, log_name(end.second));
  });
}

Time OldLogs::deadline() const {
  return ends_.empty() ? Time::never() : ends_.front().first + keep_;
}

void OldLogs::on_time(Time now) {
  while (deadline() <= now) {
    io_.remove("logs/" + log_name(ends_.front().second));
    ends_.pop_front();
  }
}

}  // namespace fairlead
