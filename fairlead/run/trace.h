// The jobs of a run: read from a trace file, or given as rows.
//
//   const Trace trace = Trace::read("jobs.csv.gz").value();
//   const JobRow rows[] = {{.id = "a", .gpus = 4, .submit = {0}, .duration = seconds(3600)}};
//   const Trace trace = Trace::of("two jobs", rows).value();
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/job_row.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace fairlead {

struct ReadOptions;  // trace/trace.h
struct Workload;     // model/workload.h

class Trace {
 public:
  // Reads a file of any known format (trace/trace.h); the trace's name is the file's.
  static Result<Trace> read(const std::string& path);
  static Result<Trace> read(const std::string& path, const ReadOptions& options);
  // Error: a row that no job can be, named by its number, from 1.
  static Result<Trace> of(const std::string& name, std::span<const JobRow> rows);

  // What a generator of the module trace made, or another part of Fairlead has changed.
  explicit Trace(Workload workload);
  Trace(const Trace& other);
  Trace(Trace&& other) noexcept;
  Trace& operator=(Trace other) noexcept;
  ~Trace();

  const std::string& name() const;
  std::size_t jobs() const;
  // What was read, as the modules below this one see it. REQUIRES: not moved from.
  const Workload& workload() const { return *workload_; }

 private:
  friend class Simulation;
  std::unique_ptr<Workload> workload_;  // null once moved from
};

}  // namespace fairlead
