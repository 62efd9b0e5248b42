// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/memory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf/system/reading.h"

#ifndef MADV_POPULATE_WRITE  // of Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace perf {

// ---- buffers ------------------------------------------------------------------------------------
namespace {
class Mapping : public Buffer {
  public:
    Mapping(const BufferSource& from, void* at, size_t bytes) : Buffer(from) {
        host = {static_cast<std::byte*>(at), bytes};
        address = reinterpret_cast<uint64_t>(at);
    }

    ~Mapping() override { (void)::munmap(host.data(), host.size()); }
};

// Anonymous and prefaulted: a page fault inside of a measurement would be the memory's time, not
// the link's.
class HostMemory : public BufferSource {
  public:
    HostMemory(std::string word, size_t page, bool is_huge)
        : BufferSource(Kind{.word = std::move(word), .page = page, .is_host = true}),
          huge_(is_huge) {}

    Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
        const auto failure = [&] {
            return sys_error(fmt::format("map {} bytes{}", bytes, huge_ ? " in huge pages" : ""))
                .advise(huge_ ? "raise vm.nr_hugepages on the host (sysctl vm.nr_hugepages=512), "
                                "and raise the container's limit of them"
                              : "use a smaller --size or --depth, or raise the container's "
                                "memory limit");
        };
        const int how = huge_ ? MAP_HUGETLB : MAP_POPULATE;
        void* at = ::mmap(
            nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);
        if (at == MAP_FAILED)
            return failure();
        auto buffer = std::make_unique<Mapping>(*this, at, bytes);
        // Beyond the limit of a cgroup the first write to a huge page would be SIGBUS.
        if (huge_ && ::madvise(at, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
            return failure();
        return std::unique_ptr<Buffer>(std::move(buffer));
    }

  private:
    const bool huge_;
};

// One that the program that started this one made, and left open. Buffers are pieces of it, one
// behind the other; all of it is free again once the last one is.
class DmaBuf : public BufferSource {
  public:
    DmaBuf(int fd, uint64_t size)
        : BufferSource(Kind{.word = fmt::format("dmabuf:{}", fd),
                            .page = kPage,
                            .fix = "use a descriptor of a dma-buf, and an adapter whose driver "
                                   "takes them: see ibv_reg_dmabuf_mr(3)"}),
          fd_(fd),
          size_(size) {}

    Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override;

  private:
    class Piece;

    Result<uint64_t> take(uint64_t bytes) {
        const std::lock_guard guard(lock_);
        if (bytes > size_ - used_)
            return make_error(Code::Busy,
                              "{} has {} bytes, of which {} are free: {} are needed",
                              kind.word,
                              size_,
                              size_ - used_,
                              bytes)
                .advise("use a smaller --ring, --size or --qps, or a larger dma-buf");
        ++pieces_;
        used_ += bytes;
        return used_ - bytes;
    }

    int fd_;
    uint64_t size_;
    std::mutex lock_;
    uint64_t used_ = 0;
    size_t pieces_ = 0;
};

class DmaBuf::Piece : public Buffer {
  public:
    Piece(DmaBuf& from, uint64_t at) : Buffer(from), from_(&from) {
        dma_buf = from.fd_;
        offset = at;
    }

    ~Piece() override {
        if (!inside_.empty())
            (void)::munmap(inside_.data(), inside_.size());
        const std::lock_guard guard(from_->lock_);
        if (--from_->pieces_ == 0)
            from_->used_ = 0;
    }

    Result<> map(size_t bytes) {
        copy_ = TRY(host_memory()->allocate(bytes));
        void* at = ::mmap(nullptr,
                          bytes,
                          PROT_READ | PROT_WRITE,
                          MAP_SHARED,
                          dma_buf,
                          static_cast<off_t>(offset));
        if (at == MAP_FAILED)
            return sys_error("map " + source->kind.word)
                .advise("use a dma-buf whose exporter lets processors map it");
        inside_ = {static_cast<std::byte*>(at), bytes};
        host = copy_->host;
        address = reinterpret_cast<uint64_t>(at);
        return {};
    }

    Result<> push(size_t from, size_t bytes) override {
        TRY(announce(DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE));
        std::memcpy(&inside_[from], &host[from], bytes);
        return announce(DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE);
    }

