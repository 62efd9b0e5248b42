// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/adapters.h"

#include <algorithm>

namespace test {

const std::vector<Quirk>& quirks() {
    static const std::vector<Quirk> rows = {
        // ---- what the PF refuses
        {"no_mac", "sets no MAC of a VF", "include/linux/netdevice.h: ndo_set_vf_mac is optional"},
        {"no_vlan", "sets no VLAN of a VF", "netdevice.h: ndo_set_vf_vlan is optional"},
        {"no_1ad", "sets VLANs of 802.1Q alone", "igb_main.c, en_main.c: EPROTONOSUPPORT"},
        {"no_rate", "limits no rate", "netdevice.h: ndo_set_vf_rate is optional"},
        {"no_min_rate", "promises no rate", "igb_main.c: igb_ndo_set_vf_bw, EINVAL"},
        {"no_spoofchk", "checks no source MAC", "netdevice.h: ndo_set_vf_spoofchk is optional"},
        {"no_trust", "trusts no VF", "netdevice.h: ndo_set_vf_trust is optional"},
        {"no_link_state", "sets no link state", "igb_main.c has no ndo_set_vf_link_state"},
        {"no_guid", "sets no GUIDs", "netdevice.h: ndo_set_vf_guid is InfiniBand's"},
        {"no_vf_info",
         "reports nothing of a VF: there is no IFLA_VF_INFO for it",
         "Linux 6.12 rtnetlink.c rtnl_fill_vfinfo; mlx5 eswitch.c mlx5_eswitch_get_vport: EPERM on "
         "a host whose DPU has the e-switch"},
        // ---- MACs
        {"mac_by_rebind_only",
         "a VF's netdev takes the MAC of the PF when its driver is bound, not at once",
         "igbvf netdev.c, mlx5 en_main.c: read at probe"},
        {"mac_by_down", "and when it goes down", "igbvf netdev.c: igbvf_reset"},
        {"keeps_pf_mac",
         "when the PF has set one, the netdev of a VF without trust takes no other",
         "igb_main.c: igb_set_vf_mac_filter"},
        {"reports_own_mac",
         "the PF reports, as if it were set, what the VF has given itself",
         "igb_main.c: igb_set_vf_mac"},
        {"node_guid_of_admin_mac",
         "the node GUID of a VF is made of the MAC that its PF gave it, and is zero without one",
         "mlx5 eswitch.c: node_guid_gen_from_mac in mlx5_eswitch_set_vport_mac"},
        // ---- time
        {"late_rdma",
         "a VF's RDMA device is registered some time after its driver was bound",
         "drivers/base/auxiliary.c: another driver's probe"},
        {"unlisted_rdma",
         "and it is in sysfs some time before the kernel lists it: till then it can be told "
         "nothing",
         "Linux device.c: ib_register_device, device_add() before enable_device_and_get()"},
        {"late_netdev",
         "a VF's netdev is registered some time after its driver was bound",
         "iavf_main.c: a work item registers it"},
        {"dead_netdev",
         "the PF answers none of its VFs, so that their netdevs never come",
         "iavf_main.c: __IAVF_INIT_FAILED, tried again without end"},
        {"busy_after_setting",
         "the PF resets a VF whose MAC, VLAN or trust it sets; until that is over the VF's netdev "
         "does not come up (EBUSY)",
         "iavf_main.c: iavf_open, EBUSY unless __IAVF_DOWN; sriov-cni issue 213"},
        {"setting_again",
         "the PF answers EAGAIN while a VF is still in its reset",
         "i40e_virtchnl_pf.c, ice_sriov.c: ice_check_vf_ready_for_cfg"},
        {"late_active",
         "the port is ACTIVE some time after the netdev has come up",
         "mlx5 main.c: the port's state follows the carrier"},
        {"no_carrier", "the port has no carrier", "a cable that is not there"},
        {"manager",
         "a manager of the host's networks brings VFs up as soon as they appear",
         "systemd.network(5); NetworkManager"},
        {"udev", "udev gives netdevs of VFs a name, some time later", "systemd.link(5)"},
        // ---- functions
        {"no_sriov",
         "is a function without VFs and without a PF on this machine",
         "include/linux/pci.h: a guest sees a VF with is_virtfn 0 and no physfn"},
        {"no_netdev",
         "has an RDMA device and no netdev",
         "efa_main.c: ib_register_device without ib_device_set_netdev"},
        {"no_node_guid",
         "its RDMA device has a node GUID of zero",
         "Linux 6.1 to 6.12 efa_main.c: efa_ib_device_add sets none"},
        {"no_ipoib",
         "is InfiniBand, and has no netdev: the module ib_ipoib is not loaded",
         "ipoib_main.c: ipoib_add_one makes it, for ib_core, and no driver of an adapter"},
        // ---- the e-switch
        {"uplink_elsewhere",
         "the physical port is on a devlink device of its own, not on that of the PCI function",
         "Linux 6.3, commit ee75f1fc44dd: auxiliary/mlx5_core.eth.N"},
        {"no_eswitch_right",
         "the PF may not ask for its e-switch (EPERM): it is the DPU's",
         "mlx5 eswitch.c: mlx5_eswitch_check, before 6.2 EPERM"},
        {"mode_before_vfs",
         "the mode of the e-switch is refused (EOPNOTSUPP) while there are VFs",
         "ice_eswitch.c: ice_eswitch_mode_set"},
        {"no_switchdev",
         "has no mode switchdev (EOPNOTSUPP)",
         "ice_eswitch.c: ice_eswitch_mode_set, while queues are assigned by ADQ"},
        {"no_vf_ports",
         "VFs have representors, and no ports in devlink: phys_port_name says whose they are",
         "bnxt_vfr.c: bnxt_vf_rep_get_phys_port_name; bnxt_devlink.c has no pcivf port"},
        // ---- RDMA
        {"gids_by_reader",
         "a GID is shown to a reader in the network namespace of its netdev alone",
         "MLNX_OFED 24.07 core/cache.c: rdma_check_gid_user_access"},
        {"stale_gid",
         "what happens to a VF's netdev while its RDMA device is being registered does not reach "
         "the GID table: it keeps the GID of the MAC before, until the netdev's MAC is set again",
         "Linux before 7.0 (commit 9af0feae8016ba, ib_enum_all_roce_netdevs): only devices that "
         "are registered hear of netdevs; NETDEV_UP leaves a default GID that is there "
         "(cache.c, __ib_cache_gid_add)"},
        {"iwarp",
         "is an iWARP device: one GID, of its MAC, that is none of RoCE",
         "irdma verbs.c: iw_query_gid, gid_tbl_len 1"},
        {"roce_off",
         "RoCE is switched off: an RDMA device without GIDs",
         "mlx5 main.c: roce_en, gid_tbl_len 0; devlink-params enable_roce"},
        {"gids_32", "has a table of 32 GIDs", "irdma verbs.c: irdma_roce_port_immutable"},
        {"down_by_policy",
         "the port of a VF is down until its policy is set (IFLA_VF_LINK_STATE)",
         "mlx5 ib_virt.c: MLX5_POLICY_DOWN is the device's preset"},
        {"guid_zero_refused",
         "a GUID of zero is refused",
         "ib-sriov-cni pkg/sriov/sriov.go: an invalid GUID"},
    };
    return rows;
}

const std::vector<Adapter>& adapters() {
    using Names = std::set<std::string>;
    const Names igb = {"no_link_state",
                       "no_guid",
                       "no_1ad",
                       "no_min_rate",
                       "mac_by_rebind_only",
                       "mac_by_down",
                       "keeps_pf_mac",
                       "reports_own_mac"};
    const Names mlx5 = {"no_1ad", "mac_by_rebind_only"};
    const auto with = [](Names names, const Names& more) {
        names.insert(more.begin(), more.end());
        return names;
    };
    static const std::vector<Adapter> rows = {
        {.nic = Nic::Igb,
         .name = "Igb",
         .what = "Intel 82576: SR-IOV, and no RDMA of its own",
         .driver = "igb",
         .vf_driver = "igbvf",
         .rdma_type = "",
         .quirks = igb,
         .mbits = 1000,
         .vf_offset = 0x80,
         .vf_stride = 2,
         .numa_node = -1},
        {.nic = Nic::Mlx5,
         .name = "Mlx5",
         .what = "ConnectX-5 to 7, Linux before 6.3",
         .driver = "mlx5_core",
         .vf_driver = "mlx5_core",
         .rdma_type = "mlx5",
         .quirks = mlx5,
         .eswitch = true},
        {.nic = Nic::Mlx5New,
         .name = "Mlx5New",
         .what = "ConnectX-5 to 7, Linux 6.3 and later",
         .driver = "mlx5_core",
         .vf_driver = "mlx5_core",
         .rdma_type = "mlx5",
         .quirks = with(mlx5, {"uplink_elsewhere", "node_guid_of_admin_mac", "late_active"}),
         .eswitch = true},
        {.nic = Nic::Ofed,
         .name = "Ofed",
         .what = "ConnectX-5 to 7, modules of MLNX_OFED or DOCA",
         .driver = "mlx5_core",
         .vf_driver = "mlx5_core",
         .rdma_type = "mlx5",
         .quirks = with(mlx5, {"uplink_elsewhere", "gids_by_reader"}),
         .eswitch = true},
        {.nic = Nic::BluefieldHost,
         .name = "BluefieldHost",
         .what = "BlueField-2 and 3 in DPU mode, seen from the host",
         .driver = "mlx5_core",
         .vf_driver = "mlx5_core",
         .rdma_type = "mlx5",
         .quirks = with(mlx5, {"uplink_elsewhere", "no_vf_info", "no_eswitch_right"}),
         .eswitch = true},
        {.nic = Nic::Ice,
         .name = "Ice",
         .what = "Intel E810: RoCE on the PF, VFs without RDMA",
         .driver = "ice",
         .vf_driver = "iavf",
         .rdma_type = "irdma",
         .quirks = {"no_1ad",
                    "no_guid",
                    "mode_before_vfs",
                    "late_netdev",
                    "busy_after_setting",
                    "setting_again"},
         .eswitch = true,
         .vf_rdma = false},
        {.nic = Nic::Irdma,
         .name = "Irdma",
         .what = "Intel E810 and X722, as an RDMA device: RoCE, table of 32",
         .driver = "ice",
         .vf_driver = "iavf",
         .rdma_type = "irdma",
         .quirks = {"no_1ad", "no_guid", "gids_32", "mode_before_vfs"},
         .eswitch = true},
        {.nic = Nic::Iwarp,
         .name = "Iwarp",
         .what = "Intel X722, E810 with iWARP chosen, Chelsio T6",
         .driver = "ice",
         .vf_driver = "iavf",
         .rdma_type = "irdma",
         .quirks = {"no_1ad", "no_guid", "iwarp", "mode_before_vfs"},
         .eswitch = true},
        {.nic = Nic::RoceOff,
         .name = "RoceOff",
         .what = "ConnectX with RoCE switched off (devlink, enable_roce)",
         .driver = "mlx5_core",
         .vf_driver = "mlx5_core",
         .rdma_type = "mlx5",
         .quirks = with(mlx5, {"roce_off"}),
         .eswitch = true},
        {.nic = Nic::Bnxt,
         .name = "Bnxt",
         .what = "Broadcom BCM575xx: a frame of any GID leaves with the MAC of the PF's netdev, "
                 "which no fake shows (bnxt_re ib_verbs.c: bnxt_re_add_gid)",
         .driver = "bnxt_en",
         .vf_driver = "bnxt_en",
         .rdma_type = "bnxt_re",
         .quirks = {"no_1ad", "no_guid", "no_vf_ports"},
         .eswitch = true},
        {.nic = Nic::IbMlx5,
         .name = "IbMlx5",
         .what = "ConnectX, InfiniBand, with IPoIB",
         .driver = "mlx5_core",
         .vf_driver = "mlx5_core",
         .rdma_type = "mlx5",
         .quirks = {"no_mac",
                    "no_vlan",
                    "no_rate",
                    "no_spoofchk",
                    "no_trust",
                    "guid_zero_refused",
                    "down_by_policy",
                    "late_active"},
         .ethernet = false},
        {.nic = Nic::VfWithoutPf,
         .name = "VfWithoutPf",
         .what = "a VF that a hypervisor passed into this machine (Azure, OCI, OpenStack)",
         .driver = "mlx5_core",
         .vf_driver = "",
         .rdma_type = "mlx5",
         .quirks = {"no_sriov"}},
        {.nic = Nic::Efa,
         .name = "Efa",
         .what = "Amazon's EFA: an RDMA device without a netdev",
         .driver = "efa",
         .vf_driver = "",
         .rdma_type = "efa",
         .quirks = {"no_sriov", "no_netdev", "no_node_guid"}},
    };
    return rows;
}

const Adapter& adapter(Nic nic) {
    return *std::ranges::find(adapters(), nic, &Adapter::nic);
}

// Sets MACs as `rdmactl vf enable` does.
void give_macs(World& world, const std::string& pf) {
    for (uint32_t number = 0; number < world.pci.at(pf).num_vfs; ++number) {
        const std::string vf = world.vf_address(pf, number);
        const auto named = [&]() -> std::string& {
            const auto netdev = world.netdev_of(vf);
            return world.find_link(netdev->first, netdev->second)->link.name;
        };
        const std::string name = named();
        world.pci.at(vf).settings.mac =
            netns::Mac{{2, 0xad, 0, 0, 0, static_cast<uint8_t>(number)}};
        world.pci.at(vf).mac_given.value = true;
        world.unbind(vf);
        world.bind(vf);
        named() = name;
    }
}

World world_with(Nic nic, KernelTraits kernel, netns::EswitchMode eswitch) {
    World world = World::standard(kernel);
    world.add_sriov("enp1s0", kPf, 2, nic);
    if (adapter(nic).quirks.contains("node_guid_of_admin_mac"))
        give_macs(world, kPf);
    if (nic == Nic::VfWithoutPf) {
        world.add_sriov("enp2s0", "0000:02:00.0", 0, nic);
        world.set_up(world.host, world.netdev_of("0000:02:00.0")->second, false);
    }
    if (!adapter(nic).eswitch)
        return world;
    const std::string handle = std::string("pci/") + kPf;
    world.add_eswitch(handle, world.netdev_of(kPf)->second, 2);
    if (adapter(nic).quirks.contains("no_eswitch_right"))  // its representors are not here
        return world;
    world.set_eswitch_mode(handle, eswitch);
    world.ovs.installed = true;
    world.ovs.settings.version = "3.5.0";
    world.ovs.settings.other_config["hw-offload"] = "true";
    world.ovs.bridges["br0"] = {.name = "br0", .ports = 0, .tunnels = false, .marks = {}};
    world.ovs.ports["enp1s0"].name = "enp1s0";
    world.ovs.ports["enp1s0"].bridge = "br0";
    netns::Link own;
    own.name = "br0";
    own.kind = "openvswitch";
    own.mtu = 1500;
    world.add_link(world.host, own);
    return world;
}

}  // namespace test
