#include "fairlead/http/prometheus.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Prometheus, ValuesHaveTheirFamilysNameAndQuotedLabels) {
  PrometheusText text;
  text.family("gpus", "gauge", "GPUs by state.");
  text.value(3);
  text.value({{"state", "held"}, {"by", "a\"b\\c\nd"}}, 0.5);
  EXPECT_EQ(text.text(),
            "# HELP fairlead_gpus GPUs by state.\n# TYPE fairlead_gpus gauge\nfairlead_gpus 3\n"
            "fairlead_gpus{state=\"held\",by=\"a\\\"b\\\\c\\nd\"} 0.5\n");
}

TEST(Prometheus, HistogramsCountUpToEachBound) {
  PrometheusText::Histogram times({0.5, 1});
  for (const double seconds : {0.25, 0.5, 2.0}) times.add(seconds);
  PrometheusText text;
  text.histogram("wait_seconds", "Waits.", times);
  EXPECT_NE(text.text().find("fairlead_wait_seconds_bucket{le=\"0.5\"} 2\n"
                             "fairlead_wait_seconds_bucket{le=\"1\"} 2\n"
                             "fairlead_wait_seconds_bucket{le=\"+Inf\"} 3\n"
                             "fairlead_wait_seconds_sum 2.75\nfairlead_wait_seconds_count 3\n"),
            std::string::npos);
}

}  // namespace
}  // namespace fairlead
