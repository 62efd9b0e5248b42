// SPDX-License-Identifier: Apache-2.0
// Half of what the targets for JSON get is a document with another value somewhere in it: changing
// bytes seldom leaves one that can be read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/unit/oci/mutate.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data,
                                          size_t size,
                                          size_t max_size,
                                          unsigned seed) {
    test::Mutator mutator(seed);
    auto tree = mutator.pick(2) == 0
                    ? base::parse_json({reinterpret_cast<const char*>(data), size}, "document")
                    : base::make_error(base::Code::BadInput, "bytes this time");
    if (!tree)
        return LLVMFuzzerMutate(data, size, max_size);
    mutator.damage_tree(*tree);
    const std::string text = base::dump_json(*tree);
    if (text.size() > max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    std::ranges::copy(text, data);
    return text.size();
}
