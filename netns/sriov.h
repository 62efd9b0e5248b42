// SPDX-License-Identifier: Apache-2.0
// Sriov reads PCI functions from sysfs, and reads and changes the settings that a PF keeps for its
// VFs. Sources: Documentation/ABI/testing/sysfs-bus-pci; drivers/pci/iov.c, kernels 6.1 to 7.3;
// IFLA_VFINFO_LIST of rtnetlink(7), RTM_SETLINK on the PF's netdev. You name a function by its PCI
// address: netdevs and RDMA devices change name and index with each move and each bind.
//
// Facts about kernels and drivers:
// - `net/` and `infiniband/` of a function list what is in the namespace in which that sysfs was
//   mounted. For a VF that a container has, the host's are empty.
// - sriov_numvfs goes from 0 to N and from N to 0 only (else EBUSY). Writing 0 destroys VFs in use,
//   too.
// - A driver that lacks an operation answers EOPNOTSUPP. mlx5 answers it for VLAN, spoof check,
//   trust and link state outside of legacy e-switch mode.
// - A driver reads MAC and GUIDs of a VF when it is bound. Some drivers take a change only by a
//   rebind.
// - A PF that does not manage its e-switch reports on no VF. That is a BlueField in DPU mode, seen
//   from the host: rtnl_fill_vfinfo leaves out a VF for which the driver answers EPERM.
// - Intel's PFs reset a VF when they set its MAC, VLAN or trust. Until that is over its netdev
//   stays down (iavf_open: EBUSY), and the next setting may be refused (i40e, ice: EAGAIN, EBUSY).
// - A rebound function has a new netdev in the host's namespace. It has another index, and the
//   kernel's name until udev renames it a moment later.
//
// Seen with igb and igbvf (6.12 and 7.3 alike):
// - The PF reports a VF's MAC whether the PF set it or the VF chose it. So you cannot read whether
//   one was set. Writing zero takes a set one back. The PF then reports zero until the VF chooses
//   another MAC than it has; after that everything is as before.
// - When the PF sets a MAC, the VF's netdev keeps its present one until it goes down or is rebound.
//   Until then it takes no other by rtnetlink, not even the same (EADDRNOTAVAIL). Afterwards it
//   takes only the PF's, unless the VF is trusted.
// - Rates are refused (EINVAL) while the PF is down, even a rate of zero.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netns/base/clock.h"
#include "netns/namespace.h"
#include "netns/values/address.h"
#include "netns/values/pci_address.h"

namespace netns {

struct PciNetdev {
    std::string name;
    uint32_t index = 0;
    uint32_t port = 0;           // dev_port, if the function has several netdevs (mlx4)
    std::string port_name = {};  // phys_port_name: "p0" of an uplink, "pf0vf3" of a representor
    bool operator==(const PciNetdev&) const = default;
};

struct PciFunction {
    std::string address;                  // "0000:01:10.0"; see is_function_name()
    std::string driver;                   // name of the bound driver; empty: none is bound
    std::string pf;                       // VF: its PF's address; else empty
    uint32_t number = 0;                  // VF: its number, N of the PF's virtfnN
    uint32_t total_vfs = 0;               // PF: the most VFs that it can have; 0: no SR-IOV
    uint32_t num_vfs = 0;                 // PF: the VFs that it has
    std::string local_cpus = {};          // PF: the CPUs near it, "0-15,32-47"; empty: unknown
    int numa_node = -1;                   // PF: its NUMA node; -1: none
    std::vector<PciNetdev> netdevs;       // in the host's namespace, no representors; uplinks first
    std::vector<std::string> rdma_names;  // in the host's namespace
    bool operator==(const PciFunction&) const = default;
};

enum class VlanProtocol { Dot1q, Dot1ad };
enum class VfLinkState { Auto, On, Off };

struct VfVlan {
    uint16_t id = 0;  // 0: none
    uint8_t qos = 0;  // 0-7
    VlanProtocol protocol = VlanProtocol::Dot1q;
    bool operator==(const VfVlan&) const = default;
};

struct VfRate {
    uint32_t min = 0;  // Mbit/s; 0: none
    uint32_t max = 0;  // Mbit/s; 0: none
    bool operator==(const VfRate&) const = default;
};

// Settings that the PF keeps for a VF. When read: what the driver reports; an empty member is not
// reported. When written: what to change.
struct VfSettings {
    std::optional<Mac> mac{};  // zero: none
    std::optional<VfVlan> vlan{};
    std::optional<VfRate> rate{};
    std::optional<bool> spoofchk{};
    std::optional<bool> trust{};
    std::optional<VfLinkState> link_state{};
    std::optional<uint64_t> node_guid{};  // host order; InfiniBand
    std::optional<uint64_t> port_guid{};
    bool operator==(const VfSettings&) const = default;
};

class Sriov {
  public:
    virtual ~Sriov() = default;

