// SPDX-License-Identifier: Apache-2.0
// One function for one container, for every mode that gives one. This covers its RDMA, the settings
// through its PF, and the steps from the host into the container and back. Read only.
#pragma once

#include "hook/modes/interface.h"
#include "hook/modes/software_device.h"
#include "hook/modes/vf_choice.h"
#include "hook/steps/claim.h"
#include "netns/values/rdma_device.h"

namespace hook {

// A VF and the choices from which the plan is made.
struct ChosenVf {
    FreeVf vf;
    netns::RdmaNetnsMode mode = netns::RdmaNetnsMode::Shared;
    std::string own_device;          // the VF's RDMA device, if it is to be used
    SoftwareDriver software = kRxe;  // else the software device's driver
    uint64_t node_guid = 0;          // the VF's RDMA device's
    bool iwarp = false;              // the VF's RDMA device is an iWARP one
    netns::VfSettings before;        // earlier values of the members in `after`
    netns::VfSettings after;
    bool rebind = false;
    netns::Mac host_mac;  // the MAC on the host, now or as soon as the driver looks
    netns::Mac mac;       // the MAC in the container
    uint16_t vlan = 0;    // the VLAN in which its PF puts its packets
};

// Returns "VF 3 of enp1s0", or the name of a function that has no PF.
std::string name_of(const FreeVf& vf);

// Chooses the RDMA that a free VF is given with, and the settings to make. `asked` are the settings
// for its PF. For a function without PF they are only the MAC, which is then its netdev's own.
Result<ChosenVf> choose_vf_settings(const Attachment& attachment,
                                    const Survey& survey,
                                    FreeVf vf,
                                    netns::VfSettings asked);

// Checks that the VF's own RDMA device can be used in mode asap2. Refused: it is an iWARP device.
Result<> check_roce(const ChosenVf& chosen);

// Returns the lease of the function, which the attachment owns.
Lease lease_of(const FreeVf& vf, const Survey& survey);

// Returns device, netdev and GID; `addresses` are those of the attachment.
Result<Endpoint> endpoint_of(const Attachment& attachment,
                             const Survey& survey,
                             const ChosenVf& chosen,
                             std::vector<netns::Address> addresses);

// Adds the plan's first steps: the pin, and the claims of VF and addresses.
void claim_vf(Plan& plan, const Survey& survey, const ChosenVf& chosen, const Segment& segment);
// Adds the steps from the VF on the host to RDMA in the container.
void add_vf(Plan& plan, const Attachment& attachment, const Survey& survey, const ChosenVf& chosen);

}  // namespace hook
