#include "testing/case_file.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/base/parse.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <sstream>

namespace fairlead {
namespace {

// "1h10m", "90s", "1.5s".
Result<std::int64_t> parse_ms(std::string_view text) {
  const std::map<std::string_view, double> units = {
      {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
  std::string_view rest = text;
  std::int64_t sum = 0;
  while (!rest.empty()) {
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
    const auto number = parse_number(rest.substr(0, digits));
    rest.remove_prefix(digits);
    const std::size_t letters = std::min(rest.find_first_of("0123456789."), rest.size());
    const auto unit = units.find(rest.substr(0, letters));
    if (!number || unit == units.end()) return input_error("not a time: {}", text);
    sum += static_cast<std::int64_t>(*number * unit->second);
    rest.remove_prefix(letters);
  }
  return sum;
}

double hours_of(Duration duration) { return static_cast<double>(duration.ms) / 3'600'000; }

std::string time_text(std::int64_t ms) {
  return ms % 1000 == 0 ? fmt::format("{}s", ms / 1000) : fmt::format("{}ms", ms);
}
std::string hours_text(double hours) { return time_text(std::llround(hours * 3'600'000)); }

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word && !word.starts_with('#');) words.push_back(word);
  return words;
}

Result<WorldJob> parse_job(const std::vector<std::string>& words) {
  if (words.size() < 8 || words.size() % 2 != 0 || words[2] != "gpus" || words[4] != "arrive" ||
      words[6] != "work") {
    return input_error(
        "write: job NAME gpus N arrive TIME work TIME [user NAME] [tickets N] [model NAME] [min N] "
        "[max N] [tasks N] [copies N] [require LEVEL] [prefer LEVEL]");
  }
  const auto gpus = parse_integer(words[3]);
  if (!gpus || *gpus < 1) return input_error("not a number of GPUs: {}", words[3]);
  FL_TRY_ASSIGN(submit_ms, parse_ms(words[5]));
  FL_TRY_ASSIGN(work_ms, parse_ms(words[7]));
  WorldJob job;
  job.submit = {submit_ms};
  job.gpus = static_cast<std::uint32_t>(*gpus);
  job.work = {work_ms};
  for (std::size_t i = 8; i < words.size(); i += 2) {
    if (words[i] == "user") {
      job.user = words[i + 1];
    } else if (words[i] == "model") {
      job.model = words[i + 1];
    } else if (words[i] == "require") {
      job.require_level = words[i + 1];
    } else if (words[i] == "prefer") {
      job.prefer_level = words[i + 1];
    } else if (words[i] == "tickets") {
      const auto tickets = parse_integer(words[i + 1]);
      if (!tickets || *tickets < 1) return input_error("not a number of tickets: {}", words[i + 1]);
      job.tickets = *tickets;
    } else if (words[i] == "partition") {
      job.partition = words[i + 1];
    } else if (words[i] == "qos") {
      job.qos = words[i + 1];
    } else if (words[i] == "priority") {
      const auto priority = parse_integer(words[i + 1]);
      if (!priority) return input_error("not a priority: {}", words[i + 1]);
      job.priority = *priority;
    } else if (words[i] == "cpus" || words[i] == "memory") {
      const auto amount = parse_units(words[i + 1], seconds(1));
      if (!amount) return input_error("not an amount: {}", words[i + 1]);
      (words[i] == "cpus" ? job.asks.cpus : job.asks.memory_gb) = {*amount};
    } else if (words[i] == "limit") {
      FL_TRY_ASSIGN(limit_ms, parse_ms(words[i + 1]));
      job.time_limit = {limit_ms};
    } else if (words[i] == "started") {
      FL_TRY_ASSIGN(started_ms, parse_ms(words[i + 1]));
      job.logged_start = {started_ms};
    } else if (words[i] == "min" || words[i] == "max" || words[i] == "tasks" ||
               words[i] == "copies") {
      const auto count = parse_integer(words[i + 1]);
      if (!count || *count < 1) return input_error("not a number above 0: {}", words[i + 1]);
      std::uint32_t& asked = words[i] == "min"     ? job.gpus_min
                             : words[i] == "max"   ? job.gpus_max
                             : words[i] == "tasks" ? job.task_gpus
                                                   : job.copies_max;
      asked = static_cast<std::uint32_t>(*count);
    } else {
      return input_error("a job has no such word: {}", words[i]);
    }
  }
  return job;
}

Result<NodeOutage> parse_outage(const std::vector<std::string>& words) {
  if (words.size() != 4 || !words[1].starts_with('n')) {
    return input_error("write: outage nNUMBER TIME TIME");
  }
  const auto node = parse_integer(std::string_view(words[1]).substr(1));
  if (!node) return input_error("not a node: {}", words[1]);
  FL_TRY_ASSIGN(down_ms, parse_ms(words[2]));
  FL_TRY_ASSIGN(up_ms, parse_ms(words[3]));
  return NodeOutage{NodeId(static_cast<std::size_t>(*node)), {down_ms}, {up_ms}};
}

// "1s" or "1s/2s/3s": by the size of the gang.
Result<std::array<Duration, 3>> parse_by_size(std::string_view text) {
  std::array<Duration, 3> by_size{};
  for (Duration& duration : by_size) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    FL_TRY_ASSIGN(ms, parse_ms(text.substr(0, slash)));
    duration = {ms};
    if (slash < text.size()) text.remove_prefix(slash + 1);
  }
  return by_size;
}

Result<Costs> parse_costs(const std::vector<std::string>& words) {
  Costs costs = Costs::none();
  const std::map<std::string, Duration*> durations = {{"start", &costs.start},
                                                      {"suspend", &costs.suspend},
                                                      {"resume", &costs.resume},
                                                      {"exchange", &costs.copies_exchange}};
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    FL_TRY_ASSIGN(by_size, parse_by_size(words[i + 1]));
    if (words[i] == "checkpoint") {
      costs.checkpoint = by_size;
    } else if (words[i] == "migrate") {
      costs.migrate = by_size;
    } else if (const auto one = durations.find(words[i]); one != durations.end()) {
      *one->second = by_size[0];
    } else {
      return input_error("no such cost: {}", words[i]);
    }
  }
  return costs;
}

