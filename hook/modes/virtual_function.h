// SPDX-License-Identifier: Apache-2.0
// One function for one container, for every mode that gives it one: which RDMA it has, what is set
// through its PF, and the steps from the host into the container and back. Read only.
#pragma once

#include "hook/modes/interface.h"
#include "hook/modes/software_device.h"
#include "hook/modes/vf_choice.h"
#include "hook/steps/claim.h"
#include "netns/rdma.h"

namespace hook {

// What the plan is made of.
struct ChosenVf {
    FreeVf vf;
    netns::RdmaNetnsMode mode = netns::RdmaNetnsMode::Shared;
    std::string own_device;          // the VF's RDMA device, if it is to be used
    SoftwareDriver software = kRxe;  // else
    uint64_t node_guid = 0;          // of the VF's RDMA device
    bool iwarp = false;              // which is one of iWARP
    netns::VfSettings before;        // of what is written
    netns::VfSettings after;
    bool rebind = false;
    netns::Mac host_mac;  // that it has, or will have as soon as its driver looks
    netns::Mac mac;       // in the container
    uint16_t vlan = 0;    // in which its PF puts what it sends
};

// "VF 3 of enp1s0", or the name of a function that has no PF.
std::string name_of(const FreeVf& vf);

// Which RDMA a free VF is given with, and what has to be set; `asked` are the settings for its PF
// (of a function without PF: none but the MAC, which is then its netdev's own).
Result<ChosenVf> choose_vf_settings(const Attachment& attachment,
                                    const Survey& survey,
                                    FreeVf vf,
                                    netns::VfSettings asked);

Lease lease_of(const FreeVf& vf, const Survey& survey);

// Device, netdev and GID; `addresses` are those of the attachment.
Result<Endpoint> endpoint_of(const Attachment& attachment,
                             const Survey& survey,
                             const ChosenVf& chosen,
                             std::vector<netns::Address> addresses);

// The plan's first steps: pin, VF and addresses are claimed.
void claim_vf(Plan& plan, const Survey& survey, const ChosenVf& chosen, const Segment& segment);
// The steps from the VF on the host to RDMA in the container.
void add_vf(Plan& plan, const Attachment& attachment, const Survey& survey, const ChosenVf& chosen);

}  // namespace hook
