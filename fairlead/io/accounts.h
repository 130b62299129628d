// Accounts and groups of this machine, from its name service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

// Returns the name of an account, or its number if it has no name.
std::string account_name(std::uint32_t uid);
// Returns the groups of an account, `gid` first; only `gid` if the account has no name.
std::vector<std::uint32_t> groups_of(std::uint32_t uid, std::uint32_t gid);
// Returns the names of groups; those without a name are left out.
std::vector<std::string> names_of_groups(const std::vector<std::uint32_t>& groups);
// Returns whether there is an account of that name.
bool has_account(const std::string& name);
// Returns nothing if there is no such group.
std::optional<std::uint32_t> find_group(const std::string& name);
// Returns whether the user may act for all users: root, the user of this process, members of the group of that name.
bool is_administrator(std::uint32_t uid, std::uint32_t gid, const std::string& group);

}  // namespace fairlead
