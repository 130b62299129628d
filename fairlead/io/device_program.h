// Devices that the processes of a cgroup may not open: a program for the kernel (BPF_PROG_TYPE_CGROUP_DEVICE), the
// form of cgroup v2. Source: ours; the instruction set is in the kernel's Documentation/bpf/standardization.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <span>
#include <string>

namespace fairlead {

// A character device.
struct DeviceNumber {
  std::uint32_t major_number = 0;
  std::uint32_t minor_number = 0;
  friend bool operator==(const DeviceNumber&, const DeviceNumber&) = default;
};

// Denies the processes of the group, and of the groups in it, these devices, until the group is removed. Other
// programs of the group, and of those above it, stay. Error: the kernel does not take the program. O(devices).
Status deny_devices(const std::string& group, std::span<const DeviceNumber> devices);

// Returns whether deny_devices() works for groups in this one. Tries it, and leaves nothing there.
bool can_deny_devices(const std::string& group);

}  // namespace fairlead
