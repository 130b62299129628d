// `fairlead journal verify | dump | repair`.

#include "fairlead/cli/commands.h"
#include "fairlead/journal/repair.h"
#include "fairlead/report/journal_dump.h"
#include "fairlead/report/json_text.h"
#include "fairlead/report/result_files.h"
#include "fairlead/report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

// The time of the first event, behind the header.
struct FirstEvent : RecordSink {
  void on(const Record& record) override {
    const bool header = std::holds_alternative<record::Run>(record.what) ||
                        std::holds_alternative<record::Group>(record.what) ||
                        std::holds_alternative<record::User>(record.what) ||
                        std::holds_alternative<record::Node>(record.what);
    if (seen || header) return;
    seen = true;
    t = record.t;
  }
  bool seen = false;
  Time t;
};

fs::path journal_in(const std::string& given) {
  std::error_code ignored;
  return fs::is_directory(given, ignored) ? fs::path(given) / kJournalName : fs::path(given);
}

std::string_view state_name(JournalEnd::State state) {
  switch (state) {
    case JournalEnd::State::kFinished:
      return "finished";
    case JournalEnd::State::kUnfinished:
      return "unfinished";
    case JournalEnd::State::kDamaged:
      break;
  }
  return "damaged";
}

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count_text(static_cast<std::int64_t>(count)), what,
                     count == 1 ? "" : "s");
}

// Describes the part of a journal that a cut after the last good block would lose.
std::string rest_text(const BlocksRest& rest) {
  std::string text = counted(rest.bytes, "byte");
  if (rest.blocks > 0) {
    text += fmt::format(" with {} in {}", counted(rest.records, "record"),
                        counted(rest.blocks, "whole block"));
  }
  if (rest.torn_records) {
    text += fmt::format(", {} in the block that is not", counted(*rest.torn_records, "record"));
  }
  return text;
}

// One journal that was looked at.
struct Verified {
  std::string file;
  JournalEnd end;
  Time first;
  std::string problem;  // also of the summary beside it
};

Result<Verified> verify(const std::string& given) {
  Verified verified{.file = journal_in(given).string(), .end = {}, .first = {}, .problem = {}};
  FirstEvent first;
  FL_TRY_ASSIGN(end, read_journal(verified.file, first));
  verified.first = first.t;
  verified.problem = end.problem;
  verified.end = std::move(end);
  if (verified.end.state == JournalEnd::State::kFinished) {
    FL_TRY_ASSIGN(summary, summary_beside(verified.file));
    if (const Status same = check_journal_of(summary, verified.file, verified.end); !same) {
      verified.problem = same.error().message;
    }
  }
  return verified;
}

std::string verified_text(const Verified& verified) {
  const JournalEnd& end = verified.end;
  std::string text =
      fmt::format("{}: {}: {} in {}, {} to {} s, hash {}\n", verified.file, state_name(end.state),
                  counted(end.records, "record"), counted(end.blocks, "block"),
                  to_seconds(verified.first), to_seconds(end.last), hash_text(end.hash));
  if (!verified.problem.empty()) text += fmt::format("  {}\n", verified.problem);
  if (end.rest.bytes == 0) return text;
  return text + fmt::format("  {} from byte {} on: {}; `fairlead journal repair{}` cuts there\n",
                            end.state == JournalEnd::State::kUnfinished ? "torn tail" : "lost",
                            end.bytes, rest_text(end.rest), end.rest.blocks > 0 ? " --cut" : "");
}