Status parse_unreliable_line(const std::vector<std::string>& words, World& world) {
  const auto seed = parse_integer(words.size() == 4 ? words[3] : "");
  if (!seed || *seed < 0 || words[2] != "seed" ||
      !parse_unreliable(words[1], world.settings.unreliable)) {
    return input_error("write: unreliable NAME:VALUE/NAME:VALUE... seed NUMBER");
  }
  world.sim_seed = static_cast<std::uint64_t>(*seed);
  return {};
}

Status parse_faults(const std::vector<std::string>& words, World& world) {
  if (words.size() != 7 || words[1] != "mtbf" || words[3] != "mttr" || words[5] != "seed") {
    return input_error("write: faults mtbf TIME mttr TIME seed NUMBER");
  }
  FL_TRY_ASSIGN(mtbf_ms, parse_ms(words[2]));
  FL_TRY_ASSIGN(mttr_ms, parse_ms(words[4]));
  const auto seed = parse_integer(words[6]);
  if (!seed || *seed < 0) return input_error("not a seed: {}", words[6]);
  world.settings.faults.mtbf_h = hours_of({mtbf_ms});
  world.settings.faults.mttr_h = hours_of({mttr_ms});
  world.sim_seed = static_cast<std::uint64_t>(*seed);
  return {};
}

// "8/32 16/0": the CPUs and GB of nodes, in order; 0: a node does not limit.
Status parse_have(const std::vector<std::string>& words, World& world) {
  for (const std::string& word : std::span(words).subspan(1)) {
    const std::size_t slash = std::min(word.find('/'), word.size());
    const auto cpus = parse_units(std::string_view(word).substr(0, slash), seconds(1));
    const auto memory =
        parse_units(std::string_view(word).substr(std::min(slash + 1, word.size())), seconds(1));
    if (!cpus || !memory) return input_error("write: have CPUS/GB CPUS/GB...");
    world.nodes_have.push_back({{*cpus}, {*memory}});
  }
  return {};
}

