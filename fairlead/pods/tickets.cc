#include "fairlead/pods/tickets.h"

#include "fairlead/input/yaml_reader.h"

namespace fairlead {

Result<std::map<std::string, std::int64_t>> parse_tickets(std::string_view text) {
  std::map<std::string, std::int64_t> tickets;
  FL_TRY_ASSIGN(document, YamlNode::parse(text, "tickets"));
  if (document.is_empty()) return tickets;
  FL_TRY_ASSIGN(pairs, document.pairs());
  for (const YamlNode::Pair& pair : pairs) {
    FL_TRY_ASSIGN(count, pair.value.integer({1, 1'000'000}));
    tickets[pair.key] = count;
  }
  return tickets;
}

}  // namespace fairlead
