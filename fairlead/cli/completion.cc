// `fairlead completion`: scripts that let a shell complete this program's commands and flags.
//
// Each script finds the command in the words so far ("fairlead trace convert"), and then the possible next words: the
// value of the flag before, a flag, or a command or argument.

#include "fairlead/cli/completion.h"

#include "fairlead/cli/commands.h"

#include <fmt/format.h>

#include <memory>

namespace fairlead {
namespace {

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// In single quotes, for bash and zsh.
std::string shell_quoted(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

// In single quotes, for fish.
std::string fish_quoted(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return word + "'";
}

// Returns 'fairlead run' 'fairlead trace' ...: all commands except the program itself.
std::vector<std::string> command_names(const CommandPage& root) {
  std::vector<std::string> names;
  for (const CommandPage* page : all_pages(root)) {
    if (page != &root) names.push_back(shell_quoted(page->name));
  }
  return names;
}

// Returns the commands below it and values of its arguments.
std::vector<std::string> plain_words(const CommandPage& page) {
  std::vector<std::string> words;
  words.reserve(page.commands.size());
  for (const CommandPage& below : page.commands) words.push_back(below.word());
  for (const Argument& argument : page.positionals) {
    words.insert(words.end(), argument.values.words.begin(), argument.values.words.end());
  }
  return words;
}

PathKind plain_paths(const CommandPage& page) {
  for (const Argument& argument : page.positionals) {
    if (argument.values.paths != PathKind::kNone) return argument.values.paths;
  }
  return PathKind::kNone;
}

std::string_view path_word(PathKind kind) {
  switch (kind) {
    case PathKind::kNone:
      return "none";
    case PathKind::kFile:
      return "files";
    case PathKind::kFolder:
      return "folders";
  }
  return {};
}

std::vector<std::string> flag_words(const CommandPage& page) {
  std::vector<std::string> words;
  for (const Argument& flag : page.flags) {
    words.insert(words.end(), flag.names.begin(), flag.names.end());
  }
  return words;
}

// 'fairlead trace convert -o'|'fairlead trace convert --output'
std::string bash_patterns(const CommandPage& page, const Argument& flag) {
  std::vector<std::string> patterns;
  patterns.reserve(flag.names.size());
  for (const std::string& name : flag.names)
    patterns.push_back(shell_quoted(page.name + " " + name));
  return fmt::format("{}", fmt::join(patterns, "|"));
}

// Returns lines of a case: the possible values of each flag.
std::string value_cases(const CommandPage& root) {
  std::string text;
  for (const CommandPage* page : all_pages(root)) {
    for (const Argument& flag : page->flags) {
      if (flag.takes.empty()) continue;
      text += fmt::format("    {})\n      paths={} choices={} ;;\n", bash_patterns(*page, flag),
                          path_word(flag.values.paths), shell_quoted(joined(flag.values.words)));
    }
  }
  return text;
}

// Returns lines of a case: the possible words after each command.
std::string command_cases(const CommandPage& root) {
  std::string text;
  for (const CommandPage* page : all_pages(root)) {
    text += fmt::format("    {})\n      flags={}\n      paths={} choices={} ;;\n",
                        shell_quoted(page->name), shell_quoted(joined(flag_words(*page))),
                        path_word(plain_paths(*page)), shell_quoted(joined(plain_words(*page))));
  }
  return text;
}

constexpr std::string_view kBash =
    R"(# Completion of fairlead for bash, by `fairlead completion bash`.
_fairlead() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} before=$((COMP_CWORD - 1)) command=fairlead
  local i paths=none choices='' flags=''
  COMPREPLY=()
  # bash takes --flag=value for three words.
  if [[ $cur == = ]]; then cur=''; elif [[ ${{COMP_WORDS[before]}} == = ]]; then ((before -= 1)); fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${{COMP_WORDS[i]}} == -- ]]; then
      compopt -o bashdefault -o default 2>/dev/null
      return
    fi
    case "$command ${{COMP_WORDS[i]}}" in
    {commands})
      command="$command ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command ${{COMP_WORDS[before]}}" in
{values}    *)
      case $command in
{plain}      esac
      if [[ $cur == -* ]]; then paths=none choices=$flags; fi ;;
  esac
  COMPREPLY=($(compgen -W "$choices" -- "$cur"))
  if [[ $paths == files ]]; then compopt -o default 2>/dev/null; fi
  if [[ $paths == folders ]]; then compopt -o dirnames 2>/dev/null; fi
  if [[ ${{COMPREPLY[0]}} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  return 0
}}
complete -F _fairlead fairlead
)";

constexpr std::string_view kZsh =
    R"(#compdef fairlead
