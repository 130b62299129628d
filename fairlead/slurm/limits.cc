#include "fairlead/slurm/limits.h"

#include "fairlead/base/parse.h"
#include "fairlead/base/split.h"
#include "fairlead/input/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace fairlead {
namespace {

using Per = LimitRule::Per;

constexpr std::int64_t kMost = 1'000'000;
constexpr CsvDialect kBars = {.separator = '|', .quotes = false};

// A limit in two columns.
struct Amounts {
  std::string_view gpus;  // name of its limit on GPUs, for messages
  CsvReader::Column tres = CsvReader::kMissing;
  std::string_view jobs;
  CsvReader::Column count = CsvReader::kMissing;
};

class Rows {
 public:
  Rows(ByteSource& source, std::string_view command) : csv_(source, kBars), command_(command) {}

  CsvReader& csv() { return csv_; }
  CsvReader::Column find(std::initializer_list<std::string_view> names) {
    return csv_.require(names).value_or(CsvReader::kMissing);
  }
  Result<CsvReader::Column> need(std::initializer_list<std::string_view> names) {
    auto column = csv_.require(names);
    if (!column) return input_error("{}; ask with `{}`", column.error().message, command_);
    return *column;
  }

  // Adds the limits in these columns of the current row to `rules`, each as a copy of `like`.
  void add(const Amounts& at, const LimitRule& like, std::vector<LimitRule>& rules) {
    const auto add_one = [&](std::string_view which, std::uint32_t gpus, std::uint32_t jobs) {
      LimitRule& rule = rules.emplace_back(like);
      rule.limit = {fmt::format("{} of {}", which, like.limit.name), gpus, jobs};
    };
    if (const auto gpus = gpus_in(at.tres)) add_one(at.gpus, *gpus, 0);
    if (const auto jobs = count_in(at.count)) add_one(at.jobs, 0, *jobs);
  }
  void add_notes(std::vector<std::string>& said) const {
    if (typed_ > 0)
      said.push_back(fmt::format("left out: {} limit{} on GPUs of one type ({})", typed_,
                                 typed_ == 1 ? "" : "s", command_));
    if (none_ > 0)
      said.push_back(
          fmt::format("left out: {} limit{} of 0 ({})", none_, none_ == 1 ? "" : "s", command_));
  }

 private:
  // Returns the GPUs in a list such as "cpu=64,gres/gpu=8".
  std::optional<std::uint32_t> gpus_in(CsvReader::Column column) {
    const std::string_view text = csv_.text(column);
    if (text.empty()) return std::nullopt;
    std::optional<std::uint32_t> gpus;
    for (const std::string_view part : split(text, ',')) {
      const std::size_t equals = part.find('=');
      const std::string_view name = part.substr(0, equals);
      if (name.starts_with("gres/gpu:")) ++typed_;
      if (name != "gres/gpu") continue;
      gpus = amount(column, equals == part.npos ? "" : part.substr(equals + 1),
                    "must be a list such as gres/gpu=8");
    }
    return gpus;
  }
  std::optional<std::uint32_t> count_in(CsvReader::Column column) {
    const std::string_view text = csv_.text(column);
    return text.empty() ? std::nullopt : amount(column, text, "must be a number of jobs");
  }
  std::optional<std::uint32_t> amount(CsvReader::Column column, std::string_view text,
                                      std::string_view must) {
    const Parsed<std::int64_t> number = parse_integer(text);
    if (!number || *number < -1 || *number > kMost) {
      csv_.fault(column, must);
      return std::nullopt;
    }
    none_ += *number == 0 ? 1 : 0;
    return *number > 0 ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
  }

  CsvReader csv_;
  std::string_view command_;
  std::int64_t typed_ = 0;
  std::int64_t none_ = 0;
};

// Calls take() for each row. Error: one is bad.
template <class Take>
Status each_row(Rows& rows, const Take& take) {
  WorkloadBuilder errors("", Reading::kStrict);
  for (;;) {
    FL_TRY_ASSIGN(more, rows.csv().next());
    if (!more) return {};
    if (!rows.csv().bad()) take();
    if (rows.csv().bad()) FL_TRY(rows.csv().reject(errors));
  }
}

struct QosNames {
  std::vector<std::string> all;
  std::vector<std::string> without_jobs;  // those without MaxJobsPU
};

Status read_qos(ByteSource& source, SlurmLimits& limits, QosNames& names) {
  Rows rows(source, "sacctmgr show qos -P");
  FL_TRY(rows.csv().read_header());
  FL_TRY_ASSIGN(name, rows.need({"Name", "QOS"}));
  FL_TRY(rows.need({"GrpTRES", "MaxTRESPU", "MaxTRESPerUser"}));
  const std::pair<Per, Amounts> kinds[] = {
      {Per::kTogether, {"GrpTRES", rows.find({"GrpTRES"}), "GrpJobs", rows.find({"GrpJobs"})}},
      {Per::kUser,
       {"MaxTRESPerUser", rows.find({"MaxTRESPU", "MaxTRESPerUser"}), "MaxJobsPerUser",
        rows.find({"MaxJobsPU", "MaxJobsPerUser"})}},
      {Per::kAccount,
       {"MaxTRESPerAccount", rows.find({"MaxTRESPA", "MaxTRESPerAccount"}), "MaxJobsPerAccount",
        rows.find({"MaxJobsPA", "MaxJobsPerAccount"})}}};
  FL_TRY(each_row(rows, [&] {
    const std::string qos(rows.csv().text(name));
    const std::size_t before = limits.rules.size();
    for (const auto& [per, at] : kinds) {
      rows.add(at, {.limit = {fmt::format("QOS {}", qos)}, .qos = {qos}, .per = per}, limits.rules);
    }
    names.all.push_back(qos);
    if (std::none_of(limits.rules.begin() + static_cast<std::ptrdiff_t>(before), limits.rules.end(),
                     [](const LimitRule& rule) {
                       return rule.per == Per::kUser && rule.limit.jobs_max > 0;
                     }))
      names.without_jobs.push_back(qos);
  }));
  rows.add_notes(limits.said);
  return {};
}

// The accounts of a site as a tree.
class Accounts {
 public:
  void add(const std::string& account, std::string_view parent) {
    if (!parent.empty()) children_[std::string(parent)].push_back(account);
  }
  // Returns the account and all below it.
  std::vector<std::string> below(const std::string& account) const {
    std::vector<std::string> all = {account};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto found = children_.find(all[i]);
      if (found == children_.end()) continue;
      for (const std::string& child : found->second)
        if (std::ranges::find(all, child) == all.end()) all.push_back(child);
    }
    return all;
  }

