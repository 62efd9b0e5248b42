// SPDX-License-Identifier: Apache-2.0
// Buffers in huge pages, in GPUs and behind dma-bufs. The GPUs' libraries are stand-ins that the
// loader finds by name, as it finds real ones; their memory is PROT_NONE for everybody but the
// stand-in and the fake device.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf/protocol/message.h"
#include "perf/report/compare.h"
#include "perf/verbs/memory.h"
#include "tests/unit/perf/report_samples.h"
#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using test::FakeDevice;
using test::FakeVerbs;
using test::Fault;
using testing::AllOf;
using testing::HasSubstr;

// An adapter that takes dma-bufs, or does not.
FakeDevice gpu_peer(bool takes_dma_bufs = true) {
    FakeDevice device = test::loopback_device();
    device.vendor_id = 0x2c9;
    device.takes_dma_bufs = takes_dma_bufs;
    return device;
}

Buffers memory_of(const std::string& word) {
    auto memory = open_memory(word);
    EXPECT_TRUE(memory) << memory.error().message();
    return memory ? *memory : host_memory();
}

base::Error why_not(const std::string& word) {
    const auto memory = open_memory(word);
    EXPECT_FALSE(memory) << word;
    return memory ? base::Error{} : memory.error();
}

// One point whose sides both have their buffers there.
base::Result<PointResult> run_in(FakeVerbs& verbs, const Buffers& memory, const Point& wanted) {
    SideOptions side = options();
    side.memory = memory;
    Pair pair(verbs, side);
    auto result = [&]() -> base::Result<PointResult> {
        Client client = TRY(pair.client(verbs));
        EXPECT_EQ(client.device().info.memory, memory->kind.word);
        EXPECT_EQ(client.server_device().memory, memory->kind.word);
        return conduct({&client, 1}, wanted);
    }();
    (void)pair.outcome();
    EXPECT_EQ(verbs.objects(), 0U) << "objects are left";
    EXPECT_EQ(verbs.complaint(), "");
    return result;
}

// Every verb and transport carries right data, and each kind of wrong data is seen.
void expect_verified(const FakeDevice& device, const Buffers& memory) {
    for (const Verb verb : kVerbs) {
        for (const Transport transport : {Transport::Rc, Transport::Uc, Transport::Ud}) {
            if (!can_carry(transport, verb))
                continue;
            for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
                FakeVerbs verbs({device});
                const auto result = run_in(verbs, memory, point(verb, mode, 64, transport));
                ASSERT_TRUE(result) << name_of(verb) << ": " << result.error().message();
                EXPECT_FALSE(result->checked.wrong) << name_of(verb);
                EXPECT_GT(result->checked.messages, 0U);
                EXPECT_EQ(result->inline_bytes, 0U) << "no processor may read it";
            }
        }
    }
    for (const Fault fault : {Fault::BitFlip, Fault::Stale, Fault::Shift, Fault::Stray}) {
        for (const Verb verb : {Verb::Write, Verb::Read, Verb::Send}) {
            FakeVerbs verbs({device});
            verbs.inject(fault, 3);
            const auto result = run_in(verbs, memory, point(verb, Mode::Bandwidth));
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_TRUE(result->checked.wrong) << name_of(verb) << " " << static_cast<int>(fault);
        }
    }
}

// A vendor's library, loaded as long as this lives, and by rdma-perf for ever.
class Standin {
  public:
    explicit Standin(const char* path) : library_(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        EXPECT_NE(library_, nullptr) << ::dlerror();
    }

    ~Standin() { (void)::dlclose(library_); }

    Standin(const Standin&) = delete;
    Standin& operator=(const Standin&) = delete;

    void have_dma_bufs(bool has) const { call<void(bool)>("standin_dma_bufs")(has); }

    [[nodiscard]] size_t pieces() const { return call<size_t()>("standin_pieces")(); }

    [[nodiscard]] int contexts() const { return call<int()>("standin_contexts")(); }

  private:
    template <class F>
    F* call(const char* name) const {
        return reinterpret_cast<F*>(::dlsym(library_, name));
    }

    void* library_;
};

class Cuda : public testing::Test {
  protected:
    void TearDown() override {
        EXPECT_EQ(cuda.pieces(), 0U) << "memory of the GPU is left";
        EXPECT_EQ(cuda.contexts(), 0);
        cuda.have_dma_bufs(true);
    }

    Standin cuda{STANDIN_CUDA};
};

