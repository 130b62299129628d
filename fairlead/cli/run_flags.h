// The common flags of simulate and compare, and the flags of every command that reads a trace.
#pragma once

#include "fairlead/base/time_text.h"
#include "fairlead/compare/run_flags.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Declares the flags for reading a trace on `app`, which writes to `flags`; `flags` must outlive it.
void add_read_flags(CLI::App& app, ReadFlags& flags);

// Declares a whole number from 0 to 2^64 - 1. CLI11 alone reads a larger one as the largest.
CLI::Option* add_whole_number(CLI::App& app, const std::string& name, std::uint64_t& value,
                              const std::string& help);

// Returns a check for whole numbers from `least`, whose error names them.
CLI::Validator at_least(std::int64_t least);

// The help of --decision-budget.
constexpr std::string_view kBudgetHelp =
    "searches for a place for a waiting job in one decision; the policy's option decision_budget "
    "takes precedence; 0: no limit";

// --units, of the tables that a command prints.
void add_units_flag(CLI::App& app, TimeUnits& units);

// Declares the flags for cluster, trace and settings of a run. `flags` must outlive `app`. `out_help`: the meaning of
// --out, and its default. `clusters`: the values of --cluster, which may then be repeated; null: flags.cluster has the one.
void add_input_flags(CLI::App& app, RunFlags& flags, const std::string& out_help,
                     std::vector<std::string>* clusters = nullptr);

// Declares all flags of a run.
void add_run_flags(CLI::App& app, RunFlags& flags, const std::string& out_help,
                   std::vector<std::string>* clusters = nullptr);

}  // namespace fairlead
