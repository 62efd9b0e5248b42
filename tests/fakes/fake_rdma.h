// SPDX-License-Identifier: Apache-2.0
// The fake of netns/rdma.h. It has a header of its own, so that a change of that room compiles few
// tests again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netns/rdma.h"
#include "tests/fakes/fake_switch.h"

namespace test {

class FakeRdmaDevices : public Fake<netns::RdmaDevices> {
  public:
    using Fake::Fake;

    int port_looks = 0;  // the number of queries for a port's state
    int port_waits = 0;  // the number of those that would have waited for it

    Result<netns::RdmaNetnsMode> mode() override;
    Result<std::optional<netns::RdmaDevice>> find_by_netdev(const Netns& ns,
                                                            uint32_t netdev,
                                                            const std::string& name) override;
    Result<std::optional<netns::RdmaDevice>> find_by_name(const Netns& ns,
                                                          const std::string& name) override;
    Result<bool> wait_until_free(const Netns& ns,
                                 const std::string& name,
                                 base::Deadline deadline) override;
    Result<std::optional<uint32_t>> netdev_of(const Netns& ns, uint32_t device) override;
    Result<std::string> software_type(const Netns& ns, const netns::RdmaDevice& device) override;
    Result<std::string> driver(const Netns& ns, const netns::RdmaDevice& device) override;
    Result<std::optional<std::string>> provider_abi(const netns::CharDevice& node) override;
    Result<std::vector<netns::RdmaDevice>> list(const Netns& ns) override;
    Result<std::vector<netns::RdmaDevice>> list_on(const Netns& ns, uint32_t netdev) override;
    Result<std::optional<netns::RdmaDevice>> find_software(const Netns& ns,
                                                           uint32_t netdev,
                                                           const std::string& type) override;
    Result<bool> open_without_context(const std::string& type) override;
    Result<netns::CharDevice> uverbs_node(const Netns& ns, uint32_t device) override;
    Result<std::optional<std::string>> device_of_node(const netns::DeviceNumber& number) override;
    Result<std::vector<netns::CharDevice>> mad_nodes(const netns::RdmaDevice& device) override;
    Result<netns::CharDevice> rdma_cm_node() override;
    Result<uint32_t> user_contexts(const Netns& ns, uint32_t device) override;
    Result<bool> has_gsi_qp(const Netns& ns, uint32_t device) override;
    Result<bool> roce_port_served(const Netns& ns) override;
    Result<std::optional<netns::GidEntry>> find_gid(const Netns& ns,
                                                    const netns::RdmaDevice& device,
                                                    const netns::WantedGid& wanted) override;
    Result<netns::GidEntry> wait_for_gid(const Netns& ns,
                                         const netns::RdmaDevice& device,
                                         const netns::WantedGid& wanted,
                                         base::Deadline deadline) override;
    Result<std::string> wait_for_active(const Netns& ns,
                                        uint32_t device,
                                        const Netns& netdev_ns,
                                        base::Deadline deadline) override;
    Result<netns::GidSpace> gid_space(const Netns& ns,
                                      const netns::RdmaDevice& device,
                                      uint32_t enough) override;
    Result<> add_link(const Netns& ns, const netns::RdmaLinkSpec& spec) override;
    Result<> remove_link(const Netns& ns, uint32_t device) override;
    Result<> move(const Netns& from, const Netns& to, uint32_t device) override;
    Result<> rename(const Netns& ns, uint32_t device, const std::string& name) override;
    Result<> wait_gone(const Netns& ns, uint32_t device, base::Deadline deadline) override;

  private:
    // Returns the device if `ns` sees it; else the kernel's EINVAL.
    Result<FakeRdma*> see(const Netns& ns, uint32_t device);
    Result<> make_link(const Netns& ns, const netns::RdmaLinkSpec& spec);
    Result<> change_owner(const Netns& from, const Netns& to, uint32_t device);
};

}  // namespace test
