// Tests that exceptions pass code of the program and of libc.so, in the first thread and in another one, where they are linked
// with old_glibc.cc. packaging/make runs it. Exits 1 if an exception is not caught.
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

bool catches_own() {
  const auto counted = std::make_shared<std::string>("no number");
  try {
    const std::shared_ptr<std::string> other = counted;
    return std::stoi(*other) == 0;
  } catch (const std::invalid_argument&) {
    return counted.use_count() == 1;
  }
}

// Called by bsearch(), whose frame is in libc.so and has another unwinding table.
int fail(const void* text, const void*) { return std::stoi(static_cast<const char*>(text)); }

bool catches_through_libc() {
  const char item = 0;
  try {
    return std::bsearch("no number", &item, 1, 1, fail) != nullptr;
  } catch (const std::invalid_argument&) {
    return true;
  }
}

bool catches() { return catches_own() && catches_through_libc(); }

}  // namespace

int main() {
  bool catches_in_thread = false;
  std::thread([&] { catches_in_thread = catches(); }).join();
  return catches() && catches_in_thread ? EXIT_SUCCESS : EXIT_FAILURE;
}
