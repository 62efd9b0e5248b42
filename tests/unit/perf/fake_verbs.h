// SPDX-License-Identifier: Apache-2.0
// FakeVerbs: a provider in memory. It hands out ibv_context objects whose operation tables lead
// here, so the tool's own hot loops run unchanged: queue pairs of one process reach each other,
// messages are memcpy. It is strict where devices are: states, key and bounds of remote memory,
// queue sizes, inline limit, RNR. And it can be told to go wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "perf/address/gid.h"
#include "perf/verbs/verbs.h"

namespace test {

// What happens to one message's data on its way.
// Late: of an unreliable transport, it comes just before whatever is sent next, by anyone.
enum class Fault { None, BitFlip, Stale, Shift, Stray, Lost, Late, Twice };

// A barrier that devices have and this one can be told to lack.
enum class Leak {
    WrongKey,     // a key that never was: any memory of the domain is reached
    StaleKey,     // a key whose memory was deregistered
    Range,        // beyond the ends of the memory
    Direction,    // a write to what may only be read
    Domain,       // another protection domain's key
    SilentWrite,  // refused, and done all the same
    QueueKey,     // a datagram with a wrong queue key
    RawPackets,   // without CAP_NET_RAW
    MemoryLimit,  // more than RLIMIT_MEMLOCK
    KeysInOrder,  // keys are counted up
};

struct FakeDevice {
    std::string name = "rxe0";
    std::vector<perf::GidRow> gids;  // device and port are filled in
    uint32_t mtu = 1024;
    uint32_t max_inline = 128;
    int max_qp_wr = 16384;
    int open_error = 0;
    uint32_t vendor_id = 0xffffff;  // rxe's
    uint8_t width = 1;              // of the port, as codes of ibv_port_attr
    uint8_t speed = 1;
    bool iwarp = false;               // queue pairs get to RTS by connect_iwarp() only
    std::set<uint32_t> guarded_gids;  // indexes that are refused as a source
    bool link_up = true;
    bool infiniband = false;      // the link layer; rows of `gids` are of that type
    bool wants_grh = false;       // as an mlx5 port of a VF: without one RTR answers EINVAL
    bool has_rc = true;           // EFA has none: EOPNOTSUPP
    bool has_calls = true;        // ibv_wr_*(3); iWARP's siw has none: EOPNOTSUPP
    bool has_lazy_queues = true;  // ibv_create_cq_ex(3); as ibv_wr_*(3)
    int max_reads = 128;          // of either side
    uint32_t thread_domains = 0;  // of its providers; 0: EOPNOTSUPP, as of rxe
    // Amazon's: SRD, which keeps no order, instead of RC and UC. Refuses what asks for no completion,
    // inline data of a write, and lists of anything but SEND (efa_post_send_validate_wr()).
    bool is_efa = false;
    bool has_efa_rdma = true;     // older adapters have READ only, or nothing
    bool takes_dma_bufs = false;  // mlx5, efa and irdma do; others, as rxe: EOPNOTSUPP
    std::vector<uint16_t> pkeys = {0xffff};
};

class FakeVerbs : public perf::Verbs {
  public:
    explicit FakeVerbs(std::vector<FakeDevice> devices = {});
    ~FakeVerbs() override;
    FakeVerbs(const FakeVerbs&) = delete;
    FakeVerbs& operator=(const FakeVerbs&) = delete;
    FakeVerbs(FakeVerbs&&) = delete;
    FakeVerbs& operator=(FakeVerbs&&) = delete;

    // ---- what goes wrong ------------------------------------------------------------------------
    // To the message of that number, from 0, and to each `step`th behind it, `count` in all.
    void inject(Fault fault, uint64_t message, uint64_t count = 1, uint64_t step = 1);
    void go_silent(uint64_t message);      // from that message on nothing completes
    void go_on();                          // what it held comes now
    void fail_messages(uint64_t message);  // from there on: retry exceeded

    // Each message takes its sender so long.
    void be_slow(std::chrono::milliseconds each) { slowness_ = each; }

    // Each post of receives takes so long.
    void receive_slowly(std::chrono::milliseconds each) { receive_slowness_ = each; }

    // So long takes a poll that finds nothing, as where others have the processor.
    void nap_for(std::chrono::microseconds time) { nap_ = time; }

    void take_link_down(const std::string& device);
    // To all who have the device open; IBV_EVENT_DEVICE_FATAL takes it from them.
    void announce(const std::string& device, ibv_event_type event);

