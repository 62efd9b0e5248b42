// SPDX-License-Identifier: Apache-2.0
#include "hook/container/image_verbs.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hook {

namespace {
struct ProviderRow {
    std::string_view driver;  // in the kernel
    std::string_view name;    // in rdma-core
};

// The driver is that of the PCI function which the device's ib_device.dev.parent is, in Linux. The
// provider is the one in rdma-core's providers/NAME that matches the driver's id
// (VERBS_DRIVER_ID) or its PCI functions.
constexpr ProviderRow kProviderRows[] = {
    {"rxe", "rxe"},                // rxe.c
    {"siw", "siw"},                // siw.c
    {"mlx5_core", "mlx5"},         // mlx5.c; mlx5_ib's parent is the function or sub-function
    {"mlx4_core", "mlx4"},         // mlx4.c
    {"ib_mthca", "mthca"},         // mthca.c
    {"bnxt_en", "bnxt_re"},        // main.c; bnxt_re is on bnxt_en's function
    {"ice", "irdma"},              // umain.c: E810
    {"i40e", "irdma"},             // umain.c: X722
    {"iavf", "irdma"},             // umain.c: VFs of E810
    {"idpf", "irdma"},             // umain.c
    {"cxgb4", "cxgb4"},            // dev.c; iw_cxgb4 is on cxgb4's function
    {"efa", "efa"},                // efa.c
    {"erdma", "erdma"},            // erdma.c
    {"mana", "mana"},              // mana.c; mana_ib is on mana's function
    {"ionic", "ionic"},            // ionic.c
    {"hns3", "hns"},               // hns_roce_u.c; hns_roce is on hns3's function
    {"hfi1", "hfi1verbs"},         // hfiverbs.c
    {"ib_qib", "ipathverbs"},      // ipathverbs.c
    {"be2net", "ocrdma"},          // ocrdma_main.c
    {"qede", "qedr"},              // qelr_main.c
    {"vmw_pvrdma", "vmw_pvrdma"},  // pvrdma_main.c
};

constexpr char kConfigured[] = "/etc/libibverbs.d";
constexpr char kLibrary[] = "libibverbs.so.1";
constexpr size_t kMostProviders = 256;  // rdma-core has 18

struct LibraryFolder {
    const char* path;
    const char* package;
};

constexpr LibraryFolder kLibraryFolders[] = {
    {"/usr/lib/x86_64-linux-gnu", "ibverbs-providers"},  // Debian, Ubuntu
    {"/usr/lib/aarch64-linux-gnu", "ibverbs-providers"},
    {"/usr/lib64", "libibverbs"},  // Fedora, Red Hat, SUSE
    {"/usr/lib", "rdma-core"},     // Alpine, Arch
};

// Returns the private ABI of a provider's library, "librxe-rdmav34.so", and sets its name.
std::optional<unsigned> abi_of(std::string_view file, std::string_view& provider) {
    constexpr std::string_view kStart = "lib";
    constexpr std::string_view kMiddle = "-rdmav";
    constexpr std::string_view kEnd = ".so";
    const size_t middle = file.rfind(kMiddle);
    if (!file.starts_with(kStart) || !file.ends_with(kEnd) || middle == std::string_view::npos)
        return std::nullopt;
    provider = file.substr(kStart.size(), middle - kStart.size());
    const std::string_view digits =
        file.substr(middle + kMiddle.size(), file.size() - middle - kMiddle.size() - kEnd.size());
    unsigned abi = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), abi);
    if (error != std::errc{} || end != digits.data() + digits.size())
        return std::nullopt;
    return abi;
}

bool is_file(netns::ImageEntry entry) {
    return entry == netns::ImageEntry::File;
}

Result<> look_at_providers(const netns::ImageRoot& root,
                           std::string_view provider,
                           ImageVerbs& image) {
    const std::string folder = image.folder + "/libibverbs";
    for (const std::string& file : TRY(root.names(folder, kMostProviders))) {
        std::string_view name;
        const auto abi = abi_of(file, name);
        if (abi && name == provider && is_file(TRY(root.look(folder + "/" + file))))
            image.abis.insert(*abi);
        else if (abi && name != provider)
            image.other_abis.insert(*abi);
    }
    return {};
}

Result<ImageVerbs> look_at(const netns::ImageRoot& root, std::string_view provider) {
    ImageVerbs image;
    for (const LibraryFolder& folder : kLibraryFolders) {
        const std::string library = std::string(folder.path) + "/" + kLibrary;
        if (!is_file(TRY(root.look(library))))
            continue;
        const std::string target = TRY(root.link(library)).value_or(kLibrary);
        image.library = target.substr(target.rfind('/') + 1);
        image.folder = folder.path;
        image.package = folder.package;
        break;
    }
    if (image.library.empty())
        return image;
    image.configured = is_file(TRY(root.look(fmt::format("{}/{}.driver", kConfigured, provider))));
    TRY(look_at_providers(root, provider, image));
    return image;
}

bool mounts_near(const oci::Spec& spec) {
    return spec.mounts_near(kConfigured) ||
           std::ranges::any_of(kLibraryFolders, [&](const LibraryFolder& folder) {
               const std::string path = folder.path;
               return spec.mounts_near(path + "/libibverbs") ||
                      spec.mounts_near(path + "/" + kLibrary);
           });
}

std::string as_text(const std::set<unsigned>& abis) {
    return fmt::format("{}", fmt::join(abis, ", "));
}
}  // namespace

std::string_view provider_of(std::string_view driver) {
    // A sub-function's driver has its kind behind a dot: "mlx5_core.sf".
    const auto row =
        std::ranges::find(kProviderRows, driver.substr(0, driver.find('.')), &ProviderRow::driver);
    return row == std::end(kProviderRows) ? std::string_view{} : row->name;
}

std::optional<ImageVerbs> look_at_image(const oci::Spec& spec,
                                        const std::string& bundle,
                                        std::string_view provider) {
    if (mounts_near(spec))
        return std::nullopt;
    const auto root = netns::ImageRoot::open(spec.root(bundle));
    if (!root)
        return std::nullopt;
    const auto image = look_at(*root, provider);
    return image ? std::optional{*image} : std::nullopt;
}

std::optional<base::Error> image_lacks(const ImageVerbs& image,
                                       std::string_view provider,
                                       const std::string& device) {
    const auto lack = [&](const std::string& why) {
        return make_error(Code::Unavailable,
                          fmt::format("programs of the image cannot open {}: its {} {}",
                                      device,
                                      base::printable(image.library),
                                      why))
            .advise(fmt::format("install {} in the image", image.package));
    };
    if (image.library.empty())
        return std::nullopt;
    if (image.abis.empty())
        return lack(fmt::format(
            "has no provider {0}, {1}/libibverbs/lib{0}-rdmav*.so", provider, image.folder));
    if (!image.configured)
        return lack(
            fmt::format("lacks {}/{}.driver, which names its provider", kConfigured, provider));
    const bool fits = std::ranges::any_of(
        image.abis, [&](unsigned abi) { return image.other_abis.contains(abi); });
    if (!fits && !image.other_abis.empty())
        return lack(fmt::format("has a provider {} for the private ABI {}, and the others for {}",
                                provider,
                                as_text(image.abis),
                                as_text(image.other_abis)));
    return std::nullopt;
}

}  // namespace hook
