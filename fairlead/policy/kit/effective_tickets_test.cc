#include "fairlead/policy/kit/effective_tickets.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

IdVector<UserId, std::int64_t> jobs_of(const std::vector<std::int64_t>& counts) {
  IdVector<UserId, std::int64_t> jobs;
  for (std::int64_t count : counts) jobs.push_back(count);
  return jobs;
}

std::vector<double> tickets_of(const Users& users, const std::vector<std::int64_t>& jobs) {
  IdVector<UserId, double> tickets;
  effective_tickets(users, jobs_of(jobs), tickets);
  return {tickets.begin(), tickets.end()};
}

// Ann (1) and Bob (3) of a group with 8 tickets, and Eve (2).
Users three_users() {
  Users users;
  users.groups.names.push_back("lab");
  users.groups.tickets.push_back(8);
  users.groups.quota.push_back(0);
  for (const char* name : {"ann", "bob", "eve"}) users.names.push_back(name);
  for (std::int64_t tickets : {1, 3, 2}) users.tickets.push_back(tickets);
  users.group.push_back(GroupId(0));
  users.group.push_back(GroupId(0));
  return users;
}

TEST(EffectiveTickets, OfAGroupAreDividedByItsUsersOwn) {
  EXPECT_EQ(tickets_of(three_users(), {1, 5, 1}), (std::vector<double>{2, 6, 2}));
}

TEST(EffectiveTickets, OfAGroupAreThoseOfItsOnlyUserWithJobs) {
  EXPECT_EQ(tickets_of(three_users(), {0, 5, 1})[1], 8);
}

TEST(EffectiveTickets, WithoutGroupsAreTheUsersOwn) {
  Users users = three_users();
  users.group.clear();
  EXPECT_EQ(tickets_of(users, {1, 5, 1}), (std::vector<double>{1, 3, 2}));
}

}  // namespace
}  // namespace fairlead