    void refuse_memory(int number) { memory_error_ = number; }

    void refuse_rtr(int number) { rtr_error_ = number; }

    void have_no_table() { no_table_ = true; }

    // libibverbs drops what is optional where the kernel does not take it (ibv_reg_mr_iova2()).
    void have_old_kernel() { old_kernel_ = true; }

    // ---- what the kernel does when rdma_cm connects ---------------------------------------------
    // Of that queue pair; RESET if there is none.
    [[nodiscard]] ibv_qp_state state_of(uint32_t number);
    // Two queue pairs of iWARP devices in INIT get to RTS and reach each other.
    void connect_iwarp(uint32_t a, uint32_t b);

    // Instead of IBV_WC_REM_ACCESS_ERR, as providers do that map errors in their own way.
    void refuse_access_as(ibv_wc_status status) { access_refusal_ = status; }

    void leak(Leak leak) { leaks_.insert(leak); }

    // No registration is larger than RLIMIT_MEMLOCK.
    void heed_memory_limit() { heeds_memory_limit_ = true; }

    // ---- what is left ---------------------------------------------------------------------------
    [[nodiscard]] size_t objects();         // not given back
    [[nodiscard]] std::string complaint();  // the first misuse, or empty
    [[nodiscard]] uint64_t messages();      // with data, delivered
    // Of all queue pairs that got to RTR and all address handles, in their order.
    [[nodiscard]] std::vector<ibv_ah_attr> paths();
    [[nodiscard]] uint64_t posted_by_calls();   // requests, by ibv_wr_*(3)
    [[nodiscard]] uint64_t posted_by_lists();   // by ibv_post_send(3)
    [[nodiscard]] uint64_t unsignaled();        // requests that ask for no completion
    [[nodiscard]] uint64_t polled_lazily();     // completions, by ibv_start_poll(3)
    [[nodiscard]] std::vector<int> reads();     // in flight, of all that got to RTS as RC
    [[nodiscard]] std::vector<int> accesses();  // of all memory that was ever registered
    [[nodiscard]] uint64_t dma_bufs();          // that were ever registered
    // For each thread domain that ever was, how many queue pairs were made in it.
    [[nodiscard]] std::vector<unsigned> thread_domains();

