// Notifications of users about the ends of their jobs: a shell command of the administrator, which gets the job as
// environment variables and as JSON (docs/server-admin.md, "Notifications").
//
// A notification is sent at most once. The end of the job is on the disk before, and the job's file then no longer asks for
// it. If a daemon crashes between the two, the next one sends it, and none sends it again
// (docs/decisions/0059-notifications-are-sent-at-most-once.md).
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/io.h"
#include "fairlead/live/views.h"
#include "fairlead/local/submission.h"
#include "fairlead/serve/server.h"

namespace fairlead {

// Sends the notification of a job that is done, if its submission asks for one of such an end. REQUIRES: the end is on the
// disk; `what` is the job's file. Error: the disk takes no more, and the next daemon sends it.
Status notify_of_end(Io& io, const Views& views, const ServeOptions& options, JobId job,
                     Submission what, Time now);

}  // namespace fairlead
