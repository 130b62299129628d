// Functions that later versions of glibc have, written for glibc 2.31. Debian's static libraries of GCC 12 call them. For
// cmake/Portable.cmake.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <span>
#include <sys/random.h>
#include <sys/single_threaded.h>

namespace {

struct Search {
  std::uintptr_t address = 0;
  void* eh_frame = nullptr;
};

// Called by dl_iterate_phdr() for each program and library until it returns 1.
int find_in(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool is_found = false;
  search.eh_frame = nullptr;
  for (const auto& part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && search.address - begin < part.p_memsz) is_found = true;
    if (part.p_type == PT_GNU_EH_FRAME) search.eh_frame = reinterpret_cast<void*>(begin);
  }
  return is_found ? 1 : 0;
}

}  // namespace

extern "C" {

// Since glibc 2.32. False is correct in every process: it makes reference counts atomic.
char __libc_single_threaded = 0;

// Since glibc 2.35. Finds the unwinding table of the code at an address, which libgcc needs for each frame of a thrown
// exception. Sets no other field, because libgcc reads no other.
int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{.address = reinterpret_cast<std::uintptr_t>(address)};
  const bool is_found = dl_iterate_phdr(find_in, &search) == 1 && search.eh_frame != nullptr;
  *result = {};
  result->dlfo_eh_frame = search.eh_frame;
  return is_found ? 0 : -1;
}

// Since glibc 2.36, for the C++ library's random_device.
std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  ssize_t got = 0;
  do {
    got = getrandom(&value, sizeof value, 0);
  } while (got == -1 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof value)) std::abort();
  return value;
}
}
