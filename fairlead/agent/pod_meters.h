// The speeds of the pods of a node, from the progress that their programs print (measure/output_meter.h).
#pragma once

#include "fairlead/agent/pod_output.h"
#include "fairlead/measure/output_meter.h"
#include "fairlead/pods/members.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace fairlead {

class PodMeters {
 public:
  // `folder`: where the kubelet stores the output of pods, in NAMESPACE_POD_UID/CONTAINER.
  explicit PodMeters(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Notes that the pod works, or does not, from `now` on.
  void set(const Pod& pod, bool works, Time now);
  void remove(const std::string& uid) { pods_.erase(uid); }
  // Reads the new output of all pods. O(pods x containers + bytes).
  void look(Time now);
  // Returns the progress of a pod once its speed is known: of the first of its containers, by name, with a speed.
  std::optional<PodProgress> progress(const std::string& uid) const;

 private:
  struct Container {
    PodOutput output;
    OutputMeter meter{};
    std::uint64_t position = 0;  // in the text, for the meter
  };
  struct Metered {
    std::filesystem::path folder;
    bool works = false;
    std::map<std::string, Container> containers{};  // by name
  };

  static void look_at(Metered& pod, Time now);

  std::filesystem::path folder_;
  std::map<std::string, Metered> pods_;  // by uid
};

}  // namespace fairlead
