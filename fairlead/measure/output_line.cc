#include "fairlead/measure/output_line.h"

#include "fairlead/base/parse.h"

#include <algorithm>
#include <array>

namespace fairlead {
namespace {

constexpr std::size_t kDigitsMax = 15;  // a double has them exactly

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return all;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// A text of which the beginning is taken off.
class Scan {
 public:
  explicit Scan(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // Takes off any number of blanks, or of the characters in `any`. Returns whether there was one.
  bool skip(std::string_view any = " \t") {
    const std::size_t count = std::min(rest_.find_first_not_of(any), rest_.size());
    rest_.remove_prefix(count);
    return count > 0;
  }
  // Takes off everything up to a text, and the text. False: it is not there, and nothing was taken.
  bool skip_past(std::string_view text) {
    const std::size_t at = rest_.find(text);
    if (at == rest_.npos) return false;
    rest_.remove_prefix(at + text.size());
    return true;
  }
  // Takes off a whole number of steps.
  std::optional<double> count() {
    const auto end = std::ranges::find_if_not(rest_, is_digit);
    const auto size = static_cast<std::size_t>(end - rest_.begin());
    if (size == 0 || size > kDigitsMax) return std::nullopt;
    const auto number = parse_number(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return number ? std::optional(*number) : std::nullopt;
  }
  // Takes off a number with an optional fraction, without sign.
  std::optional<double> number() {
    const auto is_part = [](char c) { return is_digit(c) || c == '.'; };
    const auto size =
        static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_part) - rest_.begin());
    if (size == 0 || !is_digit(rest_.front())) return std::nullopt;
    const auto number = parse_number(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return number ? std::optional(*number) : std::nullopt;
  }
  std::string_view word() {
    const auto size =
        static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_letter) - rest_.begin());
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }
  // Takes off "120/1000", with blanks inside. False: the first number is larger, or there are none.
  bool done_of_total(PrintedStep& step) {
    const auto done = count();
    skip();
    if (!done || !take("/")) return false;
    skip();
    const auto total = count();
    if (!total || *total < *done || *total == 0) return false;
    step.done = *done;
    step.total = *total;
    return true;
  }

