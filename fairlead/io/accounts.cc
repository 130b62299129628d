#include "fairlead/io/accounts.h"

#include <algorithm>
#include <cerrno>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

namespace fairlead {
namespace {

// Calls `look_up(buffer, size)`, a function like getpwuid_r, with larger buffers until one suffices.
bool with_room(std::vector<char>& buffer, auto&& look_up) {
  constexpr std::size_t kBytesMax = std::size_t{1} << 24;  // a group of a million members
  buffer.resize(4096);
  for (;;) {
    const int error = look_up(buffer.data(), buffer.size());
    if (error == EINTR) continue;
    if (error != ERANGE || buffer.size() >= kBytesMax) return error == 0;
    buffer.resize(2 * buffer.size());
  }
}

struct Account {
  std::string name;
  gid_t gid = 0;
};

std::optional<Account> find_account(std::uint32_t uid) {
  std::vector<char> buffer;
  passwd entry{};
  passwd* found = nullptr;
  const bool is_known = with_room(buffer, [&](char* bytes, std::size_t size) {
    return ::getpwuid_r(uid, &entry, bytes, size, &found);
  });
  if (!is_known || found == nullptr) return std::nullopt;
  return Account{entry.pw_name, entry.pw_gid};
}

}  // namespace

std::string account_name(std::uint32_t uid) {
  const std::optional<Account> account = find_account(uid);
  return account ? account->name : std::to_string(uid);
}

std::vector<std::uint32_t> groups_of(std::uint32_t uid, std::uint32_t gid) {
  const std::optional<Account> account = find_account(uid);
  if (!account) return {gid};
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(account->name.c_str(), gid, groups.data(), &count) < 0) {
    groups.resize(std::max(2 * groups.size(), static_cast<std::size_t>(count)));
    count = static_cast<int>(groups.size());
  }
  groups.resize(static_cast<std::size_t>(count));
  return {groups.begin(), groups.end()};
}

std::vector<std::string> names_of_groups(const std::vector<std::uint32_t>& groups) {
  std::vector<std::string> names;
  std::vector<char> buffer;
  for (const std::uint32_t gid : groups) {
    group entry{};
    group* found = nullptr;
    const bool is_known = with_room(buffer, [&](char* bytes, std::size_t size) {
      return ::getgrgid_r(gid, &entry, bytes, size, &found);
    });
    if (is_known && found != nullptr) names.emplace_back(entry.gr_name);
  }
  return names;
}

bool has_account(const std::string& name) {
  std::vector<char> buffer;
  passwd entry{};
  passwd* found = nullptr;
  return with_room(buffer,
                   [&](char* bytes, std::size_t size) {
                     return ::getpwnam_r(name.c_str(), &entry, bytes, size, &found);
                   }) &&
         found != nullptr;
}

std::optional<std::uint32_t> find_group(const std::string& name) {
  std::vector<char> buffer;
  group entry{};
  group* found = nullptr;
  const bool is_known = with_room(buffer, [&](char* bytes, std::size_t size) {
    return ::getgrnam_r(name.c_str(), &entry, bytes, size, &found);
  });
  if (!is_known || found == nullptr) return std::nullopt;
  return entry.gr_gid;
}

bool is_administrator(std::uint32_t uid, std::uint32_t gid, const std::string& group) {
  if (uid == 0 || uid == ::geteuid()) return true;
  const std::optional<std::uint32_t> wanted = find_group(group);
  if (!wanted) return false;
  const std::vector<std::uint32_t> groups = groups_of(uid, gid);
  return std::find(groups.begin(), groups.end(), *wanted) != groups.end();
}

}  // namespace fairlead
