// SPDX-License-Identifier: Apache-2.0
// What must hold whatever the input is, and how a target is written: FUZZ_TARGET(name) { ... } with
// the input in `data` and `size`. For libFuzzer it is the program's one target; in the ordinary
// build (FUZZ_SEEDS) it is one of several that seeds_test.cc feeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace fuzz {

// To libFuzzer an exception that nobody catches is a finding, to a test it is a failure.
inline void expect(bool good, const char* what) {
    if (!good)
        throw std::logic_error(std::string("does not hold: ") + what);
}

using Target = void (*)(const uint8_t* data, size_t size);

// True, after the target was added to those of this program.
bool add_target(const char* name, Target target);

}  // namespace fuzz

#ifdef FUZZ_SEEDS
#define FUZZ_TARGET(name)                                                               \
    static void fuzz_##name(const uint8_t* data, size_t size);                          \
    [[maybe_unused]] static const bool k_##name = fuzz::add_target(#name, fuzz_##name); \
    static void fuzz_##name(const uint8_t* data, size_t size)
#else
#define FUZZ_TARGET(name)                                                     \
    static void fuzz_##name(const uint8_t* data, size_t size);                \
    extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
        fuzz_##name(data, size);                                              \
        return 0;                                                             \
    }                                                                         \
    static void fuzz_##name(const uint8_t* data, size_t size)
#endif
