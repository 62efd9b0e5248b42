// SPDX-License-Identifier: Apache-2.0
// The findings of the doctors of rdmactl and rdma-perf, and their layout: a line for each object
// examined, with the change that fixes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "netns/base/json_fwd.h"

namespace base {

enum class Status { Ok, Warning, Fail, Skipped };  // Skipped: not asked for, or not there

struct Finding {
    Status status = Status::Ok;
    std::string why{};
    std::string fix{};  // a command or a change; empty if there is nothing to do
};

using Findings = std::vector<Finding>;

struct Diagnosis {
    std::string_view id;  // of the check; part of the interface: in --json
    Finding finding;
};

std::string_view name_of(Status status);
bool any_failed(const std::vector<Diagnosis>& diagnoses);
// The page for people: failures first, then warnings, then all else in the order of the checks.
std::string to_text(const std::vector<Diagnosis>& diagnoses,
                    bool colours = false,
                    size_t columns = 0);
// An array of {id, status, why, fix}, in the order of the checks.
Json to_json(const std::vector<Diagnosis>& diagnoses);

}  // namespace base
