// SPDX-License-Identifier: Apache-2.0
// Identifiers: digests (SHA-256, FIPS 180-4) and random UUIDs (RFC 9562, version 4).
#pragma once

#include <string>
#include <string_view>

namespace base {

// 64 lower-case hex digits.
std::string sha256_hex(std::string_view text);

// "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx", from getrandom(2).
std::string random_uuid();

// Whether the text is spelled like one (lower case).
bool is_uuid(std::string_view text);

}  // namespace base
