// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/kv/table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "perf/protocol/pattern.h"

namespace perf::kv {

namespace {
constexpr uint16_t kHashStream = 0xffff;  // of the pattern's streams, none that a value has
constexpr uint32_t kKeyBits = 24;

PatternKey pattern_of(const Shape& shape, uint64_t key, uint32_t version) {
    return {.seed = shape.seed, .seq = uint64_t{version} << kKeyBits | key};
}

uint64_t word_at(std::span<const std::byte> slot, size_t offset) {
    uint64_t word = 0;
    std::memcpy(&word, slot.data() + offset, sizeof word);
    return word;
}

void put_head(std::span<std::byte> slot, uint64_t key, uint64_t version) {
    std::memcpy(slot.data(), &key, sizeof key);
    std::memcpy(slot.data() + sizeof key, &version, sizeof version);
}

Result<> insert(std::span<std::byte> table, const Shape& shape, uint32_t key, uint32_t version) {
    for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
        const auto slot = table.subspan(shape.place(key, probe), shape.slot_bytes());
        if (key_of(slot) != kNoKey)
            continue;
        put_head(slot, key, version);
        fill_pattern(slot.subspan(kHeadBytes, shape.value), pattern_of(shape, key, version));
        return {};
    }
    return make_error(Code::Unsupported, "key {} finds no free slot among {}", key, kMaxProbes)
        .advise("use another --seed");
}
}  // namespace

size_t Shape::place(uint64_t key, uint32_t probe) const {
    // The upper half of the hash as a fraction of the table.
    const uint64_t hash = pattern_base({.seed = seed, .qp = kHashStream, .seq = key});
    const uint64_t home = (hash >> 32U) * slots() >> 32U;
    return (home + probe) % slots() * slot_bytes();
}

Result<> check_limits(const Shape& shape) {
    if (shape.value < 1 || shape.value > kMaxValue)
        return make_error(
            Code::BadInput, "value of {} bytes: not from 1 to {}", shape.value, kMaxValue);
    const uint64_t most = kMaxKeptBytes / shape.slot_bytes();
    if (shape.keys < 1 || shape.keys > most)
        return make_error(Code::BadInput,
                          "{} keys: not from 1 to {}, which take {} MiB with values of "
                          "{} bytes",
                          shape.keys,
                          most,
                          kMaxKeptBytes >> 20U,
                          shape.value);
    return {};
}

Result<> fill(std::span<std::byte> table, const Shape& shape, uint32_t version) {
    for (size_t at = 0; at < table.size(); at += shape.slot_bytes())
        put_head(table.subspan(at), kNoKey, version);
    for (uint32_t key = 0; key < shape.keys; ++key)
        TRY(insert(table, shape, key, version));
    return {};
}

uint64_t key_of(std::span<const std::byte> slot) {
    return word_at(slot, 0);
}

size_t find(std::span<const std::byte> table, const Shape& shape, uint64_t key) {
    for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
        const size_t at = shape.place(key, probe);
        const uint64_t seen = key_of(table.subspan(at));
        if (seen == kNoKey)
            break;
        if (seen == key)
            return at;
    }
    return shape.nowhere();
}

std::optional<std::string> check_slot(std::span<const std::byte> slot,
                                      const Shape& shape,
                                      uint32_t key,
                                      uint32_t version) {
    const uint64_t seen = key_of(slot);
    if (seen == kNoKey)
        return "the server has no such key";
    if (seen != key)
        return fmt::format("the slot is of key {}", seen);
    if (const uint64_t of = word_at(slot, sizeof(uint64_t)); of != version)
        return fmt::format("version {} instead of {}", of, version);
    const auto wrong =
        check_pattern(slot.subspan(kHeadBytes, shape.value), pattern_of(shape, key, version));
    if (!wrong)
        return std::nullopt;
    return fmt::format("byte {} of the value is {:#04x} instead of {:#04x}",
                       wrong->offset,
                       wrong->got,
                       wrong->expected);
}

std::vector<uint32_t> draw_keys(uint32_t keys, double skew, uint64_t seed, size_t count) {
    // Up to and with each key; the last one is the whole.
    std::vector<double> shares(keys);
    double sum = 0;
    for (uint32_t key = 0; key < keys; ++key)
        shares[key] = sum += std::pow(key + 1.0, -skew);
    std::mt19937_64 generator(seed);
    std::vector<uint32_t> drawn(count);
    for (uint32_t& key : drawn) {
        // The standard's distributions differ between libraries; 53 bits make a double below 1.
        const double at = static_cast<double>(generator() >> 11U) * 0x1p-53 * sum;
        const auto found = std::ranges::upper_bound(shares, at) - shares.begin();
        key = static_cast<uint32_t>(std::min<ptrdiff_t>(found, keys - 1));
    }
    return drawn;
}

}  // namespace perf::kv
