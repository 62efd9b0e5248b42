// SPDX-License-Identifier: Apache-2.0
// What a machine's numbers depend on, beside its kernel and adapter.
#pragma once

#include <string>
#include <string_view>

namespace perf {

// Empty: the system does not say.
struct Platform {
    std::string cpu = {};        // model name; of ARM, which has none, implementer and part
    std::string governor = {};   // of the first processor's frequency
    std::string rdma_core = {};  // version of the libibverbs that is loaded
};

// Of this process, as /proc and /sys below the root say.
Platform own_platform(const std::string& root = "");

// Of the beginning of /proc/cpuinfo.
std::string cpu_of(std::string_view cpuinfo);

// Of /proc/self/maps. libibverbs.so.1.14.44.0 is of rdma-core 44.0: its library's version is in
// front. No call of the library says it.
std::string rdma_core_of(std::string_view maps);

}  // namespace perf