std::string verified_json(const Verified& verified) {
  const JournalEnd& end = verified.end;
  nlohmann::ordered_json json = {{"file", verified.file},
                                 {"state", state_name(end.state)},
                                 {"problem", verified.problem},
                                 {"records", end.records},
                                 {"blocks", end.blocks},
                                 {"bytes", end.bytes},
                                 {"first_s", to_seconds(verified.first)},
                                 {"last_s", to_seconds(end.last)},
                                 {"hash", hash_text(end.hash)},
                                 {"rest_bytes", end.rest.bytes},
                                 {"rest_blocks", end.rest.blocks},
                                 {"rest_records", end.rest.records}};
  if (verified.problem.empty()) json["problem"] = nullptr;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// Returns the exit code: unfinished journals are a run that failed, damaged ones bad input.
Status outcome(const JournalEnd& end, const std::string& file, bool damaged) {
  if (damaged) return input_error("{}: damaged: see the message above", file);
  if (end.state == JournalEnd::State::kUnfinished) {
    return run_error("{}: unfinished: the run goes on, or was cut off", file);
  }
  return {};
}

Command add_verify(CLI::App& journal) {
  CLI::App* app =
      journal.add_subcommand("verify", "Check that journals are complete and unchanged");
  struct Flags {
    std::vector<std::string> files;
    bool json = false;
  };
  const auto flags = std::make_shared<Flags>();
  app->add_option("FILE", flags->files, "journals, or result folders with one")->required();
  app->add_flag("--json", flags->json, "print a line of JSON for each instead of text");
  app->footer(
      "Every block is checked: its bytes, its place, its hash and its records, and the hash of "
      "all\n"
      "against the journal_hash of a summary.json beside it.\n"
      "  finished    the end record is there, and nothing after it\n"
      "  unfinished  the run goes on, or was cut off; a last block that was half written is a "
      "torn\n"
      "              tail, and everything before it is good\n"
      "  damaged     bytes were changed, lost or added; the message names the first bad position\n"
      "Exit code: 0 all are finished, 1 some are unfinished, 2 some are damaged or no journals.\n"
      "\n"
      "Examples:\n"
      "  fairlead journal verify out/journal.flj\n"
      "  fairlead journal verify --json out/cmp/* | jq -r 'select(.state != \"finished\").file'\n");
  return {app, [flags]() -> Status {
            Status worst;
            const auto note = [&worst](Status status) {
              const bool better = !worst && worst.error().kind == Error::Kind::kInput;
              if (!status && !better) worst = std::move(status);
            };
            for (const std::string& file : flags->files) {
              const Result<Verified> verified = verify(file);
              if (!verified) {
                if (flags->files.size() > 1) {
                  fmt::print(stderr, "fairlead: {}\n", verified.error().message);
                }
                note(tl::unexpected(verified.error()));
                continue;
              }
              fmt::print("{}", flags->json ? verified_json(*verified) : verified_text(*verified));
              note(outcome(verified->end, verified->file, !verified->problem.empty()));
            }
            return worst;
          }};
}

Command add_dump(CLI::App& journal) {
  CLI::App* app = journal.add_subcommand("dump", "Print the records of a journal");
  struct Flags {
    std::string file;
    bool csv = false;
    bool json = false;
  };
  const auto flags = std::make_shared<Flags>();
  app->add_option("FILE", flags->file, "the journal, or a result folder with one")->required();
  auto* csv = app->add_flag("--csv", flags->csv, "a table with a column for every field");
  app->add_flag("--json", flags->json, "an object per line, with the fields of its kind (default)")
      ->excludes(csv);
  app->footer(
      "Jobs, users, nodes and GPU types are numbered from 0 in the order of the journal; times "
      "are\n"
      "in milliseconds. docs/formats.md explains each field. If a journal is "
      "unfinished\n"
      "or damaged, the records before that are printed; exit codes are the same as for verify.\n"
      "\n"
      "Examples:\n"
      "  fairlead journal dump out | head\n"
      "  fairlead journal dump out --csv > records.csv\n"
      "  fairlead journal dump out | jq -c 'select(.kind == \"place\" and .place == \"migrate\")'\n"
      "  fairlead journal dump out | grep '\"job\":17[,}]'        the life of one job\n");
  return {app, [flags]() -> Status {
            const auto form = flags->csv ? JournalDump::Form::kCsv : JournalDump::Form::kJson;
            JournalDump dump(form, [](std::string_view text) {
              std::fwrite(text.data(), 1, text.size(), stdout);
            });
            const fs::path file = journal_in(flags->file);
            FL_TRY_ASSIGN(end, read_journal(file, dump));
            if (end.state == JournalEnd::State::kDamaged) return input_error("{}", end.problem);
            return outcome(end, file.string(), false);
          }};
}

std::string repair_text(const Repair& repair, const std::string& output) {
  const JournalEnd& end = repair.end;
  std::string text;
  if (const auto& restored = repair.blocks.restored; !restored.empty()) {
    text += fmt::format("{}: restored {}, at {}\n", output,
                        counted(restored.size(), "changed byte"), fmt::join(restored, ", "));
  }
  if (const std::uint64_t dropped = repair.blocks.dropped; dropped > 0) {
    text += fmt::format("{}: dropped {} between blocks\n", output, counted(dropped, "byte"));
  }
  if (end.rest.bytes > 0) {
    text += fmt::format("{}: cut at byte {}: {}\n", output, end.bytes, rest_text(end.rest));
  }
  if (repair.lost.last > end.blocks) {
    text += fmt::format("lost: blocks {} to {}, at least {} s from {} s on, {} that came\n",
                        end.blocks + 1, repair.lost.last, to_seconds(repair.lost.span),
                        to_seconds(end.last), counted(repair.lost.jobs, "job"));
  }
  if (text.empty()) text = fmt::format("{}: nothing to repair\n", output);
  return text + fmt::format("it has {} in {}, up to {} s\n", counted(end.records, "record"),
                            counted(end.blocks, "block"), to_seconds(end.last));
}

Command add_repair(CLI::App& journal) {
  CLI::App* app = journal.add_subcommand(
      "repair", "Restore changed bytes of a journal, and cut the part that cannot be read");
  struct Flags {
    std::string file;
    std::string output;
    bool cut = false;
  };
  const auto flags = std::make_shared<Flags>();
  app->add_option("FILE", flags->file, "the journal, or a result folder with one")->required();
  app->add_option("-o,--output", flags->output,
                  "where to write it (default: in place; the original stays as FILE.damaged)")
      ->type_name("FILE");
  app->add_flag("--cut", flags->cut,
                "cut at damage in the middle too, and lose the whole blocks that follow it");
  app->footer(
      "A killed run may leave half of its last block, and other programs may append bytes.\n"
      "repair cuts both. It restores changed bytes, one in each block, and drops bytes between\n"
      "two blocks; the check value and the hash of a block prove the result. A block with more\n"
      "damage is lost. So are all blocks after it, because they are changes of a lost state:\n"
      "only --cut cuts there. A journal that was cut off stays unfinished.\n"
      "\n"
      "The daemon of `serve` restores changed bytes itself. After --cut it continues from an\n"
      "earlier time: it does not know jobs that were submitted later, and ends their processes.\n"
      "\n"
      "Examples:\n"
      "  fairlead journal repair out/journal.flj\n"
      "  fairlead journal repair broken.flj --cut -o begin.flj\n");
  return {app, [flags]() -> Status {
            const fs::path file = journal_in(flags->file);
            const fs::path output = flags->output.empty() ? file : fs::path(flags->output);
            FL_TRY_ASSIGN(repair, repair_journal(file, output, flags->cut));
            fmt::print("{}", repair_text(repair, output.string()));
            return {};
          }};
}

}  // namespace

std::vector<Command> add_journal(CLI::App& root) {
  CLI::App* journal = root.add_subcommand("journal", "Verify, print and repair journals of runs");
  journal->require_subcommand(1);
  journal->footer(
      "Examples:\n"
      "  fairlead journal verify out/fifo                      is it whole?\n"
      "  fairlead journal dump out/fifo/journal.flj            its records as lines of JSON\n"
      "  fairlead journal repair broken.flj                    what of it can be saved?\n");
  return {add_verify(*journal), add_dump(*journal), add_repair(*journal)};
}

}  // namespace fairlead
