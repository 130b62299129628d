#include "fairlead/journal/impossible.h"

#include "fairlead/base/overloaded.h"

namespace fairlead {
namespace {

// Finds the first field that is out of its range.
class OutOfRange {
 public:
  void operator()(std::string_view name, Time value) { expect(in_range(value), name); }
  void operator()(std::string_view name, Duration value) { expect(in_range(value), name); }
  void operator()(std::string_view name, GpuTime value) { expect(value >= GpuTime{}, name); }
  void operator()(std::string_view name, Rate value) { expect(value.fixed >= 0, name); }
  void operator()(std::string_view, const auto&) {}
  void unless(auto value, std::string_view name, const auto& field) {
    if (field != value) (*this)(name, field);
  }
  void extra(std::string_view name, auto value, const auto& range) {
    expect(value == 0 || range.has(value), name);
  }
  template <class Enum>
  void enumerator(std::string_view name, Enum value, std::size_t count,
                  std::string_view (*)(Enum)) {
    expect(static_cast<std::size_t>(value) < count, name);
  }
  void mask(std::string_view, std::uint64_t) {}
  void profile(const JobProfile& profile) { expect(profile.is_plausible(), "the profile"); }
  void job(const JobSpec& asked) {
    JobSpec::fields(asked, *this);
    const bool in_tasks = asked.gpus % asked.task_gpus == 0 &&
                          asked.gpus_min % asked.task_gpus == 0 &&
                          asked.gpus_max % asked.task_gpus == 0;
    expect(in_tasks, "the gang in tasks");
  }

  std::string problem() const {
    return first_.empty() ? std::string() : std::string(first_) + " is out of range";
  }

 private:
  static bool in_range(auto time) { return time.ms >= 0 && time.ms <= kTimeMax.ms; }
  void expect(bool is_true, std::string_view name) {
    if (!is_true && first_.empty()) first_ = name;
  }

  std::string_view first_;
};

void look(OutOfRange& visit, const record::Place& place) {
  visit.enumerator("place", place.kind, kPlaceKinds, place_kind_name);
  visit("rate", place.rate);
  visit("overhead_ms", place.overhead);
  visit("locality", place.locality);
}
void look(OutOfRange& visit, const record::Reported& reported) {
  // A job that has nothing left has finished.
  visit("left_ms", reported.left == Duration{} ? Duration{-1} : reported.left);
}
void look(OutOfRange& visit, const record::Profiled& profiled) { visit.profile(profiled.profile); }
void look(OutOfRange&, const OneOf<record::Run, record::Snapshot, Note> auto&) {}
template <class What>
void look(OutOfRange& visit, const What& what) {
  What::fields(what, visit);
}

}  // namespace

std::string impossible(const Record& record) {
  OutOfRange visit;
  std::visit([&](const auto& what) { look(visit, what); }, record.what);
  return visit.problem();
}

}  // namespace fairlead
