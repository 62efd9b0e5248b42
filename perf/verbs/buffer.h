// SPDX-License-Identifier: Apache-2.0
// Buffer: memory that a device reads and writes, and BufferSource: where it comes from. That is the
// host's memory, huge pages, a GPU, or a dma-buf that this process was started with. A buffer that
// processors should not touch has a copy in the host's memory. Rounds of verification write and
// read the copy; push() and pull() take it to the buffer and back, outside of what is timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "perf/verbs/verbs.h"

namespace perf {

class BufferSource;

class Buffer {
  public:
    explicit Buffer(const BufferSource& from) : source(&from) {}

    virtual ~Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // From the copy to the buffer, and back. Without a copy there is nothing to do.
    virtual Result<> push(size_t, size_t) { return {}; }

    virtual Result<> pull(size_t, size_t) { return {}; }

    const BufferSource* source;
    std::span<std::byte> host;  // the buffer itself, or the copy
    uint64_t address = 0;       // as work requests have it
    int dma_buf = -1;           // a descriptor of one that has the buffer, if there is any
    uint64_t offset = 0;        // where in it that is
};

class BufferSource {
  public:
    // What holds for all of its buffers.
    struct Kind {
        std::string word;         // of --memory
        size_t page = 0;          // the size of a buffer is a multiple of this
        bool is_host = false;     // processors read and write the buffers themselves
        bool has_driver = false;  // a driver of another vendor's works in this process
        std::string fix = {};     // what helps where a device does not take the buffers
    };

    explicit BufferSource(Kind of) : kind(std::move(of)) {}

    virtual ~BufferSource() = default;
    BufferSource(const BufferSource&) = delete;
    BufferSource& operator=(const BufferSource&) = delete;

    // The source must live longer. Thread safe.
    virtual Result<std::unique_ptr<Buffer>> allocate(size_t bytes) = 0;

    const Kind kind;
};

using Buffers = std::shared_ptr<BufferSource>;

const Buffers& host_memory();

// By the word of --memory: host, huge, cuda[:N], rocm[:N] or dmabuf:FD. Call it before any thread is
// there: providers that copy small messages by a processor learn by the environment not to.
Result<Buffers> open_memory(std::string_view word);

// Of a GPU, "cuda" or "rocm", through the vendor's library (gpu.cc): libcuda (CUDA's driver API) or
// libamdhip64 (ROCm). It is loaded where somebody asks for it; nothing of it is needed to build.
Result<Buffers> open_gpu(std::string_view word, unsigned number);

// The first `bytes` of the buffer: as a dma-buf where it has one and the provider takes it, else by
// its address, which for a GPU's is up to the kernel's peer memory.
Result<Owned<ibv_mr>> register_buffer(
    Verbs& verbs, ibv_pd* pd, const Buffer& buffer, size_t bytes, int access);

}  // namespace perf
