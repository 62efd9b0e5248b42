// SPDX-License-Identifier: Apache-2.0
// Identifiers: digests (SHA-256, FIPS 180-4) and random UUIDs (RFC 9562, version 4).
#pragma once

#include <string>
#include <string_view>

namespace base {

// Returns the SHA-256 as 64 lower-case hex digits.
std::string sha256_hex(std::string_view text);

// Returns "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx", from getrandom(2).
std::string random_uuid();

// Returns whether the text is spelled like a UUID (lower case).
bool is_uuid(std::string_view text);

}  // namespace base
