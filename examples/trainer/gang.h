// The ranks of a data-parallel job, connected over TCP: rank 0 adds up what all of them have.
//
// A member that ends takes the others with it: their next sum() fails.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainer {

class Gang {
 public:
  // Waits up to a minute until all `size` ranks are there; rank 0 listens at host:port. Nothing, and
  // why in `error`: they did not come. REQUIRES: 0 <= rank < size.
  static std::optional<Gang> join(int rank, int size, const std::string& host,
                                  const std::string& port, std::string& error);
  Gang(Gang&& other) noexcept;
  Gang& operator=(Gang&&) = delete;
  ~Gang();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Gives each rank the sum of the `values` of all, added in the order of ranks, so that a run can be
  // repeated to the bit. False: a member is gone.
  bool sum(std::span<double> values);

 private:
  Gang(int rank, int size) : rank_(rank), size_(size) {}
  bool gather(std::span<double> values);
  bool accept_all(int listener);

  int rank_;
  int size_;
  std::vector<int> peers_;  // of rank 0: sockets of ranks 1, 2, ...; of another: the one to rank 0
  std::vector<double> others_;  // what came from one rank
};

}  // namespace trainer
