// SPDX-License-Identifier: Apache-2.0
#include "hook/state/autoprobe.h"

namespace hook {

namespace {
constexpr size_t kMostBytes = 2;

std::string record_of(const Store& store, const std::string& pf) {
    return store.folder(kAutoprobeFolder) + "/" + pf;
}
}  // namespace

Result<> with_autoprobe(const Store& store,
                        netns::Sriov& sriov,
                        const std::string& pf,
                        bool on,
                        const std::function<Result<>()>& work) {
    TRY(restore_autoprobe(store, sriov, pf));
    const auto before = TRY(sriov.autoprobe(pf));
    if (!before || *before == on)
        return work();
    TRY(store.files().write(record_of(store, pf), *before ? "1" : "0"));
    auto set = sriov.set_autoprobe(pf, on);
    auto done = set ? work() : std::move(set);
    return join(std::move(done), restore_autoprobe(store, sriov, pf));
}

Result<> restore_autoprobe(const Store& store, netns::Sriov& sriov, const std::string& pf) {
    if (!netns::is_pci_address(pf))  // devices of other buses have no such file
        return {};
    const std::string record = record_of(store, pf);
    const auto before = store.files().read(record, kMostBytes);
    if (!before && base::is_missing(before.error()))
        return {};
    const bool on = TRY(before) != "0";
    if (TRY(sriov.autoprobe(pf)).value_or(on) != on)
        TRY(sriov.set_autoprobe(pf, on));
    return store.files().remove(record);
}

}  // namespace hook