 private:
  std::map<std::string, std::vector<std::string>> children_;
};

class AssociationsReader {
 public:
  AssociationsReader(ByteSource& source, SlurmLimits& limits, const QosNames& qos)
      : rows_(source, kCommand), limits_(limits), first_(limits.rules.size()), qos_(qos) {}

  Status read() {
    FL_TRY(find_columns());
    FL_TRY(each_row(rows_, [&] { read_row(); }));
    for (std::size_t i = first_; i < limits_.rules.size(); ++i) extend(limits_.rules[i]);
    rows_.add_notes(limits_.said);
    if (of_partitions_ > 0)
      limits_.said.push_back(fmt::format("left out: limits of {} association{} with a partition",
                                         of_partitions_, of_partitions_ == 1 ? "" : "s"));
    return {};
  }

 private:
  static constexpr std::string_view kCommand =
      "sacctmgr show assoc -P "
      "format=Cluster,Account,ParentName,User,Partition,GrpTRES,GrpJobs,MaxJobs";

  struct Columns {
    CsvReader::Column account = CsvReader::kMissing;
    CsvReader::Column user = CsvReader::kMissing;
    CsvReader::Column parent = CsvReader::kMissing;
    CsvReader::Column cluster = CsvReader::kMissing;
    CsvReader::Column partition = CsvReader::kMissing;
    Amounts group{};
    Amounts each{};
  };

  Status find_columns() {
    FL_TRY(rows_.csv().read_header());
    FL_TRY_ASSIGN(account, rows_.need({"Account"}));
    FL_TRY_ASSIGN(user, rows_.need({"User"}));
    FL_TRY_ASSIGN(gpus, rows_.need({"GrpTRES"}));
    at_ = {.account = account,
           .user = user,
           .parent = rows_.find({"Par Name", "ParentName", "Parent"}),
           .cluster = rows_.find({"Cluster"}),
           .partition = rows_.find({"Partition"}),
           .group = {"GrpTRES", gpus, "GrpJobs", rows_.find({"GrpJobs"})},
           .each = {"", CsvReader::kMissing, "MaxJobs", rows_.find({"MaxJobs"})}};
    return {};
  }

  void read_row() {
    CsvReader& csv = rows_.csv();
    const std::string_view cluster = csv.text(at_.cluster);
    if (cluster_.empty()) cluster_ = cluster;
    if (cluster != cluster_)
      return csv.fault(at_.cluster, "must be one: ask sacctmgr with cluster=NAME");
    if (!csv.text(at_.partition).empty()) {
      ++of_partitions_;
      return;
    }
    const std::string account(csv.text(at_.account));
    const std::string user(csv.text(at_.user));
    user.empty() ? add_account(account) : add_user(account, user);
  }
  void add_account(const std::string& account) {
    accounts_.add(account, rows_.csv().text(at_.parent));
    rows_.add(at_.group, {.limit = {fmt::format("account {}", account)}, .accounts = {account}},
              limits_.rules);
  }
  void add_user(const std::string& account, const std::string& user) {
    LimitRule rule{.limit = {fmt::format("user {} in {}", user, account)},
                   .accounts = {account},
                   .users = {user}};
    rows_.add(at_.group, rule, limits_.rules);
    const bool gives_way = qos_.without_jobs.size() < qos_.all.size();
    if (gives_way && qos_.without_jobs.empty()) return;
    if (gives_way) rule.qos = qos_.without_jobs;
    rows_.add(at_.each, rule, limits_.rules);
  }
  // Adds the accounts below to the limit of an account. The root has all jobs.
  void extend(LimitRule& rule) const {
    if (!rule.users.empty()) return;
    const std::string account = rule.accounts.front();
    rule.accounts = account == "root" ? std::vector<std::string>() : accounts_.below(account);
  }

  Rows rows_;
  SlurmLimits& limits_;
  const std::size_t first_;  // rule of associations
  const QosNames& qos_;
  Columns at_;
  Accounts accounts_;
  std::string cluster_;
  std::int64_t of_partitions_ = 0;
};

}  // namespace

Result<SlurmLimits> read_slurm_limits(ByteSource* qos, ByteSource* associations) {
  SlurmLimits limits;
  QosNames names;
  if (qos != nullptr) FL_TRY(read_qos(*qos, limits, names));
  if (associations != nullptr) FL_TRY(AssociationsReader(*associations, limits, names).read());
  return limits;
}

}  // namespace fairlead
