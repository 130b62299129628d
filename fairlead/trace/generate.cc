#include "fairlead/trace/generate.h"

#include "fairlead/base/rng.h"
#include "fairlead/trace/load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace fairlead {
namespace {

struct Quantile {
  double part;     // fraction of all jobs ...
  double seconds;  // ... that run at most this time
};
constexpr std::array<Quantile, 20> kPhilly = {
    {{0, 1},          {0.01, 17},      {0.05, 48},       {0.1, 61},         {0.25, 115},
     {0.4, 599},      {0.5, 1144},     {0.75, 2932},     {0.85, 5903},      {0.9, 11266},
     {0.925, 18343},  {0.95, 43648},   {0.97, 92057},    {0.98, 147876},    {0.99, 254884},
     {0.995, 430658}, {0.998, 784770}, {0.999, 1186475}, {0.9999, 2730719}, {1, 4628226}}};

double philly_seconds(double part) {
  std::size_t above = 1;
  while (above + 1 < kPhilly.size() && kPhilly[above].part < part) ++above;
  const Quantile& low = kPhilly[above - 1];
  const Quantile& high = kPhilly[above];
  const double along = (part - low.part) / (high.part - low.part);
  return low.seconds * std::pow(high.seconds / low.seconds, along);
}

// Shares drawn by weight.
template <class Share>
class Draw {
 public:
  explicit Draw(const std::vector<Share>& shares) : shares_(shares) {
    for (const Share& share : shares) weights_.push_back(share.weight);
  }
  const Share& operator()(Rng& rng) const { return shares_[rng.weighted(weights_)]; }

 private:
  const std::vector<Share>& shares_;
  std::vector<double> weights_;
};

// Turns sorted points of 0..1 into times of 0..span, with a density that follows the day.
class DailyCycle {
 public:
  DailyCycle(double span_h, double swing) {
    for (std::size_t hour = 0; hour < rates_.size(); ++hour) {
      const double angle = 2 * std::numbers::pi * (static_cast<double>(hour) + 0.5 - 14) / 24;
      rates_[hour] = 1 + swing * std::cos(angle);
    }
    const double whole = std::floor(span_h);
    for (double hour = 0; hour < whole; ++hour) total_ += rate(hour);
    total_ += rate(whole) * (span_h - whole);
  }

  // REQUIRES: points come in increasing order.
  Time time(double point) {
    FL_DCHECK(point >= 0 && point < 1 && point * total_ >= before_, "point {}", point);
    const double target = point * total_;
    for (; before_ + rate(hour_) <= target; ++hour_) before_ += rate(hour_);
    const double hours = hour_ + (target - before_) / rate(hour_);
    return {static_cast<std::int64_t>(hours * 3'600'000)};
  }

 private:
  double rate(double hour) const { return rates_[static_cast<std::size_t>(std::fmod(hour, 24.0))]; }

