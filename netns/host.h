// SPDX-License-Identifier: Apache-2.0
// Host holds all rooms of the outside world. Code that decides takes a Host&; tests build one of
// fakes. To use a room, include that room's header.
#pragma once

namespace base {
class Files;
}

namespace netns {

class Cgroups;
class CharNodes;
class DeviceCgroups;
class Devlink;
class Links;
class Neighbours;
class Netnses;
class Ovs;
class PciTree;
class Placements;
class Processes;
class Programs;
class RdmaDevices;
class Routes;
class Sriov;
class Statistics;
class SysClasses;
class TcOffload;

struct Host {
    Netnses& namespaces;
    Links& links;
    RdmaDevices& rdma;
    Processes& processes;
    base::Files& files;
    Programs& programs;
    Neighbours& neighbours;
    Routes& routes;
    Sriov& sriov;
    Cgroups& cgroups;
    DeviceCgroups& device_cgroups;
    Placements& placements;
    SysClasses& classes;
    Devlink& devlink;
    TcOffload& tc;
    Ovs& ovs;
    Statistics& statistics;
    CharNodes& char_nodes;
    PciTree& pci;
};

}  // namespace netns
