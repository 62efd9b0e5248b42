// SPDX-License-Identifier: Apache-2.0
// Two network namespaces with an RDMA device each, and queue pairs on them.
// tests/lab/scenarios/cm.sh makes them and says so in the environment:
//   CM_SERVER, CM_CLIENT  the two ends: "/run/netns/NAME ADDRESS DEVICE"
//   CM_SILENT             a firewall drops what the ends send each other: only CmSilent runs
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "perf/verbs/cm/connection.h"

namespace test {

using base::Code;
using base::Deadline;
using base::Result;
using perf::CmConnection;
using perf::CmListener;
using perf::CmQueue;
using perf::CmTicket;
using perf::CmWait;
using perf::system_cm;
using perf::system_verbs;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Place {
    std::string netns;
    perf::Address address;
    std::string device;
};

inline std::optional<Place> place_of(const char* variable) {
    const char* text = std::getenv(variable);
    std::istringstream in(text != nullptr ? text : "");
    Place place;
    std::string address;
    if (!(in >> place.netns >> address >> place.device))
        return std::nullopt;
    place.address = perf::parse_address(address).value();
    return place;
}

inline bool is_silent() {
    return std::getenv("CM_SILENT") != nullptr;
}

// A thread in a network namespace: ids and sockets of rdma_cm belong to that of who makes them.
template <class Body>
auto in_netns(const Place& place, Body body) {
    return std::async(std::launch::async, [place, body = std::move(body)]() mutable {
        const base::UniqueFd ns(::open(place.netns.c_str(), O_RDONLY | O_CLOEXEC));
        if (::setns(ns.get(), CLONE_NEWNET) != 0)
            std::abort();
        return body();
    });
}

// A queue pair with its buffer.
class End {
  public:
    explicit End(const Place& place) {
        auto& verbs = system_verbs();
        context_ = perf::open_device(verbs, place.device).value();
        pd_ = perf::alloc_pd(verbs, context_.get()).value();
        memory_ = perf::register_memory(verbs, pd_.get(), buffer_, IBV_ACCESS_LOCAL_WRITE).value();
        queue_ = perf::create_cq(verbs, context_.get(), 16).value();
        ibv_qp_cap caps{.max_send_wr = 8,
                        .max_recv_wr = 8,
                        .max_send_sge = 1,
                        .max_recv_sge = 1,
                        .max_inline_data = 0};
        qp_ = perf::create_qp(verbs, pd_.get(), queue_.cq.get(), IBV_QPT_RC, caps).value();
    }

    [[nodiscard]] CmQueue queue() const {
        perf::End end{.verbs = &system_verbs(), .own = {}};
        end.own.initiator_depth = 4;
        end.own.responder_depth = 4;
        return {.end = end,
                .qp = qp_.get(),
                .access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
    }

    void post_receive() {
        ibv_sge piece{reinterpret_cast<uint64_t>(buffer_.data()), kSize, memory_->lkey};
        ibv_recv_wr request{};
        request.sg_list = &piece;
        request.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        ASSERT_EQ(ibv_post_recv(qp_.get(), &request, &bad), 0);
    }

    void send(unsigned seed) {
        for (size_t i = 0; i < kSize; ++i)
            buffer_[i] = byte_of(seed, i);
        ibv_sge piece{reinterpret_cast<uint64_t>(buffer_.data()), kSize, memory_->lkey};
        ibv_send_wr request{};
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = IBV_WR_SEND;
        request.send_flags = IBV_SEND_SIGNALED;
        ibv_send_wr* bad = nullptr;
        ASSERT_EQ(ibv_post_send(qp_.get(), &request, &bad), 0);
    }

    // The next completion, polled with a limit.
    void expect_completion(ibv_wc_opcode opcode) {
        ibv_wc wc{};
        const auto deadline = Deadline::in(seconds(20));
        while (ibv_poll_cq(queue_.cq.get(), 1, &wc) == 0 && !deadline.passed())
            (void)::sched_yield();
        ASSERT_FALSE(deadline.passed()) << "no completion";
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << perf::outcome_of(wc).error().message();
        EXPECT_EQ(wc.opcode, opcode);
    }

    void expect_bytes(unsigned seed) {
        for (size_t i = 0; i < kSize; ++i)
            ASSERT_EQ(buffer_[i], byte_of(seed, i)) << "at byte " << i;
    }

    // Where it was connected to, as the device has it.
    [[nodiscard]] ibv_qp_attr attributes() const {
        ibv_qp_attr attr{};
        ibv_qp_init_attr ignored{};
        EXPECT_EQ(::ibv_query_qp(qp_.get(), &attr, IBV_QP_DEST_QPN | IBV_QP_PATH_MTU, &ignored), 0);
        return attr;
    }

    void destroy_queue_pair() { qp_.reset(); }

  private:
    static constexpr uint32_t kSize = 8000;  // several packets

    static std::byte byte_of(unsigned seed, size_t i) {
        return static_cast<std::byte>(seed * 31 + i * 7 + (i >> 8U));
    }

    std::array<std::byte, kSize> buffer_{};
    perf::Owned<ibv_context> context_;
    perf::Owned<ibv_pd> pd_;
    perf::Owned<ibv_mr> memory_;
    perf::CompletionQueue queue_;
    perf::Owned<ibv_qp> qp_;
};

// librdmacm keeps a device open once it was used: not to be taken for a leak of a test.
class Warm : public testing::Environment {
    void SetUp() override {
        for (const char* variable : {"CM_SERVER", "CM_CLIENT"}) {
            if (const auto place = place_of(variable))
                in_netns(*place, [place] {
                    const auto device = perf::cm_device_of(system_cm(), place->address);
                    EXPECT_TRUE(device) << device.error().message();
                }).get();
        }
    }
};

[[maybe_unused]] inline testing::Environment* const kWarm =
    testing::AddGlobalTestEnvironment(new Warm);

class CmContract : public testing::Test {
  protected:
    explicit CmContract(bool silent = false) : silent_(silent) {}

