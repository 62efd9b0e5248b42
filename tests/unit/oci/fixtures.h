// SPDX-License-Identifier: Apache-2.0
// The config.json and state files of tests/data/oci.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "runtime-config/oci/spec.h"

namespace test {

inline std::string oci_fixture(const std::string& name) {
    const std::ifstream file(TEST_DATA "/oci/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// A config.json that is known to be right.
inline oci::Spec parsed_spec(const std::string& text) {
    auto spec = oci::Spec::parse(text);
    EXPECT_TRUE(spec) << spec.error().message();
    return std::move(spec).value();
}

inline constexpr const char* kSpecFixtures[] = {"docker.json",
                                                "minimal.json",
                                                "podman-bridge.json",
                                                "podman-network-container.json",
                                                "podman-network-host.json",
                                                "podman-network-none.json",
                                                "podman-privileged.json",
                                                "podman-selinux-ulimit.json",
                                                "podman-userns.json"};

}  // namespace test
