// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <type_traits>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "perf/verbs/memory.h"

namespace perf {

namespace {
constexpr size_t kGpuPage = 65536;  // what NVIDIA's peer memory maps in; a multiple of the host's
constexpr int kDmaBufHandle = 1;    // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, and HIP's

// What differs between the vendors but for their names of the same functions.
struct Vendor {
    std::string_view word;
    std::array<const char*, 4> libraries;  // the newest first; null: no more
    std::string_view install;
    std::string_view expose;
    std::string_view peer_memory;
};

constexpr Vendor kCuda = {
    .word = "cuda",
    .libraries = {"libcuda.so.1"},
    .install =
        "install NVIDIA's driver, and give it to the container: docker run --gpus all, "
        "podman run --device nvidia.com/gpu=all",
    .expose = "see nvidia-smi -L here, and give the container the GPU: docker run --gpus all",
    .peer_memory =
        "use NVIDIA's open kernel modules and an adapter that takes dma-bufs, or run on "
        "the host: modprobe nvidia-peermem"};
constexpr Vendor kRocm = {
    .word = "rocm",
    .libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
    .install = "install ROCm's HIP runtime where rdma-perf runs, so that the loader finds it",
    .expose = "see rocminfo here, and give the container /dev/kfd and /dev/dri",
    .peer_memory =
        "use a kernel with PCI_P2PDMA and DMABUF_MOVE_NOTIFY, and an adapter that takes dma-bufs"};

// Addresses are integers for CUDA and pointers for HIP, which are passed alike.
struct GpuCalls {
    int (*init)(unsigned flags) = nullptr;
    int (*allocate)(uint64_t* address, size_t bytes) = nullptr;
    int (*free)(uint64_t address) = nullptr;
    int (*to_device)(uint64_t to, const void* from, size_t bytes) = nullptr;
    int (*to_host)(void* to, uint64_t from, size_t bytes) = nullptr;
    int (*finish)() = nullptr;
    // What older libraries lack; ROCm's has its own export below that of HIP.
    int (*export_range)(void* fd, uint64_t, size_t, int type, unsigned long long flags) = nullptr;
    int (*export_hsa)(uint64_t, size_t, int* fd, uint64_t* offset) = nullptr;
    // Of CUDA: a thread works in a context.
    int (*get_device)(int* device, int number) = nullptr;
    int (*retain)(void** context, int device) = nullptr;
    int (*release)(int device) = nullptr;
    int (*enter)(void* context) = nullptr;
    int (*cuda_name)(int error, const char** name) = nullptr;
    // Of HIP: a thread works with a device.
    int (*set_device)(int number) = nullptr;
    const char* (*hip_name)(int error) = nullptr;
};

Result<GpuCalls> load_gpu(const Vendor& vendor) {
    // Never closed: drivers leave threads behind.
    void* library = nullptr;
    for (const char* name : vendor.libraries) {
        if (library == nullptr && name != nullptr)
            library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) {
        const char* why = ::dlerror();
        return make_error(Code::Unsupported,
                          "--memory {}: {}",
                          vendor.word,
                          printable(why != nullptr ? why : "no library"))
            .advise(std::string(vendor.install));
    }
    GpuCalls calls;
    const bool is_cuda = vendor.word == "cuda";
    bool is_whole = true;
    const auto find = [&](auto& call, const char* name, bool is_due = true) {
        call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library, name));
        is_whole = is_whole && (call != nullptr || !is_due);
    };
    find(calls.init, is_cuda ? "cuInit" : "hipInit");
    find(calls.allocate, is_cuda ? "cuMemAlloc_v2" : "hipMalloc");
    find(calls.free, is_cuda ? "cuMemFree_v2" : "hipFree");
    find(calls.to_device, is_cuda ? "cuMemcpyHtoD_v2" : "hipMemcpyHtoD");
    find(calls.to_host, is_cuda ? "cuMemcpyDtoH_v2" : "hipMemcpyDtoH");
    find(calls.finish, is_cuda ? "cuCtxSynchronize" : "hipDeviceSynchronize");
    find(calls.export_range,
         is_cuda ? "cuMemGetHandleForAddressRange" : "hipMemGetHandleForAddressRange",
         false);
    find(calls.get_device, "cuDeviceGet", is_cuda);
    find(calls.retain, "cuDevicePrimaryCtxRetain", is_cuda);
    find(calls.release, "cuDevicePrimaryCtxRelease_v2", is_cuda);
    find(calls.enter, "cuCtxSetCurrent", is_cuda);
    find(calls.cuda_name, "cuGetErrorName", false);
    find(calls.set_device, "hipSetDevice", !is_cuda);
    find(calls.hip_name, "hipGetErrorName", false);
    void* hsa = is_cuda ? nullptr : ::dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_LOCAL);
    if (hsa != nullptr)
        calls.export_hsa = reinterpret_cast<decltype(calls.export_hsa)>(
            ::dlsym(hsa, "hsa_amd_portable_export_dmabuf"));
    if (!is_whole)
        return make_error(Code::Unsupported, "--memory {}: the library is too old", vendor.word)
            .advise(std::string(vendor.install));
    return calls;
}

