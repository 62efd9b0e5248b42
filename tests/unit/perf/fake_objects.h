// SPDX-License-Identifier: Apache-2.0
// The objects behind FakeVerbs's handles; only fake_verbs.cc (control path) and fake_wire.cc (data
// path) know them.
#pragma once

#include <condition_variable>
#include <memory>

#include "tests/unit/perf/fake_verbs.h"

namespace test {

struct FakeVerbs::Context : ibv_context {
    FakeVerbs* owner = nullptr;
    FakeDevice* device = nullptr;
    std::deque<ibv_event_type> events;
    bool removed = false;
};

// What a parent domain stands for.
struct FakeVerbs::Domain {
    ibv_pd* pd = nullptr;
    ibv_td* td = nullptr;
    unsigned pairs = 0;      // there are
    unsigned all_pairs = 0;  // there ever were
};

struct FakeVerbs::Region : ibv_mr {
    int access = 0;
    std::byte* inside =
        nullptr;  // of a dma-buf: where the device has it, wherever that is for others
};

struct FakeVerbs::Channel : ibv_comp_channel {
    std::deque<ibv_cq*> events;
};

// Any queue has room for what the extended ones have; those of the older kind have no functions.
struct FakeVerbs::Queue : ibv_cq_ex {
    struct Entry {
        ibv_wc wc{};
        Pair* pair = nullptr;  // whose send requests up to `index` are free once this is polled
        uint64_t index = 0;
    };

    Channel* fake_channel = nullptr;
    std::deque<Entry> entries;
    bool armed = false;
    bool was_armed = false;    // whoever polls it knows how to sleep
    unsigned empty_polls = 0;  // in a row
    std::condition_variable filled;
    bool is_open = false;  // between start_poll and end_poll
    ibv_wc current{};      // there
};

struct FakeVerbs::Request {
    ibv_send_wr wr{};
    ibv_sge piece{};
    uint32_t to = 0;  // of datagrams
    uint32_t queue_key = 0;
    std::vector<std::byte> inline_data;
    uint64_t index = 0;

    // From now on the sender's memory is its own again. Inline, a processor reads it.
    void copy_data() { copy_data(reinterpret_cast<const std::byte*>(piece.addr)); }

    void copy_data(const std::byte* data) { inline_data.assign(data, data + piece.length); }
};

// What ibv_wr_*(3) build between start and complete.
struct FakeVerbs::Extended : ibv_qp_ex {
    struct Building {
        Request request;
        unsigned data = 0;       // setters that were called
        unsigned addresses = 0;  // of datagrams
    };

    Pair* pair = nullptr;
    uint64_t operations = 0;  // that the queue pair was created for
    bool is_open = false;
    int error = 0;
    std::vector<Building> built;
};

struct FakeVerbs::Pair : ibv_qp {
    ibv_qp_cap caps{};
    ibv_qp_type kind = IBV_QPT_RC;
    ibv_pd* reaches = nullptr;  // the memory of this domain
    std::shared_ptr<Domain> domain;
    uint32_t peer = 0;  // 0: datagrams name their own
    unsigned access = 0;
    uint32_t queue_key = 0;  // of datagrams
    uint16_t pkey = 0;
    std::deque<Request> sends;
    std::deque<std::pair<ibv_recv_wr, ibv_sge>> receives;
    uint64_t posted = 0;
    uint64_t freed = 0;

    [[nodiscard]] bool is_datagram() const { return kind == IBV_QPT_UD || kind == IBV_QPT_DRIVER; }

    [[nodiscard]] bool is_reliable() const { return kind == IBV_QPT_RC || kind == IBV_QPT_DRIVER; }

    std::unique_ptr<Extended> extended;
};

}  // namespace test