// "limit  qos normal  per user  gpus 8  jobs 2"
Result<LimitRule> parse_limit(const std::vector<std::string>& words) {
  LimitRule rule;
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const auto count = parse_integer(words[i + 1]);
    if (words[i] == "qos") {
      rule.qos.push_back(words[i + 1]);
    } else if (words[i] == "per" && words[i + 1] == "user") {
      rule.per = LimitRule::Per::kUser;
    } else if ((words[i] == "gpus" || words[i] == "jobs") && count && *count > 0) {
      (words[i] == "gpus" ? rule.limit.gpus_max : rule.limit.jobs_max) =
          static_cast<std::uint32_t>(*count);
    } else {
      return input_error("write: limit qos NAME per user gpus NUMBER jobs NUMBER");
    }
  }
  return rule;
}

// Adds a setting of the world other than its cluster and jobs, named by words[0]; returns false if
// there is no such setting.
Result<bool> add_setting(World& world, const std::vector<std::string>& words) {
  if (words[0] == "costs" && words.size() % 2 == 1) {
    FL_TRY_ASSIGN(costs, parse_costs(words));
    world.settings.costs = costs;
  } else if (words[0] == "outage") {
    FL_TRY_ASSIGN(outage, parse_outage(words));
    world.settings.faults.outages.push_back(outage);
  } else if (words[0] == "limit") {
    FL_TRY_ASSIGN(rule, parse_limit(words));
    world.settings.limit_rules.push_back(rule);
  } else if (words[0] == "faults") {
    FL_TRY(parse_faults(words, world));
  } else if (words[0] == "checkpoint" && words.size() == 2) {
    FL_TRY_ASSIGN(interval_ms, parse_ms(words[1]));
    world.settings.faults.checkpoint_interval = {interval_ms};
  } else if (words[0] == "unreliable") {
    FL_TRY(parse_unreliable_line(words, world));
  } else if (words[0] == "until" && words.size() == 2) {
    FL_TRY_ASSIGN(until_ms, parse_ms(words[1]));
    world.until = {until_ms};
  } else if (words[0] == "seed" && words.size() == 2) {
    const auto seed = parse_integer(words[1]);
    if (!seed || *seed < 0) return input_error("not a seed: {}", words[1]);
    world.seed = static_cast<std::uint64_t>(*seed);
  } else {
    return false;
  }
  return true;
}

Status add_line(GoldenCase& golden, const std::vector<std::string>& words) {
  FL_TRY_ASSIGN(is_setting, add_setting(golden.world, words));
  if (is_setting) return {};
  if (words[0] == "cluster" && words.size() >= 2) {
    golden.world.cluster = fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "));
  } else if (words[0] == "policy" && words.size() == 2) {
    golden.policy = words[1];
  } else if (words[0] == "have" && words.size() >= 2) {
    FL_TRY(parse_have(words, golden.world));
  } else if (words[0] == "job") {
    FL_TRY_ASSIGN(job, parse_job(words));
    golden.world.jobs.push_back(job);
    golden.job_names.push_back(words[1]);
  } else if (words[0] == "show" && words.size() == 2 && words[1] == "pass") {
    golden.shows_passes = true;
  } else if (words[0] == "show" && words.size() == 2 && words[1] == "trades") {
    golden.shows_trades = true;
  } else {
    return input_error("no such line: {}", words[0]);
  }
  return {};
}

// Empty if nothing costs anything.
std::string costs_text(const Costs& costs) {
  std::string text;
  const auto add = [&](std::string_view name, std::span<const Duration> by_size) {
    if (std::ranges::count(by_size, Duration{}) == std::ssize(by_size)) return;
    text += fmt::format("  {} ", name);
    for (Duration duration : by_size) text += time_text(duration.ms) + "/";
    text.pop_back();
  };
  add("start", {&costs.start, 1});
  add("suspend", {&costs.suspend, 1});
  add("resume", {&costs.resume, 1});
  add("checkpoint", costs.checkpoint);
  add("migrate", costs.migrate);
  add("exchange", {&costs.copies_exchange, 1});
  return text;
}

std::string amount_text(Thousandths amount) {
  return fmt::format("{}", static_cast<double>(amount.value) / 1000);
}

