#include "fairlead/pods/pod_model.h"

#include "fairlead/base/printable.h"
#include "fairlead/measure/command_model.h"
#include "fairlead/pods/resources.h"
#include "fairlead/pods/slots.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace fairlead {
namespace {

constexpr std::size_t kModelBytesMax = 63;  // as a label has

// Returns "registry:5000/team/app" of "registry:5000/team/app:v2@sha256:12ab".
std::string_view untagged(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t tag = image.rfind(':');
  const std::size_t slash = image.rfind('/');
  const bool is_tag = tag != image.npos && (slash == image.npos || tag > slash);
  return image.substr(0, is_tag ? tag : image.size());
}

std::vector<std::string> command_of(const Json& container) {
  std::vector<std::string> words;
  for (const char* part : {"command", "args"}) {
    for (const Json& word : json_at(container, {part})) {
      const std::string& text = text_at(word, {});
      if (!words.empty() || !text.empty()) words.push_back(text);
    }
  }
  return words;
}

}  // namespace

std::string model_of_spec(const Json& spec) {
  for (const Json& container : json_at(spec, {"containers"})) {
    const Json& limits = json_at(container, {"resources", "limits"});
    if (count_at(limits, {kGpuResource}) + count_at(limits, {kSlotResource}) == 0) continue;
    const std::string_view image = untagged(text_at(container, {"image"}));
    std::vector<std::string> words = command_of(container);
    if (words.empty()) words.emplace_back(image);
    if (words.front().empty()) return {};
    return printable(model_of(words, image)).substr(0, kModelBytesMax);
  }
  return {};
}

}  // namespace fairlead
