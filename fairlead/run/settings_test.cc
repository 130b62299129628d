#include "fairlead/run/settings.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Settings, HaveDefaults) {
  const auto settings = parse_settings({});
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(settings->costs.start, seconds(10));
  EXPECT_FALSE(settings->reading.has_value());
}

TEST(Settings, AreAppliedInOrder) {
  const auto settings = parse_settings({"costs=none", "start_s=2.5", "migrate_s=7", "bin_s=3600",
                                        "reading=lenient", "reference_gpu=V100", "mtbf_h=100"});
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->costs.start, milliseconds(2500));
  EXPECT_FALSE(settings->model_costs);
  EXPECT_EQ(settings->costs.resume, seconds(0));
  EXPECT_EQ(settings->costs.migrate[2], seconds(7));
  EXPECT_EQ(settings->timeline.bin, seconds(3600));
  EXPECT_EQ(settings->reading, Reading::kLenient);
  EXPECT_EQ(settings->reference_gpu, "V100");
  EXPECT_EQ(settings->faults.mtbf_h, 100);
}

std::string error_of(const char* assignment) {
  const auto settings = parse_settings({assignment});
  return settings ? "" : settings.error().message;
}

TEST(Settings, PowerAndPricesAreByGpuType) {
  const auto settings =
      parse_settings({"power=published,H100:650/70,A100:400", "prices=H100:2.5,a100/nvlink:1"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_TRUE(settings->power.published);
  EXPECT_EQ(settings->power.of_type.at("H100").busy_w, 650);
  EXPECT_EQ(settings->power.of_type.at("H100").idle_w, 70);
  EXPECT_EQ(settings->power.of_type.at("A100").idle_w, std::nullopt);
  EXPECT_EQ(settings->prices, (std::map<std::string, double>{{"H100", 2.5}, {"a100/nvlink", 1}}));
  for (const char* value :
       {"", "H100", "H100:", "H100:x", ":2", "H100:1,", "H100:1,H100:2", "H100:-1"})
    EXPECT_NE(error_of((std::string("prices=") + value).c_str()), "") << value;
  for (const char* value :
       {"", "table", "published,published", "H100:1/", "H100:/1", "H100:1,H100:2"})
    EXPECT_NE(error_of((std::string("power=") + value).c_str()), "") << value;
}

TEST(Settings, EveryTimeIsThatOfItsKey) {
  const Settings settings =
      parse_settings({"start_s=1", "suspend_s=2", "resume_s=3", "checkpoint_s=4", "migrate_s=5",
                      "copies_exchange_s=6", "copies_every_s=7", "checkpoint_interval_s=8",
                      "profile_s=9", "bin_s=10", "mtbf_h=11", "mttr_h=12"})
          .value();
  EXPECT_EQ(settings.costs.start, seconds(1));
  EXPECT_EQ(settings.costs.suspend, seconds(2));
  EXPECT_EQ(settings.costs.resume, seconds(3));
  EXPECT_EQ(settings.costs.checkpoint[2], seconds(4));
  EXPECT_EQ(settings.costs.migrate[2], seconds(5));
  EXPECT_EQ(settings.costs.copies_exchange, seconds(6));
  EXPECT_EQ(settings.costs.copies_every, seconds(7));
  EXPECT_EQ(settings.faults.checkpoint_interval, seconds(8));
  EXPECT_EQ(settings.profiles.length, seconds(9));
  EXPECT_EQ(settings.timeline.bin, seconds(10));
  EXPECT_EQ(settings.faults.mtbf_h, 11);
  EXPECT_EQ(settings.faults.mttr_h, 12);
}

TEST(Settings, DescribeTheNetwork) {
  EXPECT_EQ(parse_settings({})->network.kind, NetworkKind::kProfiled);
  const auto settings =
      parse_settings({"network=contention", "exchange=parameter-servers",
                      "congestion=rack:4,spine:8", "contention_penalty_ms_per_mb=0.235"});
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->network.kind, NetworkKind::kContention);
  EXPECT_EQ(settings->network.exchange, Exchange::kParameterServers);
  EXPECT_EQ(settings->network.congestion, (std::array<double, kTiers>{1, 1, 4, 8}));
  EXPECT_EQ(settings->network.penalty_ms_per_mb, 0.235);
}

TEST(Settings, RefuseWhatTheNetworkDoesNotHave) {
  EXPECT_EQ(error_of("congestion=rack:4"),
            "--set congestion needs network=analytic or contention: profiled");
  EXPECT_EQ(error_of("exchange=parameter-servers"),
            "--set exchange needs network=analytic or contention: profiled");
  EXPECT_EQ(error_of("exchange=star"), "--set exchange takes ring or parameter-servers: star");
  EXPECT_EQ(error_of("contention_penalty_ms_per_mb=1"),
            "--set contention_penalty_ms_per_mb needs network=contention: profiled");
  EXPECT_EQ(error_of("network=fast"), "--set network takes profiled, analytic or contention: fast");
  for (const char* value :
       {"", "rack", "rack:", "rack:0.5", "rack:4,", "row:4", "rack:4,,spine:2", "rack:4,rack:8"}) {
    EXPECT_TRUE(error_of((std::string("congestion=") + value).c_str())
                    .starts_with("--set congestion takes tier:factor"))
        << value;
  }
}

TEST(Settings, SayWhatIsAssumed) {
  EXPECT_EQ(parse_settings({})->unknown_speed, UnknownSpeed::kError);
  EXPECT_FALSE(parse_settings({})->rejects_allowed);
  EXPECT_EQ(parse_settings({"unknown_speed=generic"})->unknown_speed, UnknownSpeed::kGeneric);
  EXPECT_EQ(parse_settings({"unknown_speed=slowest"})->unknown_speed, UnknownSpeed::kSlowest);
  EXPECT_EQ(parse_settings({"unknown_speed=1"})->unknown_speed, UnknownSpeed::kOne);
  EXPECT_EQ(error_of("unknown_speed=2"),
            "--set unknown_speed takes error, generic, slowest or 1: 2");
  EXPECT_TRUE(parse_settings({"rejected=allow"})->rejects_allowed);
  EXPECT_EQ(error_of("rejected=no"), "--set rejected takes refuse or allow: no");
}

TEST(Settings, SayWhatPoliciesKnowOfSpeeds) {
  EXPECT_EQ(parse_settings({})->profiles.source, SpeedSource::kTable);
  EXPECT_EQ(parse_settings({})->profiles.age, std::nullopt);
  const auto settings = parse_settings({"profile_age_s=600", "speeds=measured"});
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->profiles.source, SpeedSource::kMeasured);
  EXPECT_EQ(settings->profiles.age, seconds(600));
  EXPECT_EQ(error_of("speeds=guessed"), "--set speeds takes table or measured: guessed");
  EXPECT_EQ(error_of("profile_age_s=600"), "--set profile_age_s needs speeds=measured: table");
  EXPECT_EQ(error_of("profile_age_s=0"), "--set profile_age_s takes seconds, at least 0.001: 0");
}

