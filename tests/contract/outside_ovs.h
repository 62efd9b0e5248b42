// SPDX-License-Identifier: Apache-2.0
// The two databases that the contract of netns/ovs.h is tested with: the World's, and a real
// ovsdb-server without ovs-vswitchd, whose part a thread plays. Neither needs root or a kernel's
// datapath.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "netns/base/child.h"
#include "netns/kernel/ovsdb/client.h"
#include "netns/ovs.h"
#include "tests/fakes/fake_host.h"
#include "tests/support/temp_dir.h"

namespace test {

class OvsOutside {
  public:
    virtual ~OvsOutside() = default;

    virtual netns::Ovs& room() = 0;
    // ovs-vswitchd acts no more.
    virtual void stop_daemon() = 0;
    // ovsdb-server is killed; its socket stays.
    virtual void stop_server() = 0;
};

// Netdevs that the host has are rep0, rep1, ...: all but "nodevice".
class FakeOvsOutside : public OvsOutside {
  public:
    FakeOvsOutside();

    netns::Ovs& room() override { return fake_.ovs; }

    void stop_daemon() override { fake_.world.ovs.daemon = false; }

    void stop_server() override { fake_.world.ovs.server = false; }

  private:
    FakeHost fake_;
};

class RealOvsOutside : public OvsOutside {
  public:
    // Without the row that ovs-vswitchd's start makes, if it is not `set_up`.
    explicit RealOvsOutside(bool set_up = true);
    ~RealOvsOutside() override;
    RealOvsOutside(const RealOvsOutside&) = delete;
    RealOvsOutside& operator=(const RealOvsOutside&) = delete;
    RealOvsOutside(RealOvsOutside&&) = delete;
    RealOvsOutside& operator=(RealOvsOutside&&) = delete;

    static std::string missing();

    netns::Ovs& room() override { return *room_; }

    // One more, with a connection of its own.
    [[nodiscard]] std::unique_ptr<netns::Ovs> another() const { return netns::make_ovs(socket()); }

    void stop_daemon() override { acts_ = false; }

    void stop_server() override;

    // A transaction of somebody else's; the results.
    std::vector<base::Json> transact(const std::string& operations);

  private:
    [[nodiscard]] std::string socket() const { return dir_ / "db.sock"; }

    // Acts as ovs-vswitchd, until the database closes the connection.
    void act(netns::ovsdb::Client& daemon);

    TempDir dir_;
    std::optional<base::Child> server_;
    std::unique_ptr<netns::Ovs> room_;
    std::atomic<bool> acts_ = true;
    std::thread daemon_;
};

}  // namespace test
