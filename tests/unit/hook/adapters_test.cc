// SPDX-License-Identifier: Apache-2.0
// Each mode over each adapter of tests/fakes/adapters.cc: a container attaches and what it had
// comes back, or it is refused with the sentence that is right for that adapter. Nothing waits for
// what never comes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/hook/adapter_cases.h"

namespace test {
namespace {

using testing::HasSubstr;

class Adapters : public testing::TestWithParam<Case> {};

TEST_P(Adapters, AttachesAndComesBackOrSaysWhyNot) {
    const Case& each = GetParam();
    FakeHost fake{world_of(each)};
    StateDir state;
    add_pool(each, state);
    Life life{fake, state, "one"};
    life.annotations = annotations_of(each);
    World before = fake.world;
    const auto attached = life.attach();
    if (each.says.empty()) {
        ASSERT_TRUE(attached) << attached.error().message();
        EXPECT_TRUE(life.poststop());
        before.processes.erase(life.init);
    } else {
        ASSERT_FALSE(attached) << "it is not refused";
        EXPECT_NE(attached.error().code, base::Code::Timeout);
        EXPECT_THAT(attached.error().message(), HasSubstr(each.says));
    }
    fake.settle();
    EXPECT_EQ(fake.world, before) << difference(before, fake.world);
    EXPECT_EQ(state.leftovers(), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(All, Adapters, testing::ValuesIn(cases()), [](const auto& param) {
    return name_of(param.param);
});

}  // namespace
}  // namespace test
