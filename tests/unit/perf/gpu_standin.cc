// SPDX-License-Identifier: Apache-2.0
// Stands in for libcuda.so.1, or with STANDIN_IS_HIP for libamdhip64.so.6: two GPUs, whose memory no
// processor of the process may touch. The functions are as strict as the vendors': who is in no
// context, or names memory that is not there, gets their error.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef STANDIN_IS_HIP
#define NAME(cuda, hip) hip
#else
#define NAME(cuda, hip) cuda
#endif

namespace {
enum Answer {
    Good = 0,
    InvalidValue = 1,
    NoMemory = 2,
    NotInitialized = 3,
    InvalidDevice = 101,
    InvalidContext = 201,
    NotSupported = 801
};

constexpr uint64_t kPage = 65536;
constexpr int kDevices = 2;

struct Piece {
    uint64_t start = 0;  // of its first whole page, for devices and for nobody else
    size_t bytes = 0;    // from there
    void* reserved = nullptr;
    int memory = -1;              // a memfd
    std::byte* window = nullptr;  // how the GPU's own copies see it
};

std::mutex lock;
std::map<uint64_t, Piece> pieces;  // by the address that allocate gave
bool is_initialized = false;
bool has_dma_bufs = true;
int contexts = 0;
thread_local bool is_inside = false;

std::byte* find(uint64_t address, size_t bytes) {
    for (const auto& [given, piece] : pieces) {
        if (bytes != 0 && address >= piece.start && address + bytes <= piece.start + piece.bytes)
            return piece.window + (address - piece.start);
    }
    return nullptr;
}
}  // namespace

extern "C" {
// ---- for tests ----------------------------------------------------------------------------------
// Memory without a dma-buf is where the kernel can pin it, as with peer memory.
void standin_dma_bufs(bool has) {
    has_dma_bufs = has;
}

size_t standin_pieces() {
    const std::lock_guard guard(lock);
    return pieces.size();
}

int standin_contexts() {
    const std::lock_guard guard(lock);
    return contexts;
}

// ---- the vendors' -------------------------------------------------------------------------------
int NAME(cuInit, hipInit)(unsigned flags) {
    is_initialized = true;
    return flags == 0 ? Good : InvalidValue;
}

#ifdef STANDIN_IS_HIP
int hipSetDevice(int number) {
    is_inside = number >= 0 && number < kDevices;
    return is_inside ? Good : InvalidDevice;
}

const char* hipGetErrorName(int error) {
    return error == InvalidDevice ? "hipErrorInvalidDevice" : "hipErrorOther";
}
#else
int cuDeviceGet(int* device, int number) {
    if (!is_initialized)
        return NotInitialized;
    *device = number;
    return number >= 0 && number < kDevices ? Good : InvalidDevice;
}

int cuDevicePrimaryCtxRetain(void** context, int) {
    const std::lock_guard guard(lock);
    ++contexts;
    *context = &contexts;
    return Good;
}

int cuDevicePrimaryCtxRelease_v2(int) {
    const std::lock_guard guard(lock);
    --contexts;
    return Good;
}

int cuCtxSetCurrent(void* context) {
    is_inside = context == &contexts;
    return is_inside ? Good : InvalidContext;
}

int cuGetErrorName(int error, const char** name) {
    *name = error == InvalidDevice ? "CUDA_ERROR_INVALID_DEVICE" : "CUDA_ERROR_OTHER";
    return Good;
}
#endif

// The address is as little aligned as cuMemAlloc's: to 256 bytes.
int NAME(cuMemAlloc_v2, hipMalloc)(uint64_t* address, size_t bytes) {
    if (!is_inside)
        return InvalidContext;
    const std::lock_guard guard(lock);
    constexpr uint64_t kAligned = 256;
    Piece piece{.bytes = bytes};
    piece.reserved =
        ::mmap(nullptr, bytes + 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    piece.memory = ::memfd_create("gpu", MFD_CLOEXEC);
    if (piece.reserved == MAP_FAILED || piece.memory < 0 ||
        ::ftruncate(piece.memory, static_cast<off_t>(bytes)) != 0)
        return NoMemory;
    piece.start = (reinterpret_cast<uint64_t>(piece.reserved) / kPage + 2) * kPage;
    void* window = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, piece.memory, 0);
    const int access = has_dma_bufs ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* there = ::mmap(reinterpret_cast<void*>(piece.start),
                         bytes,
                         access,
                         MAP_SHARED | MAP_FIXED,
                         piece.memory,
                         0);
    if (window == MAP_FAILED || there == MAP_FAILED)
        return NoMemory;
    piece.window = static_cast<std::byte*>(window);
    *address = piece.start - kAligned;
    pieces[*address] = piece;
    return Good;
}

int NAME(cuMemFree_v2, hipFree)(uint64_t address) {
    const std::lock_guard guard(lock);
    const auto found = pieces.find(address);
    if (!is_inside || found == pieces.end())
        return is_inside ? InvalidValue : InvalidContext;
    const Piece& piece = found->second;
    (void)::munmap(piece.window, piece.bytes);
    (void)::munmap(piece.reserved, piece.bytes + 3 * kPage);
    (void)::close(piece.memory);
    pieces.erase(found);
    return Good;
}

int NAME(cuMemcpyHtoD_v2, hipMemcpyHtoD)(uint64_t to, const void* from, size_t bytes) {
    const std::lock_guard guard(lock);
    std::byte* inside = find(to, bytes);
    if (!is_inside || inside == nullptr)
        return is_inside ? InvalidValue : InvalidContext;
    std::memcpy(inside, from, bytes);
    return Good;
}

int NAME(cuMemcpyDtoH_v2, hipMemcpyDtoH)(void* to, uint64_t from, size_t bytes) {
    const std::lock_guard guard(lock);
    const std::byte* inside = find(from, bytes);
    if (!is_inside || inside == nullptr)
        return is_inside ? InvalidValue : InvalidContext;
    std::memcpy(to, inside, bytes);
    return Good;
}

int NAME(cuCtxSynchronize, hipDeviceSynchronize)() {
    return is_inside ? Good : InvalidContext;
}

// Whole pages of the host; this one also wants the start of an allocation.
int NAME(cuMemGetHandleForAddressRange, hipMemGetHandleForAddressRange)(
    void* handle, uint64_t address, size_t bytes, int type, unsigned long long flags) {
    const std::lock_guard guard(lock);
    constexpr uint64_t kHostPage = 4096;
    if (!has_dma_bufs)
        return NotSupported;
    if (type != 1 || flags != 0 || address % kHostPage != 0 || bytes % kHostPage != 0)
        return InvalidValue;
    for (const auto& [given, piece] : pieces) {
        if (piece.start != address || bytes > piece.bytes)
            continue;
        *static_cast<int*>(handle) = ::fcntl(piece.memory, F_DUPFD_CLOEXEC, 0);
        return Good;
    }
    return InvalidValue;
}
}