TEST(Settings, SayWhatPoliciesKnowOfWork) {
  EXPECT_EQ(parse_settings({})->work.source, WorkSource::kExact);
  EXPECT_EQ(parse_settings({"work=history"})->work.source, WorkSource::kHistory);
  EXPECT_EQ(parse_settings({"work=none"})->work.source, WorkSource::kNone);
  const auto settings = parse_settings({"work_error=0.5", "work=declared"});
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->work.source, WorkSource::kDeclared);
  EXPECT_EQ(settings->work.error, 0.5);
  EXPECT_EQ(error_of("work=reported"),
            "--set work takes exact, declared, history or none: reported");
  EXPECT_EQ(error_of("work_error=0.5"), "--set work_error needs work=declared: exact");
  EXPECT_EQ(error_of("work_error=-1"), "--set work_error takes a number from 0 to 3: -1");
}

TEST(Settings, CostsIsTheBaseOfTheOthersWhereverItStands) {
  for (const auto& given : {std::vector<std::string>{"costs=none", "start_s=5"},
                            std::vector<std::string>{"start_s=5", "costs=none"}}) {
    const auto settings = parse_settings(given);
    EXPECT_EQ(settings->costs.start, seconds(5));
    EXPECT_EQ(settings->costs.resume, Duration{});
  }
}

