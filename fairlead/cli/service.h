// The daemon as a systemd service: a unit of this program, if no package installed one.
#pragma once

#include "fairlead/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Returns the unit (packaging/fairlead.service) of that program, started as `fairlead serve ARGUMENTS`.
std::string service_unit(std::string_view program, const std::vector<std::string>& arguments);

// Writes the unit, creates the group of administrators, and starts the service if systemd runs; prints its actions and
// the remaining steps. An existing unit is replaced; jobs continue meanwhile. Errors: this is not root; the machine has
// no systemd; a program fails.
Status install_service(const std::vector<std::string>& arguments);
// Stops and removes the service; running jobs continue to their end. The group and /var/lib/fairlead stay.
Status uninstall_service();

}  // namespace fairlead