  std::array<double, 24> rates_{};  // rate of each hour of the day, relative to the mean
  double total_ = 0;                // the sum over the span
  double hour_ = 0;                 // hour of the last point
  double before_ = 0;               // the sum over the hours before it
};

// The jobs' sizes and lengths; arrivals are drawn later.
struct Shape {
  std::int64_t gpus;
  Duration duration;
};

std::vector<Shape> draw_shapes(const GenerateOptions& options, Rng rng) {
  const Draw gang(options.gangs);
  std::vector<Shape> shapes(static_cast<std::size_t>(options.jobs));
  for (Shape& shape : shapes) {
    const double ms = 1000 * options.duration_scale * philly_seconds(rng.uniform());
    shape.duration.ms = std::max<std::int64_t>(1, std::llround(ms));
    shape.gpus = gang(rng).gpus;
  }
  return shapes;
}

double span_hours(const GenerateOptions& options, const std::vector<Shape>& shapes) {
  if (options.jobs_per_hour > 0) return static_cast<double>(options.jobs) / options.jobs_per_hour;
  double gpu_hours = 0;
  for (const Shape& shape : shapes)
    gpu_hours += static_cast<double>(shape.gpus) * to_seconds(shape.duration) / 3600;
  return hours_at_load(gpu_hours, options.load, options.capacity_gpus);
}

// A Poisson process that has `count` arrivals in a span: its gaps are exponential, scaled to fit.
std::vector<double> draw_points(std::size_t count, Rng rng) {
  std::vector<double> points(count);
  double sum = 0;
  for (double& point : points) point = sum += rng.exponential(1);
  sum += rng.exponential(1);
  for (double& point : points) point /= sum;
  return points;
}

Status check_numbers(const GenerateOptions& options) {
  if (options.jobs < 1 || options.jobs > 1'000'000'000)
    return input_error("jobs must be from 1 to 1000000000: {}", options.jobs);
  if (options.jobs_per_hour < 0 || !std::isfinite(options.jobs_per_hour))
    return input_error("jobs per hour must not be negative: {}", options.jobs_per_hour);
  if (options.capacity_gpus < 1)
    return input_error("capacity must be at least 1 GPU: {}", options.capacity_gpus);
  if (!(options.load > 0) || !std::isfinite(options.load))
    return input_error("load must be above 0: {}", options.load);
  if (!(options.daily_swing >= 0 && options.daily_swing <= 1))
    return input_error("daily swing must be from 0 to 1: {}", options.daily_swing);
  // Above 600, the longest jobs would pass 100 years.
  if (!(options.duration_scale > 0 && options.duration_scale <= 600))
    return input_error("duration scale must be above 0 and at most 600: {}",
                       options.duration_scale);
  return {};
}

Status check_shares(const GenerateOptions& options) {
  if (!weights_fit(options.gangs) || !weights_fit(options.models) || !weights_fit(options.users))
    return input_error("weights of gangs, models and users must not be negative or all zero");
  for (const GangShare& gang : options.gangs) {
    if (gang.gpus < 1 || gang.gpus > kJobGpusMax)
      return input_error("gang size must be from 1 to {}: {}", kJobGpusMax, gang.gpus);
  }
  for (const UserShare& user : options.users) {
    if (user.tickets < 1 || user.tickets > kTicketsMax)
      return input_error("tickets must be from 1 to {}: {}", kTicketsMax, user.tickets);
  }
  return {};
}

}  // namespace

std::vector<UserShare> unequal_users(std::int64_t count, const std::vector<std::int64_t>& tickets) {
  FL_CHECK(!tickets.empty() && count >= 0, "{} users", count);
  std::vector<UserShare> users;
  for (std::int64_t n = 1; n <= count; ++n) {
    const std::size_t turn = static_cast<std::size_t>(n - 1) % tickets.size();
    users.push_back({fmt::format("user-{}", n), tickets[turn], 1 / static_cast<double>(n)});
  }
  return users;
}

Result<Workload> generate(const GenerateOptions& options) {
  FL_TRY(check_numbers(options));
  FL_TRY(check_shares(options));
  // Each purpose has its own stream: another list of models does not change arrivals and durations.
  const Rng root(options.seed);
  const std::vector<Shape> shapes = draw_shapes(options, root.split(1));
  const double span_h = span_hours(options, shapes);
  if (!(span_h * 3'600'000 <= static_cast<double>(kMsMax)))
    return input_error("the arrivals would take more than 100 years; raise the load: {} hours",
                       span_h);
  const std::vector<double> points = draw_points(shapes.size(), root.split(2));
  DailyCycle cycle(span_h, options.daily_swing);
  Rng rng = root.split(3);
  const Draw model(options.models);
  const Draw user(options.users);
  WorkloadBuilder builder(fmt::format("generated-{}", options.seed), Reading::kStrict);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::string id = fmt::format("job-{}", i + 1);
    const UserShare& owner = user(rng);
    FL_TRY(builder.add({.id = id,
                        .user = owner.name,
                        .model = model(rng).name,
                        .gpus = shapes[i].gpus,
                        .submit = cycle.time(points[i]),
                        .duration = shapes[i].duration,
                        .tickets = owner.tickets},
                       Where("generated", static_cast<std::int64_t>(i) + 1)));
  }
  return builder.finish();
}

}  // namespace fairlead
