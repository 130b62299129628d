// Base64 (RFC 4648) of PEM texts in kubeconfig files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

std::string base64_encoded(std::string_view bytes);
// Decodes text with or without padding, blanks and line breaks; nothing if it is not Base64.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace fairlead
