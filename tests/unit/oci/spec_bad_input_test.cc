// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime-config/oci/spec.h"

namespace oci {
namespace {
struct Bad {
    const char* text;
    const char* says;  // part of the error: member and value
};

TEST(SpecBadInput, NamesMemberAndValue) {
    const Bad table[] = {
        {"", "not valid JSON"},
        {"{", "not valid JSON"},
        {"[]", "not a JSON object"},
        {"null", "not a JSON object"},
        {R"({"linux":{},"linux":{}})", "'linux' twice"},
        {R"({"annotations":[]})", "'annotations' must be an object, not []"},
        {R"({"annotations":{"a":1}})", "'annotations.a' must be a string, not 1"},
        {R"({"annotations":{"a\u001b":null}})", "'annotations.a\\x1b' must be a string, not null"},
        {R"({"linux":"x"})", "'linux' must be an object, not \"x\""},
        {R"({"linux":{"namespaces":{}}})", "'linux.namespaces' must be a list, not {}"},
        {R"({"linux":{"namespaces":["network"]}})", "'linux.namespaces[0]' must be an object"},
        {R"({"linux":{"namespaces":[null]}})", "'linux.namespaces[0]' must be an object, not null"},
        {R"({"linux":{"namespaces":[{}]}})", "'linux.namespaces[0].type' is missing"},
        {R"({"linux":{"namespaces":[{"type":5}]}})", "'linux.namespaces[0].type' must be a string"},
        {R"({"linux":{"namespaces":[{"type":"network","path":false}]}})",
         "'linux.namespaces[0].path' must be a string, not false"},
        {R"({"linux":{"namespaces":[{"type":"network","path":"run/x"}]}})",
         "'linux.namespaces[0].path' must be an absolute path, not run/x"},
        {R"({"linux":{"namespaces":[{"type":"network","path":"/a\u0000b"}]}})",
         "has a control character: /a\\x00b"},
        {R"({"linux":{"namespaces":[{"type":"network"},{"type":"network","path":"/x"}]}})",
         "'linux.namespaces[1].type' names 'network' a second time"},
        {R"({"linux":{"devices":{"a":1}}})", "'linux.devices' must be a list"},
        {R"({"linux":{"devices":[7]}})", "'linux.devices[0]' must be an object, not 7"},
        {R"({"linux":{"devices":[{"type":"c"}]}})", "'linux.devices[0].path' is missing"},
        {R"({"linux":{"devices":[{"path":"/dev/x","type":"c","major":"10"}]}})",
         "'linux.devices[0].major' must be a whole number, not \"10\""},
        {R"({"linux":{"devices":[{"path":"/dev/x","type":"c","minor":1.5}]}})",
         "'linux.devices[0].minor' must be a whole number, not 1.5"},
        {R"({"linux":{"resources":[]}})", "'linux.resources' must be an object"},
        {R"({"linux":{"resources":{"devices":"all"}}})",
         "'linux.resources.devices' must be a list, not \"all\""},
        {R"({"linux":{"resources":{"devices":[{"access":"rwm"}]}}})",
         "'linux.resources.devices[0].allow' is missing"},
        {R"({"linux":{"resources":{"devices":[{"allow":"yes"}]}}})",
         "'linux.resources.devices[0].allow' must be true or false, not \"yes\""},
        {R"({"linux":{"resources":{"devices":[{"allow":true,"major":18446744073709551615}]}}})",
         "'linux.resources.devices[0].major' must be a whole number"},
        {R"({"linux":{"mountLabel":["x"]}})", "'linux.mountLabel' must be a string"},
        {R"({"linux":{"mountLabel":"a\nb"}})", "'linux.mountLabel' has a control character"},
        {R"({"process":7})", "'process' must be an object, not 7"},
        {R"({"process":{"env":"A=1"}})", "'process.env' must be a list"},
        {R"({"process":{"env":["A=1",2]}})", "'process.env[1]' must be a string, not 2"},
        {R"({"process":{"rlimits":[{"type":"RLIMIT_MEMLOCK","soft":"x","hard":1}]}})",
         "'process.rlimits[0].soft' must be a whole number from 0, not \"x\""},
        {R"({"process":{"rlimits":[{"type":"RLIMIT_MEMLOCK","soft":1,"hard":-1}]}})",
         "'process.rlimits[0].hard' must be a whole number from 0, not -1"},
        {R"({"process":{"rlimits":[{"type":"A","soft":1,"hard":1},{"type":"A","soft":2,"hard":2}]}})",
         "'process.rlimits[1].type' names 'A' a second time"},
        {R"({"process":{"capabilities":["CAP_KILL"]}})",
         "'process.capabilities' must be an object"},
        {R"({"process":{"capabilities":{"bounding":[1]}}})",
         "'process.capabilities.bounding[0]' must be a string, not 1"},
        {R"({"process":{"capabilities":{"permitted":["CAP_KILL","13"]}}})",
         "'process.capabilities.permitted[1]' must be a capability such as CAP_CHOWN, not 13"},
        {R"({"process":{"capabilities":{"ambient":[null]}}})",
         "'process.capabilities.ambient[0]' must be a string, not null"},
        {R"({"mounts":{}})", "'mounts' must be a list, not {}"},
        {R"({"mounts":[{"source":"/x"}]})", "'mounts[0].destination' is missing"},
        {R"({"mounts":[{"destination":"/x","type":1}]})", "'mounts[0].type' must be a string"},
        {R"({"mounts":[{"destination":"/x","source":1}]})", "'mounts[0].source' must be a string"},
        {R"({"hooks":[]})", "'hooks' must be an object, not []"},
        {R"({"hooks":{"poststop":{"path":"/x"}}})", "'hooks.poststop' must be a list"},
    };
    for (const auto& row : table) {
        const auto spec = Spec::parse(row.text);
        ASSERT_FALSE(spec) << row.text;
        EXPECT_EQ(spec.error().code, base::Code::BadInput) << row.text;
        EXPECT_NE(spec.error().text.find(row.says), std::string::npos)
            << row.text << "\nsays: " << spec.error().text << "\nnot: " << row.says;
    }
}

TEST(SpecBadInput, IsBounded) {
    const std::string padding(kMaxSpecBytes, ' ');
    const auto spec = Spec::parse("{}" + padding);
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().text, "config.json is larger than 4194304 bytes");
    EXPECT_TRUE(Spec::parse("{}" + padding.substr(2)));
}
}  // namespace
}  // namespace oci
