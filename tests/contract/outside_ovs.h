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

// Netdevs that the host has are rep0, rep1, ...: all but "nodevice".
class FakeOvsOutside {
  public:
    FakeOvsOutside();

    static std::string name() { return "Fake"; }

    static std::string missing() { return {}; }

    netns::Ovs& room() { return fake_.ovs; }

    // ovs-vswitchd acts no more.
    void stop_daemon() { fake_.world.ovs.daemon = false; }

    // ovsdb-server is killed; its socket stays.
    void stop_server() { fake_.world.ovs.server = false; }

  private:
    FakeHost fake_;
};

class RealOvsOutside {
  public:
    // Without the row that ovs-vswitchd's start makes, if it is not `set_up`.
    explicit RealOvsOutside(bool set_up = true);
    ~RealOvsOutside();
    RealOvsOutside(const RealOvsOutside&) = delete;
    RealOvsOutside& operator=(const RealOvsOutside&) = delete;
    RealOvsOutside(RealOvsOutside&&) = delete;
    RealOvsOutside& operator=(RealOvsOutside&&) = delete;

    static std::string name() { return "Ovsdb"; }

    static std::string missing();

    netns::Ovs& room() { return *room_; }

    // One more, with a connection of its own.
    [[nodiscard]] std::unique_ptr<netns::Ovs> another() const { return netns::make_ovs(socket()); }

    void stop_daemon() { acts_ = false; }

    void stop_server();

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
