// A library of a driver, loaded at run time.
#pragma once

#include <csignal>
#include <dlfcn.h>
#include <memory>
#include <span>
#include <string>

namespace fairlead {

// Blocks all signals of this thread, and so of the threads that a library starts meanwhile. Libraries of drivers keep
// threads; one without the mask would take the daemon's SIGTERM, which then ends the daemon.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

class DriverLibrary {
 public:
  // Loads the first of the libraries that exists. REQUIRES: there is a name.
  explicit DriverLibrary(std::span<const std::string> names) {
    const BlockedSignals blocked;
    for (const std::string& name : names) {
      name_ = name;
      library_.reset(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
      if (library_ != nullptr) return;
    }
    name_ = names.front();
  }

  bool is_open() const { return library_ != nullptr; }
  // The name of the library that was loaded, else the first one.
  const std::string& name() const { return name_; }

  // Sets the function of that name; null and false: the library has none. REQUIRES: is_open().
  template <class Function>
  bool find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(::dlsym(library_.get(), name));
    return function != nullptr;
  }

 private:
  struct Close {
    void operator()(void* library) const { ::dlclose(library); }
  };
  std::unique_ptr<void, Close> library_;
  std::string name_;
};

}  // namespace fairlead
