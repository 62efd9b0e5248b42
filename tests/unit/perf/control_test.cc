// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/control.h"

#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "perf/protocol/message.h"

namespace perf {
namespace {

using base::Code;
using base::Deadline;
using base::Json;
using namespace std::chrono_literals;

class ControlTest : public testing::Test {
  protected:
    ControlTest() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds_), 0);
        control_.emplace(base::UniqueFd(fds_[0]), stop_);
        raw_.reset(fds_[1]);
    }

    void write(const std::string& bytes) const {
        ASSERT_EQ(::send(raw_.get(), bytes.data(), bytes.size(), 0),
                  static_cast<ssize_t>(bytes.size()));
    }

    Code code_after(const std::string& bytes) {
        write(bytes);
        raw_.reset();
        const auto got = control_->receive(Deadline::in(1s));
        EXPECT_FALSE(got);
        return got ? Code::Internal : got.error().code;
    }

    static std::string frame(const std::string& body) {
        std::string out = "RDP1";
        for (int shift = 24; shift >= 0; shift -= 8)
            out += static_cast<char>(body.size() >> static_cast<unsigned>(shift));
        return out + body;
    }

    Stop stop_;
    int fds_[2] = {-1, -1};
    std::optional<Control> control_;
    base::UniqueFd raw_;
};

TEST_F(ControlTest, FrameThereAndBack) {
    write(*encode_frame(message("hello", {{"a", 1}})));
    const auto got = control_->receive(Deadline::in(1s));
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ((*got)["type"], "hello");
    EXPECT_EQ((*got)["a"], 1);
}

TEST_F(ControlTest, ByteByByte) {
    const std::string bytes = *encode_frame(message("x"));
    std::jthread writer([&] {
        for (const char c : bytes)
            (void)::send(raw_.get(), &c, 1, 0);
    });
    EXPECT_TRUE(control_->receive(Deadline::in(2s)));
}

TEST_F(ControlTest, OtherProtocolIsNamed) {
    write("GET / HTTP/1.1\r\n\r\n");
    const auto got = control_->receive(Deadline::in(1s));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::BadInput);
    EXPECT_THAT(got.error().message(), testing::HasSubstr("GET / HT"));
}

TEST_F(ControlTest, EmptyFrameIsRefused) {
    EXPECT_EQ(code_after(frame("")), Code::BadInput);
}

TEST_F(ControlTest, HugeFrameIsRefusedBeforeItIsRead) {
    EXPECT_EQ(code_after(std::string("RDP1\xff\xff\xff\xff", 8)), Code::BadInput);
}

TEST_F(ControlTest, LimitIsExact) {
    EXPECT_TRUE(decode_header(std::string("RDP1\x00\x01\x00\x00", 8)));
    EXPECT_FALSE(decode_header(std::string("RDP1\x00\x01\x00\x01", 8)));
    EXPECT_FALSE(decode_header("RDP1"));
}

TEST_F(ControlTest, NotJsonIsRefused) {
    EXPECT_EQ(code_after(frame("{")), Code::BadInput);
}

TEST_F(ControlTest, NotAnObjectIsRefused) {
    EXPECT_EQ(code_after(frame("[1]")), Code::BadInput);
}

TEST_F(ControlTest, DeepNestingIsRefused) {
    EXPECT_EQ(code_after(frame(std::string(30000, '['))), Code::BadInput);
}

TEST_F(ControlTest, CutFrameIsALostPeer) {
    EXPECT_EQ(code_after(frame(R"({"type":"x"})").substr(0, 12)), Code::Unavailable);
}

TEST_F(ControlTest, CutHeaderIsALostPeer) {
    EXPECT_EQ(code_after("RDP"), Code::Unavailable);
}

TEST_F(ControlTest, SilenceEndsAtTheDeadline) {
    const auto begin = Deadline::Clock::now();
    const auto got = control_->receive(Deadline::in(50ms));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::Timeout);
    EXPECT_LT(Deadline::Clock::now() - begin, 2s);
}

TEST_F(ControlTest, StopEndsAWait) {
    std::jthread stopper([this] { stop_.request(); });
    const auto got = control_->receive(Deadline::in(60s));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().sys, ECANCELED);
}

TEST_F(ControlTest, PeerThatDoesNotReadEndsAtTheDeadline) {
    Json big = message("x", {{"text", std::string(60000, 'x')}});
    base::Result<> sent;
    for (int i = 0; i < 100 && sent; ++i)
        sent = control_->send(big, Deadline::in(50ms));
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, Code::Timeout);
}

TEST_F(ControlTest, OwnMessageTooLargeIsABug) {
    EXPECT_EQ(encode_frame(message("x", {{"t", std::string(70000, 'x')}})).error().code,
              Code::Internal);
}

TEST_F(ControlTest, ErrorFrameBecomesTheError) {
    write(*encode_frame(
        error_message(base::make_error(Code::Unsupported, "no device").advise("attach one"))));
    const auto got = control_->expect("hello", Deadline::in(1s));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::Unsupported);
    EXPECT_EQ(got.error().message(), "the peer says: no device; attach one");
}

TEST_F(ControlTest, WrongTypeIsNamed) {
    write(*encode_frame(message("bye")));
    const auto got = control_->expect("hello", Deadline::in(1s));
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().message(), testing::HasSubstr("'bye' where 'hello' is due"));
}

TEST_F(ControlTest, ReasonIsReadEvenIfTheSendFails) {
    write(*encode_frame(error_message(base::make_error(Code::Busy, "too many clients"))));
    raw_.reset();
    const auto got = control_->ask(message("hello"), "hello", Deadline::in(1s));
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().message(), testing::HasSubstr("too many clients"));
}

}  // namespace
}  // namespace perf