TEST(Settings, RefuseUnknownKeysAndNameTheNearestFirst) {
  EXPECT_TRUE(error_of("cost=none").starts_with("--set: no such key (there are: costs, "));
  EXPECT_TRUE(error_of("cost=none").ends_with(": cost"));
  EXPECT_EQ(error_of("costs"), "--set takes key=value: costs");
}

TEST(Settings, SaysHowSeveralAreWritten) {
  EXPECT_EQ(
      error_of("costs=none,bin_s=60"),
      "--set takes one key=value; write --set costs=none --set bin_s=60: costs=none,bin_s=60");
  EXPECT_EQ(error_of("congestion=rack:4,spine:8,network=contention,load=1"),
            "--set takes one key=value; write --set congestion=rack:4,spine:8 --set "
            "network=contention --set load=1: congestion=rack:4,spine:8,network=contention,load=1");
  EXPECT_TRUE(parse_settings({"network=contention", "congestion=rack:4,spine:8"}).has_value());
  EXPECT_TRUE(parse_settings({"models=a,b=c,bin_s.yaml"}).has_value());  // a name of a file
}

TEST(Settings, RefuseValuesOutOfRange) {
  EXPECT_EQ(error_of("costs=cheap"), "--set costs takes none or default: cheap");
  EXPECT_EQ(error_of("bin_s=0"), "--set bin_s takes seconds, at least 0.001: 0");
  EXPECT_EQ(error_of("start_s=-1"), "--set start_s takes seconds, at least 0: -1");
  EXPECT_NE(error_of("start_s=1e300"), "");
  EXPECT_NE(error_of("mtbf_h=nan"), "");
  EXPECT_NE(error_of("mttr_h=0"), "");
  EXPECT_NE(error_of("reading="), "");
}

TEST(Settings, HelpNamesEveryKeyThatAnErrorNames) {
  const std::string error = error_of("x=1");
  std::size_t at = error.find("there are: ") + 11;
  while (error[at - 1] != ')') {
    const std::size_t end = error.find_first_of(",)", at);
    EXPECT_NE(settings_help().find("\n  " + error.substr(at, end - at) + " "), std::string::npos);
    at = error[end] == ',' ? end + 2 : end + 1;
  }
}

TEST(Settings, AListOfOutagesIsInsteadOfDrawnOnes) {
  const auto settings = parse_settings({"outages=o.csv", "mttr_h=2"});
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(settings->outages, "o.csv");
  EXPECT_EQ(parse_settings({"rack_mtbf_h=24"})->faults.rack_mtbf_h, 24);
  for (const char* drawn : {"mtbf_h=5", "rack_mtbf_h=5"}) {
    const auto both = parse_settings({"outages=o.csv", drawn});
    ASSERT_FALSE(both.has_value());
    EXPECT_EQ(both.error().message, "--set outages excludes mtbf_h and rack_mtbf_h: o.csv");
  }
}

TEST(Settings, LimitsAreForExactWorlds) {
  EXPECT_EQ(parse_settings({"limits=l.csv"})->limits, "l.csv");
  const auto both = parse_settings({"limits=l.csv", "faults=late_s:2"});
  ASSERT_FALSE(both.has_value());
  EXPECT_EQ(both.error().message, "--set limits excludes faults: l.csv");
}

}  // namespace
}  // namespace fairlead
