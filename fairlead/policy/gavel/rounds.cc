#include "fairlead/policy/gavel/rounds.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <tuple>

namespace fairlead {
namespace {

void check_sizes(const RoundBooks& books) {
  const std::size_t cells = books.gangs.size() * books.types;
  FL_CHECK(books.throughputs.size() == cells && books.shares.size() == cells &&
               books.received_s.size() == cells && books.deficits_s.size() == cells &&
               books.handed_out_s.size() == books.types,
           "{} rows of {} types", books.gangs.size(), books.types);
}

}  // namespace

double round_priority(double share, double throughput, double received_s, double handed_out_s) {
  if (share == 0 || throughput <= 0) return 0;
  const double fraction = handed_out_s == 0 ? 0 : received_s / handed_out_s;
  return fraction > 0 ? share / fraction : share * 1e9;
}

void settle(const RoundBooks& books, double elapsed_s, double head_start_s) {
  check_sizes(books);
  for (std::size_t type = 0; type < books.types; ++type) {
    double handed_out_s = 0;
    for (std::size_t row = 0; row < books.gangs.size(); ++row) {
      const std::size_t cell = row * books.types + type;
      const double received_s = books.received_s[cell] - head_start_s;
      const double due_s = books.shares[cell] * elapsed_s;
      books.deficits_s[cell] += due_s - received_s;
      books.received_s[cell] = head_start_s;
      handed_out_s += head_start_s;
    }
    books.handed_out_s[type] = handed_out_s;
  }
}

std::span<const RoundPick> RoundSelection::select(const RoundBooks& books,
                                                  std::span<const std::uint32_t> gpus,
                                                  std::span<const std::uint32_t> type_order,
                                                  bool fill_idle) {
  check_sizes(books);
  FL_CHECK(gpus.size() == books.types, "{} GPU counts for {} types", gpus.size(), books.types);
  picks_.clear();
  taken_.assign(books.gangs.size(), false);
  for (const std::uint32_t type : type_order) {
    std::uint32_t left = gpus[type];
    rank_rows(books, type, left, fill_idle);
    for (const RankedRow& ranked : ranking_) {
      if (left == 0) break;
      if (books.gangs[ranked.row] > left) continue;
      left -= books.gangs[ranked.row];
      taken_[ranked.row] = true;
      picks_.push_back({ranked.row, type});
    }
  }
  return picks_;
}

void RoundSelection::rank_rows(const RoundBooks& books, std::uint32_t type, std::uint32_t gpus,
                               bool fill_idle) {
  ranking_.clear();
  for (std::uint32_t row = 0; row < books.gangs.size(); ++row) {
    const std::size_t cell = row * books.types + type;
    if (taken_[row] || books.gangs[row] > gpus || books.throughputs[cell] <= 0) continue;
    const double priority = round_priority(books.shares[cell], books.throughputs[cell],
                                           books.received_s[cell], books.handed_out_s[type]);
    if (priority <= 0 && !fill_idle) continue;
    ranking_.push_back({priority, books.deficits_s[cell], books.shares[cell], row});
  }
  std::ranges::sort(ranking_, [](const RankedRow& a, const RankedRow& b) {
    return std::tie(a.priority, a.deficit, a.share, b.row) >
           std::tie(b.priority, b.deficit, b.share, a.row);
  });
}

}  // namespace fairlead