# Completion of fairlead for zsh, by `fairlead completion zsh`.
_fairlead() {{
  local command=fairlead i paths=none choices='' flags=''
  local -a shown
  for ((i = 2; i < CURRENT; i++)); do
    if [[ ${{words[i]}} == -- ]]; then
      _files
      return
    fi
    case "$command ${{words[i]}}" in
    {commands})
      command="$command ${{words[i]}}" ;;
    esac
  done
  local flag=${{words[CURRENT-1]}}
  if [[ ${{words[CURRENT]}} == --*=* ]]; then
    flag=${{words[CURRENT]%%=*}}
    compset -P 1 '*='
  fi
  case "$command $flag" in
{values}    *)
      case $command in
{plain}      esac
      if [[ ${{words[CURRENT]}} == -* ]]; then paths=none choices=$flags; fi ;;
  esac
  shown=(${{(s: :)choices}})
  if (( ${{#shown}} )); then
    if [[ ${{shown[1]}} == *= ]]; then compadd -S '' -- $shown; else compadd -- $shown; fi
  fi
  if [[ $paths == files ]]; then _files; fi
  if [[ $paths == folders ]]; then _files -/; fi
}}
if [[ ${{funcstack[1]}} == _fairlead ]]; then _fairlead "$@"; else compdef _fairlead fairlead; fi
)";

std::string shell_script(std::string_view frame, const CommandPage& root) {
  return fmt::format(fmt::runtime(frame), fmt::arg("commands", fmt::join(command_names(root), "|")),
                     fmt::arg("values", value_cases(root)), fmt::arg("plain", command_cases(root)));
}

constexpr std::string_view kFish =
    R"(# Completion of fairlead for fish, by `fairlead completion fish`.
# Prints the command that the words so far name, like "fairlead trace convert".
function __fairlead_command
  set -l command fairlead
  set -l words (commandline -opc)
  for word in $words[2..-1]
    if contains -- "$command $word" {commands}
      set command "$command $word"
    end
  end
  echo $command
end
complete -c fairlead -f
)";

std::string fish_values(const Values& values) {
  std::string text;
  if (values.paths == PathKind::kFile) text += " -F";
  if (values.paths == PathKind::kFolder) text += " -a '(__fish_complete_directories)'";
  if (!values.words.empty()) text += " -a " + fish_quoted(joined(values.words));
  return text;
}

std::string fish_flag(const Argument& flag) {
  std::string text;
  for (const std::string& name : flag.names) {
    const bool is_long = name.starts_with("--");
    text += fmt::format(" -{} {}", is_long ? "l" : "s", name.substr(is_long ? 2 : 1));
  }
  if (!flag.takes.empty()) text += " -r" + fish_values(flag.values);
  return text + " -d " + fish_quoted(flag.help);
}

std::string fish_script(const CommandPage& root) {
  std::string text = fmt::format(kFish, fmt::arg("commands", fmt::join(command_names(root), " ")));
  for (const CommandPage* page : all_pages(root)) {
    const std::string here =
        fmt::format("complete -c fairlead -n 'test (__fairlead_command) = \"{}\"'", page->name);
    for (const CommandPage& below : page->commands) {
      text += fmt::format("{} -a {} -d {}\n", here, below.word(), fish_quoted(below.about));
    }
    for (const Argument& argument : page->positionals) {
      const std::string values = fish_values(argument.values);
      if (!values.empty()) text += fmt::format("{}{}\n", here, values);
    }
    for (const Argument& flag : page->flags) text += here + fish_flag(flag) + "\n";
  }
  return text;
}

constexpr std::string_view kHelp =
    "Examples:\n"
    "  source <(fairlead completion bash)     # in ~/.bashrc\n"
    "  source <(fairlead completion zsh)      # in ~/.zshrc, after compinit\n"
    "  fairlead completion fish | source      # in ~/.config/fish/config.fish\n"
    "\n"
    "Completes commands, flags, and names of policies, clusters, formats, settings, tables of\n"
    "models and experiments. The Debian package installs all three.\n";

}  // namespace

std::string completion_script(Shell shell, const CommandPage& root) {
  switch (shell) {
    case Shell::kBash:
      return shell_script(kBash, root);
    case Shell::kZsh:
      return shell_script(kZsh, root);
    case Shell::kFish:
      return fish_script(root);
  }
  return {};
}

Command add_completion(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("completion", "Print a script that lets a shell complete this program");
  const auto shell = std::make_shared<std::string>();
  app->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app->footer(std::string(kHelp));
  return {app, [shell, &root]() -> Status {
            const Shell kind = *shell == "bash"  ? Shell::kBash
                               : *shell == "zsh" ? Shell::kZsh
                                                 : Shell::kFish;
            fmt::print("{}", completion_script(kind, command_tree(root)));
            return {};
          }};
}

}  // namespace fairlead