    Result<> pull(size_t from, size_t bytes) override {
        TRY(announce(DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
        std::memcpy(&host[from], &inside_[from], bytes);
        return announce(DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
    }

  private:
    // Caches are the exporter's affair. What is no dma-buf, such as a memfd, has none to care for;
    // a provider will refuse it.
    Result<> announce(uint64_t flags) {
        dma_buf_sync sync{.flags = flags};
        while (::ioctl(dma_buf, DMA_BUF_IOCTL_SYNC, &sync) != 0) {
            if (errno == ENOTTY)
                return {};
            if (errno != EINTR && errno != EAGAIN)
                return sys_error("synchronize " + source->kind.word);
        }
        return {};
    }

    DmaBuf* from_;
    std::unique_ptr<Buffer> copy_;
    std::span<std::byte> inside_;
};

Result<std::unique_ptr<Buffer>> DmaBuf::allocate(size_t bytes) {
    auto piece = std::make_unique<Piece>(*this, TRY(take(bytes)));
    TRY(piece->map(bytes));
    return std::unique_ptr<Buffer>(std::move(piece));
}
}  // namespace

const Buffers& host_memory() {
    static const Buffers memory = std::make_shared<HostMemory>("host", kPage, false);
    return memory;
}

Result<Buffers> open_memory(std::string_view word) {
    if (word == "host")
        return Buffers(host_memory());
    if (word == "huge") {
        const auto size = value_after(read_start("/proc/meminfo").value_or(""), "Hugepagesize:");
        const auto kib = size ? number_of(size->substr(0, size->find(' '))) : std::nullopt;
        if (!kib || *kib == 0)
            return make_error(Code::Unsupported, "this kernel has no huge pages")
                .advise("use --memory host");
        return Buffers(std::make_shared<HostMemory>("huge", *kib * 1024, true));
    }
    const auto parts = split(word, ':');
    const bool is_gpu = parts[0] == "cuda" || parts[0] == "rocm";
    const auto number = parts.size() == 2             ? number_of(parts[1])
                        : is_gpu && parts.size() == 1 ? std::optional<uint64_t>(0)
                                                      : std::nullopt;
    if (!number || *number > UINT16_MAX || (!is_gpu && parts[0] != "dmabuf"))
        return make_error(Code::BadInput,
                          "--memory '{}' is not known (allowed: host, huge, cuda[:N], "
                          "rocm[:N], dmabuf:FD)",
                          printable(word))
            .advise("see rdma-perf(1)");
    // Small messages may ride in the completion itself, from where libmlx5 would copy them to the
    // buffer.
    (void)::setenv("MLX5_SCATTER_TO_CQE", "0", 1);  // NOLINT(concurrency-mt-unsafe)
    if (is_gpu)
        return open_gpu(parts[0], static_cast<unsigned>(*number));
    const int fd = static_cast<int>(*number);
    const off_t size = ::lseek(fd, 0, SEEK_END);
    if (size <= 0)
        return sys_error(fmt::format("find the size of descriptor {}", fd))
            .advise("leave a dma-buf open at that number in the program that starts rdma-perf");
    return Buffers(std::make_shared<DmaBuf>(fd, static_cast<uint64_t>(size)));
}

Result<Owned<ibv_mr>> register_buffer(
    Verbs& verbs, ibv_pd* pd, const Buffer& buffer, size_t bytes, int access) {
    const BufferSource::Kind& kind = buffer.source->kind;
    const std::span<std::byte> memory(reinterpret_cast<std::byte*>(buffer.address), bytes);
    if (kind.is_host)
        return register_memory(verbs, pd, memory, access);
    const std::string what = fmt::format("register {} bytes of {}", bytes, kind.word);
    Owned<ibv_mr> region(nullptr, Release{&verbs});
    std::string refusal = "without a dma-buf";
    if (buffer.dma_buf >= 0) {
        region.reset(
            verbs.reg_dmabuf_mr(pd, buffer.offset, bytes, buffer.address, buffer.dma_buf, access));
        if (region)
            return region;
        Error error = sys_error(what + " as a dma-buf");
        if (!kind.has_driver)
            return std::move(error).advise(kind.fix);
        refusal = "without the dma-buf, which the device refuses";
    }
    region.reset(verbs.reg_mr(pd, memory, access));
    if (region)
        return region;
    return sys_error(fmt::format("{}, {}", what, refusal)).advise(kind.fix);
}

// ---- layout -------------------------------------------------------------------------------------
namespace {
size_t round_up(size_t value, size_t unit) {
    return (value + unit - 1) / unit * unit;
}

Area make_area(const Point& point, size_t start, size_t lead) {
    Area area{.start = start,
              .first = start + kPage,
              .stride = stride_of(point, lead),
              .lead = lead,
              .slots = point.slots,
              .size = point.size};
    area.end = round_up(area.first + area.slots * area.stride, kPage);
    return area;
}

std::optional<size_t> first_touched(std::span<const std::byte> all, size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
        if (static_cast<uint8_t>(all[i]) != poison(i))
            return i;
    }
    return std::nullopt;
}
}  // namespace

Layout layout_of(const Point& point, Side side) {
    Layout layout;
    if (has_in(point, side)) {
        layout.in = make_area(point, 0, point.transport == Transport::Ud ? kGrhSize : 0);
        layout.bytes = layout.in.end;
    }
    if (has_out(point, side)) {
        layout.out = make_area(point, layout.bytes, 0);
        layout.bytes = layout.out.end;
    }
    return layout;
}

Result<Memory> Memory::map(const Layout& layout, BufferSource& source) {
    const size_t bytes = round_up(layout.bytes, source.kind.page);
    auto share = TRY(MemoryBudget::take(bytes));
    auto buffer = TRY(source.allocate(bytes));
    Memory memory(std::move(share), std::move(buffer), layout.bytes);
    for (size_t i = 0; i < memory.all_.size(); ++i)
        memory.all_[i] = std::byte{poison(i)};
    TRY(memory.buffer_->push(0, layout.bytes));
    return memory;
}

std::optional<GuardHit> check_guards(std::span<const std::byte> all, const Area& area) {
    const auto hit = [&](uint32_t slot, size_t at, size_t base) {
        return GuardHit{slot, at - base, poison(at), static_cast<uint8_t>(all[at])};
    };
    if (const auto at = first_touched(all, area.start, area.first - area.lead))
        return hit(0, *at, area.start);
    for (uint32_t i = 0; i < area.slots; ++i) {
        const size_t message_end = area.slot(i) + area.size;
        const size_t band_end = i + 1 == area.slots ? area.end : area.slot(i + 1) - area.lead;
        if (const auto at = first_touched(all, message_end, band_end))
            return hit(i, *at, message_end);
    }
    return std::nullopt;
}

}  // namespace perf