 private:
  std::string_view rest_;
};

double per_s(double s) { return s > 0 ? 1 / s : 0; }

// Returns whether a unit of a bar is a step; others count bytes, examples or epochs.
bool is_step(std::string_view unit) {
  constexpr std::array<std::string_view, 7> kSteps = {"it",      "step", "steps", "batch",
                                                      "batches", "iter", "iters"};
  return std::ranges::find(kSteps, unit) != kSteps.end();
}

// Takes off "11.98it/s", "1.20s/it" or "?it/s". Nullopt: it is another unit.
std::optional<double> take_rate(Scan& scan) {
  const std::optional<double> number = scan.number();
  if (!number && !scan.take("?")) return std::nullopt;
  if (scan.take("s/"))
    return is_step(scan.word()) ? std::optional(per_s(number.value_or(0))) : std::nullopt;
  if (!is_step(scan.word()) || !scan.take("/s")) return std::nullopt;
  return number.value_or(0);
}

// Judges the text before a bar. A bar without one may be of anything, and is taken for the training.
bool is_training(std::string_view label, bool& is_epoch) {
  const std::string text = lower(label);
  for (const std::string_view other : {"val", "test", "eval", "data", "predict", "sanity"}) {
    if (has(text, other)) return false;
  }
  const bool has_number = std::ranges::any_of(text, is_digit);
  is_epoch = has(text, "epoch");
  if (is_epoch) return has_number;  // without a number, the bar counts epochs
  return text.empty() || has(text, "train") || has(text, "step") || has(text, "iter") ||
         has(text, "loss") || has(text, "tuning");
}

// Returns the text without the digits at its end.
std::string_view without_digits(std::string_view text) {
  return text.substr(0, text.find_last_not_of("0123456789") + 1);
}

// Takes off "120/1000 [00:10<01:13,": the part of tqdm's bar behind the picture.
bool take_bar(Scan& scan, PrintedStep& step) {
  scan.skip();
  return scan.done_of_total(step) && scan.take(" [") && scan.skip("0123456789:") &&
         scan.take("<") && scan.skip("0123456789:?") && scan.take(",");
}

// Takes off "120it [00:10,": tqdm without a total.
bool take_count(Scan& scan, PrintedStep& step) {
  const auto done = scan.count();
  step.done = done.value_or(0);
  return done && scan.take("it [") && scan.skip("0123456789:") && scan.take(",");
}

// " 12%|█▏        | 120/1000 [00:10<01:13, 11.98it/s, loss=0.5]", and "120it [00:10, 11.98it/s]": tqdm, with which
// Hugging Face and Lightning print too.
std::optional<PrintedStep> tqdm(std::string_view line) {
  PrintedStep step{.format = "tqdm"};
  const std::size_t percent = line.find("%|");
  const bool is_bar = percent != line.npos;
  const std::string_view label =
      without_digits(line.substr(0, is_bar ? percent : line.find("it [")));
  if (!is_bar && !label.empty() && !label.ends_with(": ")) return std::nullopt;
  Scan scan(is_bar ? line.substr(percent + 2) : line.substr(label.size()));
  const bool is_read =
      is_bar ? scan.skip_past("|") && take_bar(scan, step) : take_count(scan, step);
  if (!is_read) return std::nullopt;
  scan.skip();
  const auto rate = take_rate(scan);
  if (!rate || !is_training(trimmed(label), step.is_epoch)) return std::nullopt;
  step.step_per_s = *rate;
  return step;
}

// Takes off the duration of a step as Keras prints it: "3ms/step", "241us/step", "2s/step".
std::optional<double> take_keras_rate(Scan& scan) {
  const auto number = scan.number();
  if (!number) return std::nullopt;
  const std::string_view unit = scan.word();
  if (!scan.take("/step")) return std::nullopt;
  const double scale = unit == "us" ? 1e6 : unit == "ms" ? 1e3 : unit == "s" ? 1 : 0;
  return *number > 0 ? scale / *number : 0;
}

// "120/1875 ━━━━━━━━━━━━━━━━━━━━ 5s 3ms/step - accuracy: 0.9 - loss: 0.3" (Keras 3),
// " 120/1875 [>.....................] - ETA: 5s - loss: 0.3" (Keras 2),
// "      2/Unknown 1s 367ms/step - loss: 0.27".
std::optional<PrintedStep> keras(std::string_view line) {
  PrintedStep step{.format = "keras", .is_epoch = true};
  Scan scan(line);
  scan.skip();
  bool is_bar = false;
  if (const std::size_t end = line.find("/Unknown "); end != line.npos) {  // and no bar
    const auto done = scan.count();
    is_bar = done && scan.take("/Unknown ");
    step.done = done.value_or(0);
  } else {
    if (!scan.done_of_total(step) || !scan.take(" ")) return std::nullopt;
    is_bar = scan.take("━") || (scan.take("[") && scan.skip("=>.") && scan.take("]"));
  }
  if (!is_bar || !has(scan.rest(), " - ") || !has(scan.rest(), "loss: ")) return std::nullopt;
  // Behind the bar is the time so far, or the rest of it.
  Scan rate(scan.rest().substr(0, scan.rest().find("/step") + 5));
  const std::size_t last = rate.rest().rfind(' ');
  if (has(rate.rest(), "/step") && last != line.npos) {
    Scan word(rate.rest().substr(last + 1));
    step.step_per_s = take_keras_rate(word).value_or(0);
  }
  return step;
}

// "Epoch 3/9  ━━━━━━━━━━━━━━━━ 120/240 0:00:10 • 0:00:10 11.80it/s v_num: 0": Lightning's rich bar.
std::optional<PrintedStep> rich(std::string_view line) {
  PrintedStep step{.format = "rich", .is_epoch = true};
  Scan scan(line);
  PrintedStep epoch;
  if (!scan.take("Epoch ") || !scan.done_of_total(epoch) || !scan.skip() || !scan.take("━"))
    return std::nullopt;
  if (!scan.skip_past(" ") || !scan.done_of_total(step) || !scan.skip_past("• ") ||
      !scan.skip("0123456789:-") || !scan.skip())
    return std::nullopt;
  const auto rate = take_rate(scan);
  if (!rate) return std::nullopt;
  step.step_per_s = *rate;
  return step;
}

// " iteration      100/    5000 | consumed samples: 25600 | elapsed time per iteration (ms): 123.4 | ...".
std::optional<PrintedStep> megatron(std::string_view line) {
  PrintedStep step{.format = "megatron"};
  Scan scan(line);
  scan.skip();
  if (scan.take("[") && (!scan.skip("0123456789-:. ") || !scan.take("]"))) return std::nullopt;
  scan.skip();
  if (!scan.take("iteration ")) return std::nullopt;
  scan.skip();
  if (!scan.done_of_total(step) || !scan.skip_past("elapsed time per iteration (ms): "))
    return std::nullopt;
  const auto ms = scan.number();
  if (!ms) return std::nullopt;
  step.step_per_s = per_s(*ms / 1000);
  return step;
}

// "[...] [INFO] [logging.py:96:log_dist] [Rank 0] step=100, skipped=2, lr=[0.001], mom=[...]", and
// "[...] [INFO] [timer.py:199:stop] epoch=0/micro_step=400/global_step=100, RunningAvgSamplesPerSec=98.7, ...".
std::optional<PrintedStep> deepspeed(std::string_view line) {
  Scan scan(line);
  const bool is_step = scan.skip_past("[Rank 0] step=");
  if (!is_step && !scan.skip_past("/global_step=")) return std::nullopt;
  const auto done = scan.count();
  if (!done || !scan.take(is_step ? ", skipped=" : ", RunningAvgSamplesPerSec="))
    return std::nullopt;
  return PrintedStep{.format = "deepspeed", .done = *done};
}

// "iter 100: loss 2.3456, time 12.34ms, mfu 12.34%".
std::optional<PrintedStep> nanogpt(std::string_view line) {
  Scan scan(line);
  if (!scan.take("iter ")) return std::nullopt;
  const auto done = scan.count();
  if (!done || !scan.take(": loss ") || !scan.skip_past(", time ")) return std::nullopt;
  const auto ms = scan.number();
  if (!ms || !scan.take("ms")) return std::nullopt;
  return PrintedStep{.format = "nanogpt", .done = *done, .step_per_s = per_s(*ms / 1000)};
}

// "I1126 10:00:00.123 140 logging_writer.py:48] [100] loss=0.1, steps_per_sec=11.8": the writer of many JAX programs.
std::optional<PrintedStep> clu(std::string_view line) {
  Scan scan(line);
  if (!scan.skip_past(" logging_writer.py:") || !scan.count() || !scan.take("] ["))
    return std::nullopt;
  const auto done = scan.count();
  if (!done || !scan.take("] ") || !has(scan.rest(), "loss=")) return std::nullopt;
  PrintedStep step{.format = "clu", .done = *done};
  if (scan.skip_past("steps_per_sec=")) step.step_per_s = scan.number().value_or(0);
  return step;
}

// "Epoch: [3][ 120/5005]\tTime  0.123 ( 0.125)\t...Loss", and "Epoch [3/10], Step [120/600], Loss: 0.1".
std::optional<PrintedStep> pytorch_examples(std::string_view line) {
  PrintedStep step{.format = "pytorch", .is_epoch = true};
  Scan scan(line);
  if (!has(line, "Loss")) return std::nullopt;
  if (scan.take("Epoch: [") && scan.count() && scan.take("][")) {
    scan.skip();
    if (!scan.done_of_total(step) || !scan.take("]") || !scan.skip() || !scan.take("Time"))
      return std::nullopt;
    scan.skip();
    step.step_per_s = per_s(scan.number().value_or(0));
    return step;
  }
  scan = Scan(line);
  PrintedStep epoch;
  if (!scan.take("Epoch [") || !scan.done_of_total(epoch) || !scan.take("], Step [") ||
      !scan.done_of_total(step) || !scan.take("]"))
    return std::nullopt;
  return step;
}

// Returns the text behind the beginning of a log line: "2024-03-01 12:00:00,123 INFO ", "INFO:root:", "I1126 ...] ".
std::string_view behind_prefix(std::string_view line) {
  std::string_view rest = trimmed(line);
  const std::size_t glog = rest.find(".py:");
  if (glog != rest.npos && !rest.empty() && has("IWE", rest.substr(0, 1))) {
    const std::size_t end = rest.find("] ", glog);
    return end == rest.npos ? rest : rest.substr(end + 2);
  }
  for (const std::string_view name : {"INFO:root:", "INFO - ", "INFO: ", "[INFO] ", "INFO "}) {
    const std::size_t at = rest.find(name);
    if (at == rest.npos) continue;
    const std::string_view before = rest.substr(0, at);
    const bool is_date = before.find_first_not_of("0123456789-:,.[] /") == before.npos;
    if (is_date) return trimmed(rest.substr(at + name.size()));
  }
  return rest;
}

// Returns the rate in a line of steps, in the words that programs use for it.
double rate_in(std::string_view text) {
  for (const std::string_view name : {"steps/s", "steps/sec", "it/s", "steps_per_sec"}) {
    const std::size_t at = text.find(name);
    if (at == text.npos) continue;
    std::string_view before = trimmed(text.substr(0, at));
    before.remove_prefix(std::min(before.find_last_not_of("0123456789.") + 1, before.size()));
    if (const auto number = Scan(before).number()) return *number;
    Scan behind(text.substr(at + name.size()));
    behind.skip(" =:");
    if (const auto number = behind.number()) return *number;
  }
  return 0;
}

// Returns whether a text in lower case names a loss: "loss", "train_loss", not "lossless".
bool has_loss(std::string_view text) {
  constexpr std::string_view kLoss = "loss";
  for (std::size_t at = text.find(kLoss); at != text.npos; at = text.find(kLoss, at + 1)) {
    const std::size_t end = at + kLoss.size();
    const bool begins = at == 0 || !is_letter(text[at - 1]);
    if (begins && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

// "step 100/5000: loss 0.5", "Step: 100, Loss: 0.5", "completed step: 100, seconds: 0.5, ... loss: 9.8".
std::optional<PrintedStep> plain(std::string_view line) {
  PrintedStep step{.format = "step"};
  const std::string text = lower(behind_prefix(line));
  Scan scan(text);
  const bool is_maxtext = scan.take("completed ");
  for (const std::string_view word : {"training ", "train ", "global "}) scan.take(word);
  const std::string_view word = scan.word();
  if (word != "step" && word != "iter" && word != "iteration") return std::nullopt;
  if (!scan.skip(" :=#[")) return std::nullopt;
  const Scan at = scan;
  if (!scan.done_of_total(step)) {
    scan = at;
    const auto done = scan.count();
    if (!done || scan.rest().starts_with('/') || scan.rest().starts_with('.')) return std::nullopt;
    step = {.format = "step", .done = *done};
  }
  const std::string_view rest = scan.rest();
  if (rest.empty() || !has(" \t,:;|-]", rest.substr(0, 1))) return std::nullopt;
  if (!has_loss(rest)) return std::nullopt;
  step.step_per_s = rate_in(rest);
  if (is_maxtext && scan.take(", seconds: ")) step.step_per_s = per_s(scan.number().value_or(0));
  return step;
}

using Format = std::optional<PrintedStep> (*)(std::string_view);
constexpr std::array<Format, 9> kFormats = {
    tqdm, keras, rich, megatron, deepspeed, nanogpt, clu, pytorch_examples, plain};

}  // namespace

std::optional<PrintedStep> parse_output_line(std::string_view line) {
  for (const Format format : kFormats) {
    if (const auto step = format(line)) return step;
  }
  return std::nullopt;
}

std::string plain_line(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i = line.find_first_not_of("0123456789;?", i + 2);  // at the letter that ends the sequence
      if (i == line.npos) break;
    } else if (c == '\b') {
      plain.clear();  // a bar that is drawn again
    } else if (c == '\t' || static_cast<unsigned char>(c) >= 0x20) {
      plain += c;
    }
  }
  return plain;
}

}  // namespace fairlead
