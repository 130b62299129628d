#include "fairlead/serve/notifier.h"

#include "fairlead/base/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

// Returns "gpu1: job 12 (train.py) of ann failed: exit code 3", in one line.
std::string text_of(const json& job, std::string_view host) {
  const auto state = job["state"].get<std::string>();
  const auto reason = job["reason"].get<std::string>();
  return printable(fmt::format("{}{}job {} ({}) of {} {}{}{}{}", host, host.empty() ? "" : ": ",
                               job["id"].get<std::size_t>(), job["name"].get<std::string>(),
                               job["user"].get<std::string>(), state == "cancelled" ? "was " : "",
                               state, reason.empty() ? "" : ": ", reason));
}

// Returns whether the job has ended in a way that `notify` names. A job that was refused has no end.
bool wants(const Views& views, JobId job, Notify notify) {
  const JobState state = views.tables.jobs.state[job];
  if (notify == Notify::kNever || state == JobState::kRejected) return false;
  if (notify == Notify::kEnd || state == JobState::kFailed) return true;
  return state == JobState::kCancelled && !views.book.of(job).reason.empty();
}

}  // namespace

Status notify_of_end(Io& io, const Views& views, const ServeOptions& options, JobId job,
                     Submission what, Time now) {
  if (options.notify.empty() || !wants(views, job, what.notify)) return {};
  what.notify = Notify::kNever;
  FL_TRY(io.write(submission_file(job), submission_text(what)));
  const json view = views.job(job, now);
  const std::string text = text_of(view, options.host);
  const json message = {{"text", text}, {"host", options.host}, {"job", view}};
  io.notify(
      {.job = job,
       .command = options.notify,
       .variables = {fmt::format("FAIRLEAD_JOB_ID={}", job.row()),
                     "FAIRLEAD_USER=" + view["user"].get<std::string>(),
                     "FAIRLEAD_STATE=" + view["state"].get<std::string>(), "FAIRLEAD_TEXT=" + text},
       .input = message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"});
  return {};
}

}  // namespace fairlead
