#include "fairlead/policy/slurm/fair_tree.h"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

namespace fairlead {
namespace {

// An account, or a user below one or below the root.
struct Association {
  double shares = 0;
  double usage = 0;
  UserId user{};    // none: it is an account
  GroupId group{};  // the group of an account; none for a user
  double level_fs = 0;
};
using Siblings = std::vector<Association>;

void set_level_fs(Siblings& siblings) {
  double shares = 0;
  double usage = 0;
  for (const Association& one : siblings) {
    shares += one.shares;
    usage += one.usage;
  }
  for (Association& one : siblings) {
    one.level_fs = one.usage > 0 ? one.shares / shares / (one.usage / usage)
                                 : std::numeric_limits<double>::infinity();
  }
}

class Tree {
 public:
  Tree(const Users& users, const IdVector<UserId, double>& usage)
      : factors_(users.size()), members_(users.groups.size()), left_(users.size()) {
    Siblings below_root;
    for (GroupId group : ids<GroupId>(users.groups.size())) {
      below_root.push_back(
          {.shares = static_cast<double>(users.groups.tickets[group]), .group = group});
    }
    for (UserId user : ids<UserId>(users.size())) {
      const GroupId group = users.group_of(user);
      const auto shares = static_cast<double>(users.tickets[user]);
      if (!group.is_none()) below_root[group.row()].usage += usage[user];
      (group.is_none() ? below_root : members_[group])
          .push_back({.shares = shares, .usage = usage[user], .user = user});
    }
    set_level_fs(below_root);
    for (Siblings& members : members_) set_level_fs(members);
    walk(below_root, false);
  }

  IdVector<UserId, double> factors() && { return std::move(factors_); }

 private:
  // `tied`: the first of them ranks as the last visited user.
  void walk(Siblings& siblings, bool tied) {
    // In a tie, users first.
    std::ranges::sort(siblings, [](const Association& a, const Association& b) {
      return std::tuple(-a.level_fs, a.user.is_none(), a.user, a.group) <
             std::tuple(-b.level_fs, b.user.is_none(), b.user, b.group);
    });
    for (std::size_t i = 0; i < siblings.size(); ++i) {
      if (i > 0) tied = siblings[i].level_fs == siblings[i - 1].level_fs;
      if (!siblings[i].user.is_none()) {
        rank(siblings[i].user, tied);
        continue;
      }
      Siblings children = std::move(members_[siblings[i].group]);
      for (; i + 1 < siblings.size() && siblings[i + 1].level_fs == siblings[i].level_fs; ++i) {
        const Siblings& more = members_[siblings[i + 1].group];
        children.insert(children.end(), more.begin(), more.end());
      }
      walk(children, tied);
    }
  }

  void rank(UserId user, bool tied) {
    if (!tied || rank_ == 0) rank_ = left_;
    factors_[user] = static_cast<double>(rank_) / static_cast<double>(factors_.size());
    --left_;
  }

  IdVector<UserId, double> factors_;
  IdVector<GroupId, Siblings> members_;
  std::size_t left_;      // users that have no rank yet
  std::size_t rank_ = 0;  // rank of the last visited user
};

}  // namespace

IdVector<UserId, double> fair_tree(const Users& users, const IdVector<UserId, double>& usage) {
  return Tree(users, usage).factors();
}

}  // namespace fairlead