std::string job_text(const WorldJob& job) {
  std::string text = fmt::format("gpus {}  arrive {}  work {}  user {}", job.gpus,
                                 time_text(job.submit.ms), time_text(job.work.ms), job.user);
  if (job.tickets != 0) text += fmt::format("  tickets {}", job.tickets);
  if (!job.model.empty()) text += fmt::format("  model {}", job.model);
  if (job.gpus_min != 0) text += fmt::format("  min {}", job.gpus_min);
  if (job.gpus_max != 0) text += fmt::format("  max {}", job.gpus_max);
  if (job.task_gpus != 1) text += fmt::format("  tasks {}", job.task_gpus);
  if (job.copies_max != 0) text += fmt::format("  copies {}", job.copies_max);
  if (job.asks.cpus.value != 0) text += fmt::format("  cpus {}", amount_text(job.asks.cpus));
  if (job.asks.memory_gb.value != 0)
    text += fmt::format("  memory {}", amount_text(job.asks.memory_gb));
  if (!job.require_level.empty()) text += fmt::format("  require {}", job.require_level);
  if (!job.prefer_level.empty()) text += fmt::format("  prefer {}", job.prefer_level);
  if (!job.qos.empty()) text += fmt::format("  qos {}", job.qos);
  if (!job.partition.empty()) text += fmt::format("  partition {}", job.partition);
  if (job.priority != 0) text += fmt::format("  priority {}", job.priority);
  if (job.time_limit.ms != 0) text += fmt::format("  limit {}", time_text(job.time_limit.ms));
  if (job.logged_start != Time::never())
    text += fmt::format("  started {}", time_text(job.logged_start.ms));
  return text;
}

std::string gang_text(Gang gang) {
  std::string text;
  for (Slice slice : gang) {
    text += fmt::format("{}n{}:{}", text.empty() ? "" : " ", slice.node.row(), slice.gpus);
  }
  return text;
}

class EventLines : public RecordSink {
 public:
  explicit EventLines(const GoldenCase& golden)
      : job_names_(golden.job_names),
        shows_passes_(golden.shows_passes),
        shows_trades_(golden.shows_trades) {}

  void on(const Record& record) override {
    const Time t = record.t;
    std::visit(Overloaded{
                   [&](const record::User& user) { user_names_.emplace_back(user.name); },
                   [&](const record::Place& place) {
                     add(t, place.job,
                         (place.copy == 0 ? "place  " : "copy   ") + gang_text(place.gang));
                   },
                   [&](const record::Stop& stop) { add(t, stop.job, "stop"); },
                   [&](const record::Evicted& evicted) { add(t, evicted.job, "evicted"); },
                   [&](const record::Finished& finished) { add(t, finished.job, "finish"); },
                   [&](const record::Held& held) { add(t, held.job, "held"); },
                   [&](const record::Released& released) { add(t, released.job, "released"); },
                   [&](const record::Rejected& rejected) {
                     add(t, rejected.asked.job, fmt::format("rejected  {}", rejected.reason));
                   },
                   [&](const Note& note) { add_note(t, note); },
                   [&](const record::End& end) {
                     if (end.counts.pending == 0) return;
                     lines.push_back(fmt::format("the end  {} pending", end.counts.pending));
                   },
                   [](const auto&) {},
               },
               record.what);
  }
  std::vector<std::string> lines;

 private:
  void add(Time t, JobId job, const std::string& what) {
    const std::string time = fmt::format("{}s", to_seconds(t));
    lines.push_back(fmt::format("{:<8} {:<3} {}", time, job_names_[job.row()], what));
  }
  void add_note(Time t, const Note& note) {
    std::visit(
        Overloaded{
            [&](const note::Queue& moved) {
              add(t, moved.job, fmt::format("queue  {}", moved.queue));
            },
            [&](const note::Pass& pass) {
              if (shows_passes_) add(t, pass.job, fmt::format("pass  {}", pass.pass.value()));
            },
            [&](const note::Trade& trade) {
              if (!shows_trades_) return;
              const std::string time = fmt::format("{}s", to_seconds(t));
              lines.push_back(fmt::format("{:<8} {} sells {} GPUs of type {} to {}", time,
                                          user_names_[trade.seller.row()], trade.gpus.value(),
                                          trade.fast.row(), user_names_[trade.buyer.row()]));
            },
            [&](const note::Price& price) {
              if (shows_trades_) lines.back() += fmt::format(" for {} each", price.price.value());
            },
            [](const auto&) {},
        },
        note);
  }

