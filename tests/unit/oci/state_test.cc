// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/oci/state.h"

#include <gtest/gtest.h>

#include "tests/unit/oci/fixtures.h"

namespace oci {
namespace {
TEST(State, WhatRuntimesSend) {
    const auto crun = parse_state(test::oci_fixture("state-crun-create-runtime.json"));
    ASSERT_TRUE(crun) << crun.error().message();
    EXPECT_EQ(crun->pid, 4711);
    EXPECT_EQ(crun->status, "created");
    EXPECT_EQ(crun->bundle,
              "/var/lib/containers/storage/overlay-containers/" + crun->id + "/userdata");
    EXPECT_EQ(parse_state(test::oci_fixture("state-runc-create-runtime.json"))->pid, 4712);
    const auto stopped = parse_state(test::oci_fixture("state-poststop.json"));
    ASSERT_TRUE(stopped);
    EXPECT_EQ(stopped->pid, 0);
    EXPECT_EQ(parse_state(R"({"id":"a","bundle":"/b","pid":null})")->status, "");
}

// crun 1.28 alone writes its state over several lines, with a backslash before each slash.
TEST(State, WhatCrun128Sends) {
    const auto state = parse_state(
        "{\n  \"ociVersion\": \"1.0\",\n  \"id\": \"d5ee\",\n  \"pid\": 5537,\n"
        "  \"root\": \"\\/run\\/merged\",\n  \"bundle\": \"\\/run\\/d5ee\\/userdata\",\n"
        "  \"status\": \"created\",\n  \"annotations\": {\n    \"rdma.ip\": \"::1\\/64\"\n  "
        "}\n}\n");
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(state->bundle, "/run/d5ee/userdata");
    EXPECT_EQ(state->pid, 5537);
    EXPECT_EQ(state->status, "created");
}

TEST(State, WhatRuntimesKeep) {
    const std::string id = parse_state(test::oci_fixture("state-runc-create-runtime.json"))->id;
    const auto runc = parse_runc_state(test::oci_fixture("kept-runc.json"), id);
    ASSERT_TRUE(runc) << runc.error().message();
    EXPECT_EQ(runc->id, id);
    EXPECT_EQ(runc->pid, 4712);
    EXPECT_EQ(runc->start, 70512U);
    EXPECT_EQ(runc->bundle,
              "/run/docker/containerd/daemon/io.containerd.runtime.v2.task/moby/" + id)
        << "not the annotation's";
    const auto crun = parse_crun_status(test::oci_fixture("kept-crun.json"), "3f1d");
    ASSERT_TRUE(crun) << crun.error().message();
    EXPECT_EQ(crun->id, "3f1d");
    EXPECT_EQ(crun->pid, 4711);
    EXPECT_EQ(crun->start, 70411U);
    EXPECT_TRUE(crun->bundle.ends_with("/userdata"));
}

TEST(State, WhatRuntimesDoNotKeep) {
    const std::string labels = R"(,"config":{"labels":["bundle=/b"]}})";
    const std::string runc = R"({"id":"a","init_process_pid":7,"init_process_start":8)";
    ASSERT_TRUE(parse_runc_state(runc + labels, "a"));

    const struct {
        std::string text;
        const char* says;
    } of_runc[] = {
        {"", "not valid JSON"},
        {"[]", "not a JSON object"},
        {R"({"id":"b")" + runc.substr(9) + labels, "about container b and not about a"},
        {R"({"id":"a")" + labels, "'init_process_pid' is missing"},
        {R"({"id":"a","init_process_pid":0,"init_process_start":8)" + labels, "not '0'"},
        {R"({"id":"a","init_process_pid":-1,"init_process_start":8)" + labels, "not '-1'"},
        {R"({"id":"a","init_process_pid":7,"init_process_start":"8")" + labels, "whole number"},
        {R"({"id":"a","init_process_pid":7,"init_process_start":-8)" + labels, "whole number"},
        {runc + "}", "no 'config'"},
        {runc + R"(,"config":[]})", "no 'config'"},
        {runc + R"(,"config":{}})", "'bundle' must be an absolute path"},
        {runc + R"(,"config":{"labels":["bundle=/b","bundle=b"]}})", "not 'b'"},
        {runc + R"(,"config":{"labels":["bundle=/b",1]}})", "'labels' must be a string"},
        {runc + R"(,"config":{"labels":{"x":7}}})", "'labels' must be a list"},
    };

    for (const auto& row : of_runc) {
        const auto state = parse_runc_state(row.text, "a");
        ASSERT_FALSE(state) << row.text;
        EXPECT_EQ(state.error().code, base::Code::BadInput) << row.text;
        EXPECT_NE(state.error().message().find(row.says), std::string::npos)
            << state.error().message();
    }
    const std::string crun = R"({"pid":7,"process-start-time":8,"bundle":"/b"})";
    EXPECT_TRUE(parse_crun_status(crun, "a"));
    EXPECT_FALSE(parse_crun_status(crun, "../a"));
    EXPECT_FALSE(parse_crun_status(R"({"pid":7,"bundle":"/b"})", "a")) << "of before 0.17";
    EXPECT_FALSE(parse_crun_status(R"({"pid":7,"process-start-time":8})", "a"));
}

TEST(State, OneSpellingOfABundle) {
    for (const char* bundle : {"/a/b", "/a/b/", "//a//b", "/a/./b/.", "/./a/b//"})
        EXPECT_EQ(parse_state(std::string(R"({"id":"x","bundle":")") + bundle + "\"}")->bundle,
                  "/a/b")
            << bundle;
}

// crun, of a container with a user namespace.
TEST(State, ARuntimeMayNotTellTheBundle) {
    for (const char* bundle : {"/", "//", "/."})
        EXPECT_FALSE(
            parse_state(std::string(R"({"id":"x","bundle":")") + bundle + "\"}")->knows_bundle())
            << bundle;
    EXPECT_TRUE(parse_state(R"({"id":"x","bundle":"/b"})")->knows_bundle());
}

TEST(State, AnnotationsAreTexts) {
    const auto annotations = [](const std::string& list) {
        return parse_state(R"({"id":"x","bundle":"/b","annotations":)" + list + "}")->annotations;
    };
    using Map = std::map<std::string, std::string>;
    EXPECT_EQ(annotations(R"({"a":"1","b":2,"c":null})"), (Map{{"a", "1"}}));
    for (const char* none : {"null", "[]", "{}", "7"})
        EXPECT_EQ(annotations(none), Map{}) << none;
}

TEST(State, IdsOfEveryEngine) {
    for (const std::string id : {"a", "A1", "0", "k8s_x.y-z+1", "3f1da0c4", "a_b"})
        EXPECT_TRUE(parse_state(R"({"id":")" + id + R"(","bundle":"/b"})")) << id;
    EXPECT_TRUE(parse_state(R"({"id":")" + std::string(1024, 'a') + R"(","bundle":"/b"})"));
}

TEST(State, BadInput) {
    const std::string long_id(1025, 'a');
    const std::string long_path(4097, 'a');

    const struct {
        std::string text;
        const char* says;
    } table[] = {
        {"", "not valid JSON"},
        {"[]", "not a JSON object"},
        {R"("x")", "not a JSON object"},
        {R"({"bundle":"/b"})", "'id' is missing"},
        {R"({"id":1,"bundle":"/b"})", "'id' must be a string, not 1"},
        {R"({"id":"","bundle":"/b"})", "'id' must be letters"},
        {R"({"id":"../x","bundle":"/b"})", "not '../x'"},
        {R"({"id":"-x","bundle":"/b"})", "not '-x'"},
        {R"({"id":".x","bundle":"/b"})", "not '.x'"},
        {R"({"id":"a/b","bundle":"/b"})", "not 'a/b'"},
        {R"({"id":"a b","bundle":"/b"})", "not 'a b'"},
        {R"({"id":"a\n","bundle":"/b"})", "not 'a\\x0a'"},
        {R"({"id":"\u00e9","bundle":"/b"})", "not '\\xc3\\xa9'"},
        {R"({"id":")" + long_id + R"(","bundle":"/b"})", "up to 1024 bytes"},
        {R"({"id":"a","id":"b","bundle":"/b"})", "'id' twice"},
        {R"({"id":"a"})", "'bundle' is missing"},
        {R"({"id":"a","bundle":7})", "'bundle' must be a string, not 7"},
        {R"({"id":"a","bundle":""})", "'bundle' must be an absolute path"},
        {R"({"id":"a","bundle":"b"})", "not 'b'"},
        {R"({"id":"a","bundle":"/b/../c"})", "not '/b/../c'"},
        {R"({"id":"a","bundle":"/b/.."})", "not '/b/..'"},
        {R"({"id":"a","bundle":"/b\u0000"})", "not '/b\\x00'"},
        {R"({"id":"a","bundle":"/)" + long_path + "\"}", "'bundle' must be an absolute path"},
        {R"({"id":"a","bundle":"/b","pid":-1})", "'pid' must be a process id, not '-1'"},
        {R"({"id":"a","bundle":"/b","pid":4294967297})", "not '4294967297'"},
        {R"({"id":"a","bundle":"/b","pid":"7"})", "'pid' must be a whole number"},
        {R"({"id":"a","bundle":"/b","pid":7.5})", "'pid' must be a whole number"},
        {R"({"id":"a","bundle":"/b","status":1})", "'status' must be a string, not 1"},
    };

    for (const auto& row : table) {
        const auto state = parse_state(row.text);
        ASSERT_FALSE(state) << row.text;
        EXPECT_EQ(state.error().code, base::Code::BadInput) << row.text;
        EXPECT_NE(state.error().message().find(row.says), std::string::npos)
            << row.text << "\nsays: " << state.error().message();
    }
}

TEST(State, HasRoomForTheAnnotationsThatConfigJsonMayHave) {
    const auto state =
        parse_state(R"({"ociVersion":"1.0.2","id":"c1","bundle":"/b","annotations":{"a":")" +
                    std::string(size_t{3} << 20U, 'x') + R"("}})");
    ASSERT_TRUE(state) << state.error().message();
}

TEST(State, IsBounded) {
    const auto state = parse_state("{}" + std::string(kMaxStateBytes, ' '));
    ASSERT_FALSE(state);
    EXPECT_EQ(state.error().text, "container state is larger than 4259840 bytes");
}
}  // namespace
}  // namespace oci