TEST(MemoryOption, IsOneOfTheWords) {
    EXPECT_EQ(memory_of("host")->kind.word, "host");
    for (const char* word : {"",
                             "gpu",
                             "hosts",
                             "cuda:",
                             "cuda:x",
                             "cuda0",
                             "cuda:-1",
                             "dmabuf",
                             "dmabuf:",
                             "dmabuf:70000",
                             "rocm:1:2"}) {
        const base::Error error = why_not(word);
        EXPECT_EQ(error.code, base::Code::BadInput) << word;
        EXPECT_THAT(error.message(), HasSubstr("cuda[:N]"));
    }
    EXPECT_THAT(why_not("dmabuf:65000").fix, HasSubstr("leave a dma-buf open"));
}

TEST(MemoryOption, OfAMissingLibraryNamesIt) {
    const base::Error error = why_not("rocm");
    EXPECT_EQ(error.code, base::Code::Unsupported);
    EXPECT_THAT(error.message(), HasSubstr("libamdhip64.so"));
    EXPECT_THAT(error.fix, HasSubstr("install ROCm"));
}

TEST(MemoryOption, HugePagesAreThereOrTheFixIs) {
    const auto memory = open_memory("huge");
    if (!memory) {
        EXPECT_THAT(memory.error().fix, HasSubstr("--memory host"));
        return;
    }
    EXPECT_GT((*memory)->kind.page, 65536U);
    const Layout layout{.in = {}, .out = {}, .bytes = 8192};
    const MemoryBudget too_small((*memory)->kind.page - 1);
    const auto over = Memory::map(layout, **memory);
    ASSERT_FALSE(over) << "a whole page counts";
    EXPECT_EQ(over.error().code, base::Code::Busy);
    const MemoryBudget enough((*memory)->kind.page);
    const auto mapped = Memory::map(layout, **memory);
    if (mapped) {
        EXPECT_EQ(mapped->address(0) % (*memory)->kind.page, 0U);
        EXPECT_EQ(mapped->all().size(), 8192U);
        EXPECT_EQ(static_cast<uint8_t>(mapped->all()[77]), poison(77));
    } else {
        EXPECT_THAT(mapped.error().fix, HasSubstr("vm.nr_hugepages"));
    }
}

// A memfd has no exporter: it is mapped and registered like a dma-buf, and needs no word of it.
class DmaBufTest : public testing::Test {
  protected:
    static constexpr off_t kBytes = 8 << 20;

    void SetUp() override {
        fd.reset(::memfd_create("buffers", MFD_CLOEXEC));
        ASSERT_EQ(::ftruncate(fd.get(), kBytes), 0);
    }

    [[nodiscard]] std::string word() const { return "dmabuf:" + std::to_string(fd.get()); }

    base::UniqueFd fd;
};

TEST_F(DmaBufTest, IsVerifiedThroughACopy) {
    expect_verified(gpu_peer(), memory_of(word()));
}

TEST_F(DmaBufTest, HoldsWhatWasSent) {
    FakeVerbs verbs({gpu_peer()});
    ASSERT_TRUE(run_in(verbs, memory_of(word()), point(Verb::Write, Mode::Bandwidth, 4096)));
    EXPECT_EQ(verbs.dma_bufs(), 2U);
    void* inside = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(inside, MAP_FAILED);
    const auto* bytes = static_cast<const uint8_t*>(inside);
    EXPECT_EQ(bytes[7], poison(7)) << "the first guard band";
    int changed = 0;
    for (size_t i = kPage; i < kPage + 64; ++i)
        changed += bytes[i] != poison(i) ? 1 : 0;
    EXPECT_GT(changed, 32) << "the first message";
    (void)::munmap(inside, kBytes);
}

TEST_F(DmaBufTest, IsRefusedByADeviceThatTakesNone) {
    FakeVerbs verbs({gpu_peer(false)});
    const auto result = run_in(verbs, memory_of(word()), point(Verb::Write, Mode::Bandwidth));
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message(),
                AllOf(HasSubstr("rxe0: register"), HasSubstr(word() + " as a dma-buf")));
    EXPECT_THAT(result.error().fix, HasSubstr("ibv_reg_dmabuf_mr(3)"));
}

