// SPDX-License-Identifier: Apache-2.0
// A device at 10.9.0.1 that is RoCE or iWARP, queue pairs on it, and a server on a thread.
#pragma once

#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/verbs/cm/connection.h"
#include "tests/unit/perf/fake_cm.h"
#include "tests/unit/perf/fake_verbs.h"

namespace perf {

// Remembers the attributes of each change of state.
class SpyVerbs : public test::FakeVerbs {
  public:
    using FakeVerbs::FakeVerbs;

    int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) override {
        const int rc = FakeVerbs::modify_qp(qp, attr, mask);
        const std::lock_guard<std::mutex> guard(lock_);
        changes_[{qp->qp_num, attr->qp_state}] = *attr;
        return rc;
    }

    // What the queue pair got at its change to that state.
    ibv_qp_attr change(const ibv_qp* qp, ibv_qp_state state) {
        const std::lock_guard<std::mutex> guard(lock_);
        return changes_[{qp->qp_num, state}];
    }

  private:
    std::mutex lock_;
    std::map<std::pair<uint32_t, ibv_qp_state>, ibv_qp_attr> changes_;
};

// A queue pair with a buffer of its own.
class CmEnd {
  public:
    static constexpr uint32_t kSize = 64;

    explicit CmEnd(Verbs& verbs) : verbs_(&verbs) {
        context_ = open_device(verbs, "rdma0").value();
        pd_ = alloc_pd(verbs, context_.get()).value();
        memory_ = register_memory(verbs, pd_.get(), buffer_, IBV_ACCESS_LOCAL_WRITE).value();
        queue_ = create_cq(verbs, context_.get(), 8).value();
        ibv_qp_cap caps{.max_send_wr = 4,
                        .max_recv_wr = 4,
                        .max_send_sge = 1,
                        .max_recv_sge = 1,
                        .max_inline_data = 0};
        qp_ = create_qp(verbs, pd_.get(), queue_.cq.get(), IBV_QPT_RC, caps).value();
    }

    [[nodiscard]] CmQueue queue() const {
        perf::End end{.verbs = verbs_, .own = {}};
        end.own.initiator_depth = 4;
        end.own.responder_depth = 8;
        return {.end = end, .qp = qp_.get(), .access = IBV_ACCESS_REMOTE_WRITE};
    }

    void post_receive() {
        ibv_sge piece = this->piece();
        ibv_recv_wr request{};
        request.sg_list = &piece;
        request.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        ASSERT_EQ(ibv_post_recv(qp_.get(), &request, &bad), 0);
    }

    void send(std::byte value) {
        buffer_.fill(value);
        ibv_sge piece = this->piece();
        ibv_send_wr request{};
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = IBV_WR_SEND;
        request.send_flags = IBV_SEND_SIGNALED;
        ibv_send_wr* bad = nullptr;
        ASSERT_EQ(ibv_post_send(qp_.get(), &request, &bad), 0);
    }

    // The completion that is there; the fake's messages arrive while they are sent.
    void expect_completion(ibv_wc_opcode opcode) {
        ibv_wc wc{};
        ASSERT_EQ(ibv_poll_cq(queue_.cq.get(), 1, &wc), 1);
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc.opcode, opcode);
    }

    [[nodiscard]] const std::array<std::byte, kSize>& buffer() const { return buffer_; }

    [[nodiscard]] const ibv_qp* qp() const { return qp_.get(); }

  private:
    [[nodiscard]] ibv_sge piece() {
        return {reinterpret_cast<uint64_t>(buffer_.data()), kSize, memory_->lkey};
    }

    Verbs* verbs_;
    std::array<std::byte, kSize> buffer_{};
    Owned<ibv_context> context_;
    Owned<ibv_pd> pd_;
    Owned<ibv_mr> memory_;
    CompletionQueue queue_;
    Owned<ibv_qp> qp_;
};

class CmTest : public testing::Test {
  protected:
    explicit CmTest(bool iwarp = false)
        : iwarp_(iwarp), verbs_({device()}), cm_(verbs_, {place()}) {}

    ~CmTest() override {
        EXPECT_EQ(cm_.objects(), 0U) << "objects of rdma_cm are left";
        EXPECT_EQ(cm_.complaint(), "");
        EXPECT_EQ(verbs_.objects(), 0U) << "objects of verbs are left";
        EXPECT_EQ(verbs_.complaint(), "");
    }

    [[nodiscard]] test::FakeDevice device() const {
        test::FakeDevice device = test::loopback_device("rdma0");
        device.iwarp = iwarp_;
        return device;
    }

    [[nodiscard]] test::FakeCmDevice place() const { return {"rdma0", address(), iwarp_}; }

    static Address address() { return parse_address("10.9.0.1").value(); }

    [[nodiscard]] CmWait wait(std::chrono::milliseconds timeout = std::chrono::seconds(10)) const {
        return {.timeout = timeout, .stop = stop_};
    }

    CmListener listen() { return CmListener::open(cm_, {address(), "rdma0"}).value(); }

    // Connects `end` as that lane of the listener, from the beginning.
    base::Result<CmConnection> connect(const CmEnd& end,
                                       const CmTicket& ticket,
                                       uint16_t lane,
                                       const CmWait& how) {
        CmConnection connection = TRY(CmConnection::open(cm_, {address(), "rdma0"}));
        TRY(connection.init(end.queue()));
        TRY(connection.connect(end.queue(), address(), ticket, lane, how));
        return connection;
    }

    using Accepted = base::Result<std::vector<CmConnection>>;

    // The listener waits for its lanes on another thread.
    std::future<Accepted> accept(CmListener& listener,
                                 const std::vector<CmEnd*>& ends,
                                 const CmWait& how) {
        std::vector<CmQueue> queues;
        for (CmEnd* end : ends) {
            queues.push_back(end->queue());
            EXPECT_TRUE(listener.init(queues.back()));
        }
        return std::async(std::launch::async,
                          [&listener, queues, how] { return listener.accept(queues, how); });
    }

    static void expect_error(const base::Error& error,
                             base::Code code,
                             const std::string& text,
                             const std::string& fix = "") {
        EXPECT_EQ(error.code, code) << error.message();
        EXPECT_THAT(error.message(), testing::HasSubstr(text));
        EXPECT_THAT(error.fix, testing::HasSubstr(fix));
    }

    bool iwarp_;
    Stop stop_;
    SpyVerbs verbs_;
    test::FakeCm cm_;
};

// The same over both transports.
class CmEveryTransport : public CmTest, public testing::WithParamInterface<bool> {
  protected:
    CmEveryTransport() : CmTest(GetParam()) {}
};

// A connection attempt towards a listener that accepts; both are over when it returns.
class CmAttempt : public CmTest {
  protected:
    explicit CmAttempt(bool iwarp = false) : CmTest(iwarp) {}

    base::Error failed(std::chrono::milliseconds timeout = std::chrono::seconds(10)) {
        CmEnd client(verbs_);
        CmEnd server(verbs_);
        CmListener listener = listen();
        auto accepted = accept(listener, {&server}, {.stop = server_stop_});
        const auto connection = connect(client, listener.ticket(), 0, wait(timeout));
        server_stop_.request();
        (void)accepted.get();
        EXPECT_FALSE(connection);
        return connection ? base::Error{} : connection.error();
    }

    Stop server_stop_;
};

inline std::string transport_name(const testing::TestParamInfo<bool>& info) {
    return info.param ? "Iwarp" : "Roce";
}

}  // namespace perf