    base::Result<std::vector<std::string>> device_names() override;
    ibv_context* open_device(const std::string& name) override;
    int release(ibv_context* context) override;
    int take_async_event(ibv_context* context, ibv_event_type* type) override;
    int query_device(ibv_context* context, ibv_device_attr* attr) override;
    int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr) override;
    ssize_t query_gid_table(ibv_context* context, std::span<ibv_gid_entry> out) override;
    int query_pkey(ibv_context* context, uint8_t port, int index, uint16_t* key) override;
    ibv_pd* alloc_pd(ibv_context* context) override;
    int release(ibv_pd* pd) override;
    ibv_td* alloc_td(ibv_context* context) override;
    int release(ibv_td* td) override;
    ibv_pd* alloc_parent_domain(ibv_context* context, ibv_pd* pd, ibv_td* td) override;
    ibv_mr* reg_mr(ibv_pd* pd, std::span<std::byte> memory, int access) override;
    ibv_mr* reg_dmabuf_mr(
        ibv_pd* pd, uint64_t offset, size_t bytes, uint64_t address, int fd, int access) override;
    int release(ibv_mr* mr) override;
    ibv_comp_channel* create_channel(ibv_context* context) override;
    int release(ibv_comp_channel* channel) override;
    ibv_cq* create_cq(ibv_context* context, int entries, ibv_comp_channel* channel) override;
    ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) override;
    int release(ibv_cq* cq) override;
    bool take_cq_event(ibv_comp_channel* channel) override;
    ibv_qp* create_qp(ibv_qp_init_attr_ex* attr, ibv_qp_ex** extended) override;
    int release(ibv_qp* qp) override;
    int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) override;
    ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr) override;
    int release(ibv_ah* ah) override;

  private:
    struct Context;
    struct Domain;
    struct Region;
    struct Channel;
    struct Queue;
    struct Pair;
    struct Request;
    struct Extended;

    static Queue* queue_of(ibv_cq* cq);
    static int poll_cq(ibv_cq* cq, int count, ibv_wc* out);
    static int take(Queue& queue, std::unique_lock<std::mutex>& lock, std::span<ibv_wc> out);
    static int step(ibv_cq_ex* cq, bool starts);
    static void end_poll(ibv_cq_ex* cq);
    static int req_notify_cq(ibv_cq* cq, int solicited);
    static int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
    static int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);

    int take_path(const Context& context, const ibv_ah_attr& path);
    // ibv_wr_*(3)
    static void equip(Extended& calls);
    static Request& build(ibv_qp_ex* qp, ibv_wr_opcode opcode, uint64_t operation);
    static void set_data(ibv_qp_ex* qp, uint64_t address, size_t length, bool is_inline);
    static int complete_calls(ibv_qp_ex* qp);

    int accept(Pair& pair, Request request);
    void progress(Pair& pair);
    bool execute(Pair& pair, const Request& request);
    bool deliver(Pair& peer, const Request& request, ibv_wc& mine, bool reliable);
    ibv_wc_status copy_remote(Pair& peer, const Request& request);
    const Region* find_region(const Pair& peer, uint32_t rkey);
    bool admits(const Pair& peer, const Region& region, unsigned needed) const;
    void move_data(const Request& request, uint64_t from);
    Pair* make_pair(const ibv_qp_init_attr_ex& attr);
    static bool knows_queue_key(const Pair& peer, const Request& request);
    Region* add_region(ibv_pd* pd, void* address, size_t bytes, int access);
    std::byte* at(uint64_t address);
    uint32_t new_key();

    [[nodiscard]] bool leaks(Leak leak) const { return leaks_.contains(leak); }

    bool lose(const Pair& pair, uint32_t to, const Request& request);
    void deliver_late();
    void arrive(Pair& peer, const Request& request, ibv_wc& mine);
    void atomic(const Request& request, std::byte* remote, std::byte* local);
    void copy(std::byte* to, const std::byte* from, size_t size);
    void complete(Queue& queue, const ibv_wc& wc, Pair* pair, uint64_t index);
    void complain(const std::string& text);

    std::mutex lock_;
    std::vector<FakeDevice> devices_;
    std::set<void*> objects_;
    std::set<Context*> contexts_;
    std::map<uint32_t, Pair*> pairs_;
    std::map<uint32_t, Region*> regions_;
    std::vector<Region*> dma_bufs_;  // those of regions_ that are
    uint64_t all_dma_bufs_ = 0;
    uint32_t next_number_ = 0x11;
    uint64_t messages_ = 0;
    uint64_t posted_by_calls_ = 0;
    uint64_t posted_by_lists_ = 0;
    uint64_t unsignaled_ = 0;
    uint64_t polled_lazily_ = 0;
    Fault fault_ = Fault::None;
    uint64_t fault_at_ = UINT64_MAX;
    uint64_t fault_count_ = 1;
    uint64_t fault_step_ = 1;
    std::shared_ptr<Request> late_;
    uint32_t late_for_ = 0;  // the number of a queue pair
    uint64_t silent_at_ = UINT64_MAX;
    uint64_t fail_at_ = UINT64_MAX;
    std::chrono::milliseconds slowness_{0};
    std::chrono::milliseconds receive_slowness_{0};
    std::chrono::microseconds nap_{20};
    int memory_error_ = 0;
    int rtr_error_ = 0;
    bool no_table_ = false;
    bool old_kernel_ = false;
    std::vector<int> accesses_;
    std::vector<ibv_ah_attr> paths_;
    std::vector<int> reads_;
    std::map<ibv_pd*, std::shared_ptr<Domain>> domains_;  // all parent domains
    std::vector<std::shared_ptr<Domain>> past_domains_;   // and those that were, in their order
    uint32_t thread_domains_in_use_ = 0;
    std::set<Leak> leaks_;
    ibv_wc_status access_refusal_ = IBV_WC_REM_ACCESS_ERR;
    bool heeds_memory_limit_ = false;
    std::mt19937 keys_;
    std::map<uint32_t, std::shared_ptr<Region>> stale_;
    std::string complaint_;
};

// A device "rxe0" whose GID 1 is 127.0.0.1, which every network namespace holds.
FakeDevice loopback_device(const std::string& name = "rxe0");

// A row of a GID table.
perf::GidRow gid_row(uint32_t index,
                     const std::string& address,
                     perf::GidType type = perf::GidType::RoceV2,
                     const std::string& netdev = "");

}  // namespace test