TEST_F(DmaBufTest, HasItsPiecesOneBehindTheOther) {
    const Buffers memory = memory_of(word());
    for (int round = 0; round < 2; ++round) {
        auto first = memory->allocate(kBytes / 2);
        auto second = memory->allocate(kBytes / 2);
        ASSERT_TRUE(first && second);
        EXPECT_EQ((*second)->offset, (*first)->offset + kBytes / 2);
        const auto third = memory->allocate(4096);
        ASSERT_FALSE(third);
        EXPECT_EQ(third.error().code, base::Code::Busy);
        EXPECT_THAT(third.error().fix, HasSubstr("--ring"));
    }
}

TEST_F(Cuda, IsVerifiedThroughACopy) {
    expect_verified(gpu_peer(), memory_of("cuda"));
}

TEST_F(Cuda, IsRegisteredAsADmaBufOrByItsAddress) {
    for (const bool has : {true, false}) {
        cuda.have_dma_bufs(has);
        FakeVerbs verbs({gpu_peer(has)});
        const auto result =
            run_in(verbs, memory_of("cuda:1"), point(Verb::Send, Mode::Bandwidth, 4096));
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong);
        EXPECT_EQ(verbs.dma_bufs(), has ? 2U : 0U);
    }
}

TEST_F(Cuda, WithoutDmaBufAndPeerMemoryIsRefused) {
    FakeVerbs verbs({gpu_peer(false)});
    const auto result = run_in(verbs, memory_of("cuda"), point(Verb::Write, Mode::Bandwidth));
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message(),
                AllOf(HasSubstr("of cuda:0, without the dma-buf"), HasSubstr("Bad address")));
    EXPECT_THAT(result.error().fix, HasSubstr("modprobe nvidia-peermem"));
}

TEST_F(Cuda, OfANumberThatIsNotThereIsRefused) {
    const base::Error error = why_not("cuda:7");
    EXPECT_THAT(error.message(), HasSubstr("cuda:7: open it: CUDA_ERROR_INVALID_DEVICE (101)"));
    EXPECT_THAT(error.fix, HasSubstr("nvidia-smi"));
}

TEST_F(Cuda, IsNothingToReadInlineFrom) {
    FakeVerbs verbs({gpu_peer()});
    Point wanted = point(Verb::Write, Mode::Bandwidth, 64);
    wanted.inline_bytes = 64;
    const auto result = run_in(verbs, memory_of("cuda"), wanted);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message(), HasSubstr("no processor reads cuda:0"));
    EXPECT_THAT(result.error().fix, HasSubstr("--inline 0"));
}

TEST_F(Cuda, IsForPointsOnly) {
    FakeVerbs verbs({gpu_peer()});
    SideOptions side = options();
    side.memory = memory_of("cuda");
    Pair pair(verbs, side);
    {
        auto client = pair.client(verbs);
        ASSERT_TRUE(client) << client.error().message();
        const auto answer = client->control().ask(
            message("kv_open"), "kv_opened", base::Deadline::in(std::chrono::seconds(2)));
        ASSERT_FALSE(answer);
        EXPECT_THAT(answer.error().message(),
                    HasSubstr("a server with --memory cuda:0 serves points only"));
    }
    (void)pair.outcome();
}

TEST(Rocm, WorksAsCudaDoes) {
    // In a process of its own: what loads the library keeps it.
    const auto run = [] {
        const Standin hip(STANDIN_HIP);
        expect_verified(gpu_peer(), memory_of("rocm:1"));
        const bool is_refused = !open_memory("rocm:2");
        _exit(is_refused && hip.pieces() == 0 && !testing::Test::HasFailure() ? 0 : 1);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(Compare, OtherMemoryIsRefused) {
    Report report = test::sample_report();
    report.pairs.front().server_device->memory = "cuda:0";
    const auto file = [](const Report& from, const char* name) {
        return parse_report(test::document_of(from).dump(), name).value();
    };
    const auto gpu = file(report, "gpu");
    const auto host = file(test::sample_report(), "host");
    base::Json old = test::document_of(test::sample_report());
    old["env"]["server"]["device"].erase("memory");
    const auto before = parse_report(old.dump(), "before").value();
    EXPECT_TRUE(compare_reports(before, host, {}).fair());
    EXPECT_THAT(refusal_text(compare_reports(before, gpu, {}), before, gpu),
                HasSubstr("server's memory: host in before, cuda:0 in gpu; --allow memory"));
    EXPECT_TRUE(compare_reports(host, gpu, {"memory"}).fair());
    EXPECT_THAT(table_head(report), HasSubstr(", memory cuda:0)"));
}

}  // namespace
}  // namespace perf