    void SetUp() override {
        server_ = place_of("CM_SERVER");
        client_ = place_of("CM_CLIENT");
        if (!server_ || !client_)
            GTEST_SKIP() << "two RDMA devices of the tests' own are wanted: see "
                            "tests/lab/scenarios/cm.sh";
        if (silent_ != is_silent())
            GTEST_SKIP() << "for a lab " << (silent_ ? "with" : "without") << " a firewall";
    }

    [[nodiscard]] CmWait wait(milliseconds timeout = seconds(30)) const {
        return {.timeout = timeout, .stop = stop_};
    }

    [[nodiscard]] bool iwarp() const {
        return in_netns(*server_,
                        [this] {
                            return perf::cm_device_of(system_cm(), server_->address).value().iwarp;
                        })
            .get();
    }

    CmListener listen() {
        return in_netns(
                   *server_,
                   [this] {
                       return CmListener::open(system_cm(), {server_->address, server_->device});
                   })
            .get()
            .value();
    }

    auto accept(CmListener& listener, std::vector<End*> ends, CmWait how) {
        return in_netns(*server_, [&listener, ends, how] {
            std::vector<CmQueue> queues;
            for (End* end : ends) {
                queues.push_back(end->queue());
                const auto moved = listener.init(queues.back());
                EXPECT_TRUE(moved) << moved.error().message();
                end->post_receive();
            }
            return listener.accept(queues, how);
        });
    }

    auto connect(const End& end,
                 const perf::Address& to,
                 const CmTicket& ticket,
                 uint16_t lane,
                 CmWait how) {
        return in_netns(*client_,
                        [this, &end, to, ticket, lane, how]() -> Result<CmConnection> {
                            client_thread_ = ::gettid();
                            auto connection = TRY(CmConnection::open(
                                system_cm(), {client_->address, client_->device}));
                            TRY(connection.init(end.queue()));
                            TRY(connection.connect(end.queue(), to, ticket, lane, how));
                            return connection;
                        })
            .get();
    }

    // Until the client's thread sleeps in that system call.
    [[nodiscard]] bool wait_for_sleep(int call) const {
        for (const auto deadline = Deadline::in(seconds(20)); !deadline.passed();) {
            std::ifstream file("/proc/self/task/" + std::to_string(client_thread_) + "/syscall");
            int number = -1;
            if (file >> number && number == call)
                return true;
            (void)::sched_yield();
        }
        return false;
    }

    // A connected pair whose receive at the server is posted.
    struct Pair {
        std::optional<CmConnection> client, server;
    };

    Pair make_pair(End& client, End& server) {
        CmListener listener = listen();
        auto accepted = accept(listener, {&server}, wait());
        auto connection = connect(client, server_->address, listener.ticket(), 0, wait());
        auto lanes = accepted.get();
        EXPECT_TRUE(connection) << connection.error().message();
        EXPECT_TRUE(lanes) << lanes.error().message();
        if (!connection || !lanes)
            return {};
        return {std::move(connection).value(), std::move(lanes->front())};
    }

    bool silent_;
    std::optional<Place> server_;
    std::optional<Place> client_;
    perf::Stop stop_;
    std::atomic<pid_t> client_thread_ = 0;
};

class CmSilent : public CmContract {
  protected:
    CmSilent() : CmContract(true) {}
};

}  // namespace test