  const std::vector<std::string>& job_names_;
  const bool shows_passes_;
  const bool shows_trades_;
  std::vector<std::string> user_names_;
};

}  // namespace

Result<GoldenCase> read_case(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return parse_case(text.str(), path.string());
}

Result<GoldenCase> parse_case(std::string_view text, std::string_view name) {
  std::istringstream lines{std::string(text)};
  GoldenCase golden;
  golden.world.settings.faults.checkpoint_interval = {};
  std::int64_t number = 0;
  bool in_head = true;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (!in_head) {
      if (!words.empty()) golden.expected.push_back(line.substr(line.find_first_not_of(' ')));
      continue;
    }
    golden.head += line + "\n";
    if (words.empty()) continue;
    in_head = words[0] != "expect";
    if (!in_head) continue;
    if (Status status = add_line(golden, words); !status) {
      return input_error("{}:{}: {}", name, number, status.error().message);
    }
  }
  if (in_head) return input_error("{}: it has no line \"expect\"", name);
  return golden;
}

std::string case_text(const World& world, std::string_view policy, std::string_view about) {
  const Settings& settings = world.settings;
  FL_CHECK(settings.network.kind == NetworkKind::kProfiled, "a case has no network of its own");
  std::string text = fmt::format("# {}\ncluster  {}\npolicy   {}\n", about, world.cluster, policy);
  if (!world.nodes_have.empty()) {
    text += "have    ";
    for (const CpuMemory& has : world.nodes_have)
      text += fmt::format(" {}/{}", amount_text(has.cpus), amount_text(has.memory_gb));
    text += "\n";
  }
  if (world.seed != 0) text += fmt::format("seed     {}\n", world.seed);
  if (const std::string costs = costs_text(settings.costs); !costs.empty()) {
    text += fmt::format("costs  {}\n", costs);
  }
  if (settings.faults.mtbf_h > 0) {
    text += fmt::format("faults   mtbf {}  mttr {}  seed {}\n", hours_text(settings.faults.mtbf_h),
                        hours_text(settings.faults.mttr_h), world.sim_seed);
  }
  for (const NodeOutage& outage : settings.faults.outages) {
    text += fmt::format("outage   n{}  {}  {}\n", outage.node.row(), time_text(outage.down.ms),
                        time_text(outage.up.ms));
  }
  for (const LimitRule& rule : settings.limit_rules) {
    text += "limit  ";
    for (const std::string& qos : rule.qos) text += fmt::format("  qos {}", qos);
    if (rule.per == LimitRule::Per::kUser) text += "  per user";
    if (rule.limit.gpus_max > 0) text += fmt::format("  gpus {}", rule.limit.gpus_max);
    if (rule.limit.jobs_max > 0) text += fmt::format("  jobs {}", rule.limit.jobs_max);
    text += "\n";
  }
  if (settings.faults.checkpoint_interval > Duration{}) {
    text += fmt::format("checkpoint  {}\n", time_text(settings.faults.checkpoint_interval.ms));
  }
  if (settings.unreliable.any()) {
    text += fmt::format("unreliable  {}  seed {}\n", unreliable_text(settings.unreliable),
                        world.sim_seed);
  }
  if (world.until != Time::never()) text += fmt::format("until    {}\n", time_text(world.until.ms));
  for (std::size_t i = 0; i < world.jobs.size(); ++i) {
    text += fmt::format("job      j{}  {}\n", i, job_text(world.jobs[i]));
  }
  return text + "expect\n";
}

std::vector<std::string> timeline(const GoldenCase& golden) {
  EventLines lines(golden);
  const Outcome outcome = run(golden.world, policy_named(golden.policy), {}, &lines);
  for (const std::string& problem : outcome.problems) lines.lines.push_back("audit: " + problem);
  return lines.lines;
}

std::string with_timeline(const GoldenCase& golden, const std::vector<std::string>& lines) {
  std::string text = golden.head;
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

}  // namespace fairlead
