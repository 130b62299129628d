// The ranks of a data-parallel job, connected over TCP: rank 0 adds up the values of all.
//
// If a member ends, the next sum() of the others fails.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainer {

class Gang {
 public:
  // Waits up to a minute until all `size` ranks are connected; rank 0 listens at host:port. Returns
  // nothing and sets `error` if they did not connect. REQUIRES: 0 <= rank < size.
  static std::optional<Gang> join(int rank, int size, const std::string& host,
                                  const std::string& port, std::string& error);
  Gang(Gang&& other) noexcept;
  Gang& operator=(Gang&&) = delete;
  ~Gang();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Replaces each rank's `values` by the sum over all ranks, added in the order of ranks, so that runs
  // repeat to the bit. Returns false if a member is gone.
  bool sum(std::span<double> values);

 private:
  Gang(int rank, int size) : rank_(rank), size_(size) {}
  bool gather(std::span<double> values);
  bool accept_all(int listener);

  int rank_;
  int size_;
  std::vector<int> peers_;  // rank 0: sockets of ranks 1, 2, ...; other ranks: the socket to rank 0
  std::vector<double> others_;  // the values of one rank
};

}  // namespace trainer
