// SPDX-License-Identifier: Apache-2.0
// The fakes of the rooms for e-switches and Open vSwitch, and the parts that all fakes share.
#pragma once

#include <string>

#include "netns/devlink.h"
#include "netns/ovs.h"
#include "netns/tc_offload.h"
#include "tests/fakes/gate.h"
#include "tests/fakes/world.h"

namespace test {

using base::Code;
using base::Deadline;
using base::Error;
using base::make_error;
using base::Result;
using base::sys_error;
using netns::Netns;

// Makes a room's error: an errno, and the code that the caller acts on.
inline base::Error coded(base::Code code, int number, std::string text) {
    return base::sys_error(number, std::move(text)).as(code);
}

// A room over a World: changes pass the gate.
template <class Room>
class Fake : public Room {
  public:
    Fake(World& world, Gate& gate) : world_(world), gate_(gate) {}

  protected:
    World& world_;
    Gate& gate_;
};

class FakeDevlink : public Fake<netns::Devlink> {
  public:
    using Fake::Fake;

    Result<std::optional<netns::Eswitch>> eswitch(const Netns& host,
                                                  const std::string& device) override;
    Result<> set_mode(const Netns& host,
                      const std::string& device,
                      netns::EswitchMode mode) override;
    Result<> set_inline_mode(const Netns& host,
                             const std::string& device,
                             netns::InlineMode mode) override;
    Result<std::vector<netns::DevlinkPort>> ports(const Netns& host,
                                                  const std::string& device) override;
};

class FakeTcOffload : public Fake<netns::TcOffload> {
  public:
    using Fake::Fake;

    Result<netns::TcFeature> feature(const Netns& ns, uint32_t link) override;
    Result<> set_feature(const Netns& ns, uint32_t link, bool on) override;
    Result<netns::TcRules> rules(const Netns& ns, uint32_t link) override;
};

class FakeOvsRoom : public Fake<netns::Ovs> {
  public:
    using Fake::Fake;

    Result<bool> present() override;
    Result<netns::OvsSettings> settings(base::Deadline deadline) override;
    Result<> configure(const netns::OvsChange& other_config,
                       const netns::OvsChange& marks,
                       base::Deadline deadline) override;
    Result<std::optional<netns::OvsBridge>> find_bridge(const std::string& name,
                                                        base::Deadline deadline) override;
    Result<netns::OvsView> view(const std::string& bridge, base::Deadline deadline) override;
    Result<> add_bridge(const std::string& name,
                        const netns::OvsMap& marks,
                        base::Deadline deadline) override;
    Result<> remove_bridge(const std::string& name,
                           const netns::OvsMap& marks,
                           base::Deadline deadline) override;
    Result<std::optional<netns::OvsPort>> find_port(const std::string& name,
                                                    base::Deadline deadline) override;
    Result<std::vector<netns::OvsPort>> list_ports(const netns::OvsMap& marks,
                                                   base::Deadline deadline) override;
    Result<> add_port(const netns::OvsPortSpec& spec, base::Deadline deadline) override;
    Result<> remove_ports(const netns::OvsMap& marks, base::Deadline deadline) override;

  private:
    // Unavailable or Timeout: the database does not answer.
    Result<> reach() const;
    // Timeout: ovs-vswitchd does not act.
    Result<> applied() const;
};

}  // namespace test
