#include "fairlead/pods/event_recorder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fairlead {

void EventRecorder::record(const Json& object, std::string_view reason, std::string_view message) {
  if (!may_write_()) return;
  const Json& about = json_at(object, {"metadata"});
  const std::string& name_space = text_at(about, {"namespace"});
  const std::string& name = text_at(about, {"name"});
  const std::string now = timestamp(door_.unix_ms());
  const bool is_warning = reason == "Refused" || reason == "Rejected" || reason == "NotStopped";
  const Json event = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata",
       {{"name", fmt::format("{}.{:x}", name, door_.random())}, {"namespace", name_space}}},
      {"involvedObject",
       {{"apiVersion", text_at(object, {"apiVersion"})},
        {"kind", text_at(object, {"kind"})},
        {"namespace", name_space},
        {"name", name},
        {"uid", text_at(about, {"uid"})}}},
      {"type", is_warning ? "Warning" : "Normal"},
      {"reason", reason},
      {"message", message},
      {"source", {{"component", kSchedulerName}}},
      {"firstTimestamp", now},
      {"lastTimestamp", now},
      {"count", 1}};
  door_.call({.method = "POST",
              .path = fmt::format("/api/v1/namespaces/{}/events", name_space),
              .body = compact_text(event)});
}

void EventRecorder::record(const Owner& owner, std::string_view reason, std::string_view message) {
  const bool is_of_pods = owner.kind == nullptr;
  record({{"apiVersion", is_of_pods ? "v1" : owner.kind->api_version},
          {"kind", is_of_pods ? "Pod" : owner.kind->kind},
          {"metadata",
           {{"namespace", owner.name_space},
            {"name", is_of_pods ? owner.about : owner.path_name()},
            {"uid", owner.uid}}}},
         reason, message);
}

}  // namespace fairlead
