#include "fairlead/io/device_program.h"

#include "fairlead/io/descriptor.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace fairlead {
namespace {

// The part of access_type with the kind of device; the access is above it.
constexpr std::uint32_t kTypeMask = 0xFFFF;

int call_bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

bpf_insn instruction(std::uint32_t code, std::uint8_t subject, std::uint32_t value = 0) {
  bpf_insn made{};
  made.code = static_cast<std::uint8_t>(code);
  made.dst_reg = subject & 0xF;
  made.imm = static_cast<std::int32_t>(value);
  return made;
}
// Loads a word of the context, to which the first register points.
bpf_insn load_word(std::uint8_t into, std::size_t offset) {
  bpf_insn made = instruction(BPF_LDX | BPF_MEM | BPF_W, into);
  made.src_reg = BPF_REG_1;
  made.off = static_cast<std::int16_t>(offset);
  return made;
}
// Passes over so many instructions if the condition holds.
bpf_insn jump(std::uint32_t condition, std::uint8_t subject, std::uint32_t value,
              std::size_t over) {
  bpf_insn made = instruction(BPF_JMP | BPF_K | condition, subject, value);
  made.off = static_cast<std::int16_t>(over);
  return made;
}
bpf_insn compute(std::uint32_t operation, std::uint8_t into, std::uint32_t value) {
  return instruction(BPF_ALU64 | BPF_K | operation, into, value);
}

// Returns a program that returns 0 for these devices and 1 for all others.
std::vector<bpf_insn> program_for(std::span<const DeviceNumber> devices) {
  constexpr std::size_t kEach = 2;   // instructions for a device
  constexpr std::size_t kAllow = 2;  // instructions that allow
  std::vector<bpf_insn> program = {
      load_word(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, access_type)),
      load_word(BPF_REG_3, offsetof(bpf_cgroup_dev_ctx, major)),
      load_word(BPF_REG_4, offsetof(bpf_cgroup_dev_ctx, minor)),
      compute(BPF_AND, BPF_REG_2, kTypeMask),
      jump(BPF_JNE, BPF_REG_2, BPF_DEVCG_DEV_CHAR, kEach * devices.size()),
  };
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::size_t left = devices.size() - i - 1;
    program.push_back(jump(BPF_JNE, BPF_REG_3, devices[i].major_number, 1));
    program.push_back(jump(BPF_JEQ, BPF_REG_4, devices[i].minor_number, kEach * left + kAllow));
  }
  for (const std::uint32_t is_allowed : {1U, 0U}) {
    if (is_allowed == 0 && devices.empty()) break;  // the kernel refuses code that nothing reaches
    program.push_back(compute(BPF_MOV, BPF_REG_0, is_allowed));
    program.push_back(instruction(BPF_JMP | BPF_EXIT, 0));
  }
  return program;
}

Descriptor load(const std::vector<bpf_insn>& program) {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insns = reinterpret_cast<std::uintptr_t>(program.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(program.size());
  attributes.license = reinterpret_cast<std::uintptr_t>("");  // it calls no function of the kernel
  return Descriptor(call_bpf(BPF_PROG_LOAD, attributes));
}

// Attaches a program to a group, or detaches it. False: errno.
bool bind(int command, const Descriptor& group, const Descriptor& program) {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.target_fd = static_cast<std::uint32_t>(group.get());
  attributes.attach_bpf_fd = static_cast<std::uint32_t>(program.get());
  attributes.attach_type = BPF_CGROUP_DEVICE;
  attributes.attach_flags = command == BPF_PROG_ATTACH ? BPF_F_ALLOW_MULTI : 0;
  return call_bpf(command, attributes) == 0;
}

Descriptor open_group(const std::string& group) {
  return Descriptor(::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

Status deny_devices(const std::string& group, std::span<const DeviceNumber> devices) {
  const Descriptor folder = open_group(group);
  const Descriptor program = load(program_for(devices));
  if (folder.is_open() && program.is_open() && bind(BPF_PROG_ATTACH, folder, program)) return {};
  return run_error("{}: cannot limit the devices: {}", group, std::strerror(errno));
}

bool can_deny_devices(const std::string& group) {
  const Descriptor folder = open_group(group);
  const Descriptor program = load(program_for({}));
  return folder.is_open() && program.is_open() && bind(BPF_PROG_ATTACH, folder, program) &&
         bind(BPF_PROG_DETACH, folder, program);
}

}  // namespace fairlead