    // Returns the function; nothing if there is none at this address.
    virtual Result<std::optional<PciFunction>> find(const std::string& address) = 0;
    // Returns the address of VF `number` of a PF; nothing if it has no such VF.
    virtual Result<std::optional<std::string>> find_vf(const std::string& pf, uint32_t number) = 0;
    // Returns the address of the function of a netdev of the host's namespace. Nothing if there is
    // no such netdev, or it belongs to no PCI function.
    virtual Result<std::optional<std::string>> find_by_netdev(const std::string& name) = 0;
    // The same for an RDMA device.
    virtual Result<std::optional<std::string>> find_by_rdma(const std::string& name) = 0;
    // Returns all PFs that can have VFs, by address. Reads every PCI function: for rdmactl, never
    // for a hook.
    virtual Result<std::vector<PciFunction>> list_pfs() = 0;
    // Returns the netdevs that represent the functions behind a PF's e-switch, by name. They are
    // the host's netdevs that share the PF's phys_switch_id and have such a phys_port_name. Reads
    // every netdev of the host: for drivers whose functions have no ports in devlink (bnxt).
    virtual Result<std::vector<PciNetdev>> representors(const std::string& pf) = 0;

    // Returns the settings of VF `number`; nothing if the PF does not report on its VFs at all.
    // `pf` is the index of the PF's netdev in `host`. Unavailable: it has no such VF.
    virtual Result<std::optional<VfSettings>> settings(const Netns& host,
                                                       uint32_t pf,
                                                       uint32_t number) = 0;
    // Writes the given settings, one request each, in the order mac, vlan, rate, spoofchk, trust,
    // link state, GUIDs. Stops at the first refusal and names it ("set trust on VF 3 of link 5").
    // While the VF is in a reset (EBUSY, EAGAIN), the request is repeated until the deadline; after
    // that the error is Busy. Unsupported: the driver lacks the setting (EOPNOTSUPP,
    // EPROTONOSUPPORT). BadInput: the driver refuses the value (EINVAL, ERANGE, EADDRNOTAVAIL).
    virtual Result<> configure(const Netns& host,
                               uint32_t pf,
                               uint32_t number,
                               const VfSettings& change,
                               base::Deadline deadline) = 0;

    // Writes sriov_numvfs. Busy: the PF has VFs already, and `count` is neither 0 nor their number.
    virtual Result<> set_num_vfs(const std::string& pf, uint32_t count) = 0;
    // Returns sriov_drivers_autoprobe: whether a new VF gets a driver. While it is off,
    // drivers_probe binds a VF to none either (pci_device_can_probe). Nothing: there is no such
    // file.
    virtual Result<std::optional<bool>> autoprobe(const std::string& pf) = 0;
    // Writes it. Unavailable: there is no such function.
    virtual Result<> set_autoprobe(const std::string& pf, bool on) = 0;
    // Unbinds the function's driver; it is no error if none is bound.
    virtual Result<> unbind(const std::string& address) = 0;
    // Binds the named driver; or, if the name is empty, the one that the kernel chooses
    // (drivers_probe). It is no error if one is bound already. With a name a VF is bound also while
    // autoprobe is off: driver_override names the driver during the bind. After a death within the
    // bind it stays so until the next bind of that driver.
    virtual Result<> bind(const std::string& address, const std::string& driver) = 0;
    // Waits until a function has a netdev in the host's namespace again after a bind. Timeout names
    // the function.
    virtual Result<PciNetdev> wait_for_netdev(const std::string& address,
                                              base::Deadline deadline) = 0;
    // The same for its RDMA device. Some drivers register it some time after the netdev; from a
    // dead namespace it comes back when the kernel gets to it. Returns its name, by which
    // RdmaDevices::find_by_name() finds it then.
    virtual Result<std::string> wait_for_rdma(const std::string& address,
                                              base::Deadline deadline) = 0;
    // Waits until udev, where it runs, has named the netdev that a function has in the host's
    // namespace. False: not by the deadline.
    virtual Result<bool> wait_for_name(const std::string& address, base::Deadline deadline) = 0;
};

// Tests give another root.
std::unique_ptr<Sriov> make_kernel_sriov(std::string sys = "/sys");

}  // namespace netns
