// For std::visit: a set of functions, one for each kind of value.
//
//   std::visit(Overloaded{[&](const record::Place& place) { ... },
//                         [&](const OneOf<record::Stop, record::Evicted> auto& stop) { ... },
//                         [](const auto&) {}},  // the other kinds
//              record.what);
#pragma once

#include <concepts>

namespace fairlead {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

template <class T, class... Kinds>
concept OneOf = (std::same_as<T, Kinds> || ...);

}  // namespace fairlead
