// Figures in Prometheus' text format (version 0.0.4). Names come without the program's prefix.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

class PrometheusText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // A family: its values follow. `kind`: gauge, counter, histogram.
  void family(std::string_view name, std::string_view kind, std::string_view help);
  // A value of the family, without and with labels.
  void value(double value) { add("", {}, value); }
  void value(Labels labels, double value) { add("", labels, value); }

  // Counts durations up to each bound, in seconds.
  class Histogram {
   public:
    explicit Histogram(std::vector<double> bounds_s);
    void add(double seconds);

   private:
    friend class PrometheusText;
    std::vector<double> bounds_s_;
    std::vector<std::uint64_t> counts_;  // one more than bounds
    double sum_s_ = 0;
  };
  void histogram(std::string_view name, std::string_view help, const Histogram& values);

  const std::string& text() const { return text_; }

 private:
  void add(std::string_view suffix, Labels labels, double value);

  std::string family_;
  std::string text_;
};

}  // namespace fairlead
