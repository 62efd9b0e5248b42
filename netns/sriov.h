// SPDX-License-Identifier: Apache-2.0
// SR-IOV: PCI functions as sysfs shows them (Documentation/ABI/testing/sysfs-bus-pci;
// drivers/pci/iov.c, kernels 6.1 to 7.3) and the settings of a VF that its PF keeps
// (IFLA_VFINFO_LIST of rtnetlink(7), RTM_SETLINK on the PF's netdev). A function is named by its
// PCI address: netdevs and RDMA devices change name and index with each move and each bind.
//
// What this room knows of kernels and drivers, so that nobody else has to:
// - `net/` and `infiniband/` of a function list what is in the namespace of the sysfs that is
//   read: of a VF that a container has, the host's are empty.
// - sriov_numvfs goes from 0 to N and from N to 0 only (else EBUSY); 0 destroys VFs in use, too.
// - A driver that lacks an operation answers EOPNOTSUPP; mlx5 answers it for VLAN, spoof check,
//   trust and link state outside of legacy e-switch mode.
// - A driver reads MAC and GUIDs of a VF when it is bound: some take a change only by a rebind.
// - A PF that is not manager of its e-switch reports on no VF (BlueField in DPU mode, seen from the
//   host: rtnl_fill_vfinfo leaves out a VF of which the driver says EPERM).
// - Intel's PFs reset a VF whose MAC, VLAN or trust they set. Until that is over its netdev stays
//   down (iavf_open: EBUSY), and the next setting may be refused (i40e, ice: EAGAIN, EBUSY).
// - A function that is bound anew has a new netdev: another index, the kernel's name until udev
//   gives it its own a moment later, in the host's namespace.
// Seen with igb and igbvf (6.12 and 7.3 alike):
// - What the PF reports as a VF's MAC is also what the VF has given itself: whether one was set
//   cannot be read. Zero takes a set one back, and the PF reports zero until the VF gives itself
//   another than it has; then everything is as it was.
// - When the PF sets a MAC, the VF's netdev keeps the one it has until it goes down or is bound
//   anew, and takes no other by rtnetlink until then, not even the same (EADDRNOTAVAIL);
//   afterwards only that one, unless the VF is trusted.
// - Rates are refused (EINVAL) while the PF is down, even a rate of zero.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/clock.h"
#include "netns/namespace.h"
#include "netns/values/address.h"
#include "netns/values/pci_address.h"

namespace netns {

struct PciNetdev {
    std::string name;
    uint32_t index = 0;
    uint32_t port = 0;           // dev_port: of a function with several netdevs (mlx4)
    std::string port_name = {};  // phys_port_name: "p0" of an uplink, "pf0vf3" of a representor
    bool operator==(const PciNetdev&) const = default;
};

struct PciFunction {
    std::string address;                  // "0000:01:10.0"; see is_function_name()
    std::string driver;                   // of the bound driver; empty: none is bound
    std::string pf;                       // of a VF: its PF's address; else empty
    uint32_t number = 0;                  // of a VF: its number, N of the PF's virtfnN
    uint32_t total_vfs = 0;               // of a PF: how many it can have; 0: no SR-IOV
    uint32_t num_vfs = 0;                 // of a PF: how many it has
    std::string local_cpus = {};          // of a PF: the CPUs near it, "0-15,32-47"; empty: unknown
    int numa_node = -1;                   // of a PF; -1: none
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

// What the PF keeps for a VF. Read: what the driver reports; empty: it does not. Written: what is
// to change.
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

    // Nothing if there is no such function.
    virtual Result<std::optional<PciFunction>> find(const std::string& address) = 0;
    // The address of VF `number` of a PF; nothing if it has no such VF.
    virtual Result<std::optional<std::string>> find_vf(const std::string& pf, uint32_t number) = 0;
    // The function of a netdev of the host's namespace; nothing if there is no such netdev, or it
    // is no PCI function's.
    virtual Result<std::optional<std::string>> find_by_netdev(const std::string& name) = 0;
    // The same of an RDMA device.
    virtual Result<std::optional<std::string>> find_by_rdma(const std::string& name) = 0;
    // All PFs that can have VFs, by address. Reads every PCI function: for rdmactl, never for a
    // hook.
    virtual Result<std::vector<PciFunction>> list_pfs() = 0;
    // The netdevs that stand for the functions behind a PF's e-switch, by name: those of the host
    // that share the PF's phys_switch_id and have such a phys_port_name. Reads every netdev of the
    // host: for drivers that have no ports for them in devlink (bnxt).
    virtual Result<std::vector<PciNetdev>> representors(const std::string& pf) = 0;

    // What the PF keeps for its VF `number`; nothing if it does not report on its VFs at all. `pf`
    // is the PF's netdev, an index in `host`. Unavailable if it has no such VF.
    virtual Result<std::optional<VfSettings>> settings(const Netns& host,
                                                       uint32_t pf,
                                                       uint32_t number) = 0;
    // Writes what is given, one request for each setting, in the order mac, vlan, rate, spoofchk,
    // trust, link state, GUIDs; stops at the first refusal and names it ("set trust on VF 3 of link
    // 5"). Unsupported: the driver lacks it (EOPNOTSUPP, EPROTONOSUPPORT); BadInput: a value that
    // it refuses (EINVAL, ERANGE, EADDRNOTAVAIL). While the VF is in a reset (EBUSY, EAGAIN) it
    // asks again until the deadline; then that is the answer: Busy.
    virtual Result<> configure(const Netns& host,
                               uint32_t pf,
                               uint32_t number,
                               const VfSettings& change,
                               base::Deadline deadline) = 0;

    // Writes sriov_numvfs. Busy: it has VFs already, and `count` is neither 0 nor what it has.
    virtual Result<> set_num_vfs(const std::string& pf, uint32_t count) = 0;
    // sriov_drivers_autoprobe: whether a new VF is given to a driver. While it is not,
    // drivers_probe gives a VF to none either (pci_device_can_probe). Nothing: there is no such
    // file.
    virtual Result<std::optional<bool>> autoprobe(const std::string& pf) = 0;
    virtual Result<> set_autoprobe(const std::string& pf, bool on) = 0;
    // Takes the driver off the function; none bound is no error.
    virtual Result<> unbind(const std::string& address) = 0;
    // Binds the driver of that name, or, without a name, the one that the kernel would choose
    // (drivers_probe); bound already is no error. By name a VF is bound without autoprobe, too.
    virtual Result<> bind(const std::string& address, const std::string& driver) = 0;
    // Waits until a function has a netdev in the host's namespace again after a bind; Timeout names
    // the function.
    virtual Result<PciNetdev> wait_for_netdev(const std::string& address,
                                              base::Deadline deadline) = 0;
    // The same for its RDMA device, which some drivers register some time after the netdev, and
    // which comes back from a dead namespace when the kernel comes to it. Its name, by which
    // RdmaDevices::find_by_name() finds it then.
    virtual Result<std::string> wait_for_rdma(const std::string& address,
                                              base::Deadline deadline) = 0;
    // Waits until udev, where it runs, has named the netdev that a function has in the host's
    // namespace. False: it has not done so in time.
    virtual Result<bool> wait_for_name(const std::string& address, base::Deadline deadline) = 0;
};

std::unique_ptr<Sriov> make_kernel_sriov();

}  // namespace netns
