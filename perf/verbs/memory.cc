// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/memory.h"

#include <atomic>
#include <limits>

namespace perf {

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

constexpr size_t kNoBudget = std::numeric_limits<size_t>::max();
std::atomic<size_t> memory_budget = kNoBudget;
std::atomic<size_t> memory_in_use = 0;

Result<> take_memory(size_t bytes) {
    size_t before = memory_in_use.load();
    do {
        const size_t all = memory_budget.load();
        if (before > all || bytes > all - before)
            return make_error(Code::Busy,
                              "{} bytes are more than is left for data: {} of {} are in use",
                              bytes,
                              before,
                              all)
                .advise(
                    "wait until other clients of the server are done, or use a smaller --size "
                    "or --depth");
    } while (!memory_in_use.compare_exchange_weak(before, before + bytes));
    return {};
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

MemoryBudget::MemoryBudget(size_t bytes) {
    memory_budget = bytes;
}

MemoryBudget::~MemoryBudget() {
    memory_budget = kNoBudget;
}

Result<Memory> Memory::map(const Layout& layout, BufferSource& source) {
    const size_t bytes = round_up(layout.bytes, source.kind.page);
    TRY(take_memory(bytes));
    auto buffer = source.allocate(bytes);
    if (!buffer) {
        memory_in_use -= bytes;
        return std::move(buffer).error();
    }
    Memory memory(*std::move(buffer), layout.bytes);
    for (size_t i = 0; i < memory.all_.size(); ++i)
        memory.all_[i] = std::byte{poison(i)};
    TRY(memory.buffer_->push(0, layout.bytes));
    return memory;
}

void Memory::Destroy::operator()(Buffer* buffer) const {
    memory_in_use -= buffer->host.size();
    delete buffer;
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