class Gpu : public BufferSource {
  public:
    Gpu(const Vendor& vendor, const GpuCalls& calls, unsigned number)
        : BufferSource(Kind{.word = fmt::format("{}:{}", vendor.word, number),
                            .page = kGpuPage,
                            .has_driver = true,
                            .fix = std::string(vendor.peer_memory)}),
          vendor_(&vendor),
          calls_(calls),
          number_(static_cast<int>(number)) {}

    ~Gpu() override {
        if (context_ != nullptr)
            (void)calls_.release(device_);
    }

    Result<> open() {
        constexpr std::string_view kWhat = "open it";
        TRY(check(kWhat, calls_.init(0), vendor_->expose));
        if (calls_.get_device == nullptr)
            return check(kWhat, calls_.set_device(number_), vendor_->expose);
        TRY(check(kWhat, calls_.get_device(&device_, number_), vendor_->expose));
        return check(kWhat, calls_.retain(&context_, device_), vendor_->expose);
    }

    Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override;

  private:
    class Piece;

    // Of whichever thread calls.
    [[nodiscard]] Result<> enter() const {
        return check("use it",
                     context_ != nullptr ? calls_.enter(context_) : calls_.set_device(number_));
    }

    [[nodiscard]] Result<> check(
        std::string_view what,
        int answer,
        std::string_view fix = "see the kernel's log for what the GPU's driver says") const {
        if (answer == 0)
            return {};
        const char* word = nullptr;
        if (calls_.cuda_name != nullptr)
            (void)calls_.cuda_name(answer, &word);
        else if (calls_.hip_name != nullptr)
            word = calls_.hip_name(answer);
        const std::string_view error = word != nullptr ? word : "error";
        return make_error(Code::Unsupported, "{}: {}: {} ({})", kind.word, what, error, answer)
            .advise(std::string(fix));
    }

    const Vendor* vendor_;
    GpuCalls calls_;
    int number_;
    int device_ = 0;
    void* context_ = nullptr;
};

class Gpu::Piece : public Buffer {
  public:
    explicit Piece(const Gpu& from) : Buffer(from), gpu_(&from) {}

    ~Piece() override {
        if (dma_buf >= 0)
            (void)::close(dma_buf);
        if (allocated_ != 0 && gpu_->enter())
            (void)gpu_->calls_.free(allocated_);
    }

    // Whole pages of the GPU: what is mapped to an adapter is nothing else's.
    Result<> map(size_t bytes) {
        copy_ = TRY(host_memory()->allocate(bytes));
        host = copy_->host;
        TRY(gpu_->enter());
        TRY(gpu_->check(fmt::format("allocate {} bytes", bytes),
                        gpu_->calls_.allocate(&allocated_, bytes + kGpuPage),
                        "use a smaller --size or --depth, or a GPU with more memory left"));
        address = (allocated_ + kGpuPage - 1) / kGpuPage * kGpuPage;
        // No dma-buf is no error yet: the kernel may have peer memory.
        const GpuCalls& calls = gpu_->calls_;
        int fd = -1;
        if ((calls.export_range != nullptr &&
             calls.export_range(&fd, address, bytes, kDmaBufHandle, 0) == 0) ||
            (calls.export_hsa != nullptr && calls.export_hsa(address, bytes, &fd, &offset) == 0))
            dma_buf = fd;
        return {};
    }

    // A copy from pageable memory may be on its way yet when the call is back.
    Result<> push(size_t from, size_t bytes) override {
        TRY(gpu_->enter());
        TRY(gpu_->check("copy to it", gpu_->calls_.to_device(address + from, &host[from], bytes)));
        return gpu_->check("copy to it", gpu_->calls_.finish());
    }

    Result<> pull(size_t from, size_t bytes) override {
        TRY(gpu_->enter());
        return gpu_->check("copy from it",
                           gpu_->calls_.to_host(&host[from], address + from, bytes));
    }

  private:
    const Gpu* gpu_;
    std::unique_ptr<Buffer> copy_;
    uint64_t allocated_ = 0;
};

Result<std::unique_ptr<Buffer>> Gpu::allocate(size_t bytes) {
    auto piece = std::make_unique<Piece>(*this);
    TRY(piece->map(bytes));
    return std::unique_ptr<Buffer>(std::move(piece));
}
}  // namespace

Result<Buffers> open_gpu(std::string_view word, unsigned number) {
    const Vendor& vendor = word == kCuda.word ? kCuda : kRocm;
    auto gpu = std::make_shared<Gpu>(vendor, TRY(load_gpu(vendor)), number);
    TRY(gpu->open());
    return Buffers(std::move(gpu));
}

}  // namespace perf
