// SPDX-License-Identifier: Apache-2.0
// Whatever config.json and state look like: an error or a valid document, never a crash.
#include <gtest/gtest.h>

#include "runtime-config/oci/spec.h"
#include "runtime-config/oci/state.h"
#include "tests/unit/oci/fixtures.h"
#include "tests/unit/oci/mutate.h"

namespace oci {
namespace {
constexpr unsigned kRounds = 300;  // for each fixture and kind of damage

// Reads and edits everything; what comes out is a valid document again.
void use(const std::string& text) {
    auto spec = Spec::parse(text);
    if (!spec)
        return;
    (void)spec->annotations();
    (void)spec->has_user_namespace();
    (void)spec->privileged();
    (void)spec->capabilities();
    (void)spec->has_dynamic_majors();
    (void)spec->rdma_nodes({510});
    (void)spec->rdma_rules({510});
    (void)spec->mount_label();
    (void)spec->redirects_hook_output();
    (void)spec->has_memlock();
    spec->set_network_path("/run/x");
    // Refused if the damage made another node of the same path: no matter here.
    (void)spec->add_device({.path = "/dev/infiniband/uverbs0", .major = 231, .minor = 192});
    spec->set_memlock(1, true);
    spec->add_env("A", "b");
    spec->add_file_mount("/a", "/b");
    spec->add_hook("poststop", {.path = "/b", .args = {"b"}});
    spec->set_annotation("a", "b");
    const auto again = Spec::parse(spec->text());
    ASSERT_TRUE(again) << again.error().message() << "\nfrom " << text;
    EXPECT_EQ(again->network().path, "/run/x");
}

TEST(SpecHostile, DamagedTextAndTrees) {
    for (const char* name :
         {"docker.json", "podman-privileged.json", "podman-selinux-ulimit.json"}) {
        const std::string text = test::oci_fixture(name);
        const auto tree = base::parse_json(text, name);
        ASSERT_TRUE(tree);
        for (unsigned seed = 0; seed < kRounds; ++seed) {
            SCOPED_TRACE(std::string(name) + ", seed " + std::to_string(seed));
            test::Mutator mutator(seed);
            ASSERT_NO_THROW(use(mutator.damage_text(text)));
            base::Json damaged = *tree;
            mutator.damage_tree(damaged);
            mutator.damage_tree(damaged);
            ASSERT_NO_THROW(use(base::dump_json(damaged)));
        }
    }
}

TEST(StateHostile, DamagedTextAndTrees) {
    for (const char* name : {"state-crun-create-runtime.json", "state-poststop.json"}) {
        const std::string text = test::oci_fixture(name);
        const auto tree = base::parse_json(text, name);
        ASSERT_TRUE(tree);
        for (unsigned seed = 0; seed < kRounds; ++seed) {
            test::Mutator mutator(seed);
            ASSERT_NO_THROW((void)parse_state(mutator.damage_text(text)));
            base::Json damaged = *tree;
            mutator.damage_tree(damaged);
            const auto state = parse_state(base::dump_json(damaged));
            if (!state)
                continue;
            EXPECT_TRUE(state->bundle.starts_with('/')) << seed;
            EXPECT_FALSE(state->id.empty()) << seed;
            EXPECT_GE(state->pid, 0) << seed;
        }
    }
}
}  // namespace
}  // namespace oci
