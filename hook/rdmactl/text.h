// SPDX-License-Identifier: Apache-2.0
// Laying out answers for people.
#pragma once

#include <string>
#include <vector>

namespace hook::ctl {

// Columns as wide as their widest cell, the first row as the head.
std::string table(const std::vector<std::vector<std::string>>& rows);

// "3 min ago" of seconds since 1970; empty for 0.
std::string age(int64_t since, int64_t now);

}  // namespace hook::ctl
