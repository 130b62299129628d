// `fairlead man`: manual pages of this program and its commands, from the content of --help.

#include "fairlead/cli/man.h"

#include "fairlead/cli/commands.h"
#include "fairlead/report/json.h"
#include "fairlead/report/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>

namespace fairlead {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Escapes text of one or more lines: backslashes, literal hyphens, and line starts that look like a request.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_within_list =
        c == '|' || (c == ',' && at + 1 < text.size() && is_letter(text[at + 1]));
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    if (is_within_list) out += "\\:";  // a long list of choices or options may be broken there
  }
  return out;
}

// Returns the argument of a macro.
std::string argument(std::string_view text) {
  std::string out;
  for (const char c : roff(text)) out += c == '"' ? "\\(dq" : std::string(1, c);
  return "\"" + out + "\"";
}

// "fairlead-trace-convert"
std::string file_name(const CommandPage& page) {
  std::string name = page.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

// "-o, --output FILE"
std::string heading(const Argument& flag) {
  std::string text =
      fmt::format("\\fB{}\\fR", roff(fmt::format("{}", fmt::join(flag.names, ", "))));
  return flag.takes.empty() ? text : text + " \\fI" + roff(flag.takes) + "\\fR";
}

// "DIR [JOB]", "FILE..."
std::string shown(const Argument& positional) {
  const std::string name = positional.names.front() + (positional.many ? "..." : "");
  return positional.required ? name : "[" + name + "]";
}

std::string synopsis(const CommandPage& page) {
  std::string text = ".B " + roff(page.name) + "\n";
  for (const Argument& flag : page.flags) {
    if (flag.required) text += heading({.names = {flag.names.back()}, .takes = flag.takes}) + "\n";
  }
  text += "[\\fIOPTIONS\\fR]\n";
  for (const Argument& positional : page.positionals) text += roff(shown(positional)) + "\n";
  if (!page.commands.empty()) text += "\\fICOMMAND\\fR ...\n";
  return text;
}

std::string entries(const std::vector<Argument>& arguments) {
  std::string text;
  for (const Argument& one : arguments) {
    text += fmt::format(".TP\n{}\n{}{}\n", heading(one), roff(one.help),
                        one.required ? " (required)" : "");
  }
  return text;
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

std::string commands_of(const CommandPage& page) {
  std::string text;
  for (const CommandPage& below : page.commands) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(below.word()), roff(below.about));
  }
  return text;
}

// Examples and notes have lines of their own.
std::string notes_of(const CommandPage& page) {
  std::string_view text = page.footer;
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text.empty() ? "" : fmt::format(".nf\n{}\n.fi\n", roff(text));
}

// Returns the program and the pages above and below.
std::string see_also(const CommandPage& page, const CommandPage& root) {
  std::vector<std::string> names;
  for (const CommandPage* other : all_pages(root)) {
    const bool above = page.name.starts_with(other->name + " ");
    const bool below = std::ranges::any_of(
        page.commands, [&](const CommandPage& c) { return c.name == other->name; });
    if (above || below) names.push_back(fmt::format("\\fB{}\\fR(1)", roff(file_name(*other))));
  }
  return names.empty() ? "" : fmt::format("{}\n", fmt::join(names, ",\n"));
}

constexpr std::string_view kExitStatus =
    "0: done. 1: the run failed. 2: bad usage or input. \\fBfairlead run\\fR ends as its command "
    "does.\n";

// Returns the page of the command that the words name.
Result<const CommandPage*> find_page(const CommandPage& root,
                                     const std::vector<std::string>& words) {
  const std::string name =
      words.empty() ? root.name : fmt::format("{} {}", root.name, fmt::join(words, " "));
  for (const CommandPage* page : all_pages(root)) {
    if (page->name == name) return page;
  }
  return input_error("no such command (fairlead --help): {}", fmt::join(words, " "));
}

Status write_all(const CommandPage& root, const std::string& out) {
  FL_TRY_ASSIGN(folder, ResultFolder::open(out));
  for (const CommandPage* page : all_pages(root)) {
    const std::string name = file_name(*page) + ".1";
    FL_TRY_ASSIGN(file, OutputFile::create(folder.file(name)));
    file.write(manual_page(*page, root));
    FL_TRY(folder.add(std::move(file), name));
  }
  FL_TRY(folder.keep());
  return {};
}

}  // namespace

std::string manual_page(const CommandPage& page, const CommandPage& root) {
  std::string title = file_name(page);
  std::ranges::transform(title, title.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  std::string text = fmt::format(".TH {} 1 \"\" {} \"User Commands\"\n.nh\n.ad l\n",
                                 argument(title), argument(fmt::format("fairlead {}", version())));
  text += section("NAME", fmt::format("{} \\- {}\n", roff(file_name(page)), roff(page.about)));
  text += section("SYNOPSIS", synopsis(page));
  text += section("ARGUMENTS", entries(page.positionals));
  text += section("OPTIONS", entries(page.flags));
  text += section("COMMANDS", commands_of(page));
  text += section("EXAMPLES AND NOTES", notes_of(page));
  text += section("EXIT STATUS", std::string(kExitStatus));
  return text + section("SEE ALSO", see_also(page, root));
}

Command add_man(CLI::App& root) {
  struct Flags {
    std::vector<std::string> command;
    std::string out;
  };
  CLI::App* app = root.add_subcommand("man", "Print the manual page of this program or a command");
  const auto flags = std::make_shared<Flags>();
  auto* command = app->add_option("COMMAND", flags->command, "such as simulate, or trace convert");
  app->add_option("--out", flags->out, "write the pages of all commands into this folder instead")
      ->type_name("DIR")
      ->excludes(command);
  app->footer(
      "Examples:\n"
      "  fairlead man simulate | man -l -\n"
      "  fairlead man --out ~/.local/share/man/man1\n"
      "\n"
      "The Debian package installs them all: man fairlead-simulate.\n");
  return {app, [flags, &root]() -> Status {
            const CommandPage tree = command_tree(root);
            if (!flags->out.empty()) return write_all(tree, flags->out);
            FL_TRY_ASSIGN(page, find_page(tree, flags->command));
            fmt::print("{}", manual_page(*page, tree));
            return {};
          }};
}

}  // namespace fairlead
