// SPDX-License-Identifier: Apache-2.0
// Lays out answers for people.
#pragma once

#include <string>
#include <vector>

namespace hook::ctl {

// Makes columns as wide as their widest cell. The first row is the head.
std::string table(const std::vector<std::vector<std::string>>& rows);

// Returns "3 min ago" for seconds since 1970; empty for 0.
std::string age(int64_t since, int64_t now);

}  // namespace hook::ctl
