// SPDX-License-Identifier: Apache-2.0
#include "netns/ovs.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/stat.h>

#include "netns/kernel/ovsdb/client.h"
#include "netns/kernel/ovsdb/results.h"
#include "netns/kernel/ovsdb/transaction.h"

namespace netns {

using base::Json;
using ovsdb::Guard;
using ovsdb::Outcome;
using ovsdb::Refusal;
using ovsdb::Transaction;

namespace {
constexpr size_t kWords = 400;  // bytes of ovs-vswitchd's text in an error

// Returns the guard that did not hold, if one did not.
std::optional<Guard> failed_guard(const Transaction& transaction, const Refusal& refusal) {
    if (refusal.error != "timed out" || refusal.operation >= transaction.guards.size())
        return {};
    return transaction.guards[refusal.operation];
}

Error port_taken(const std::string& name) {
    return base::sys_error(EEXIST, "Open vSwitch has a port or an interface " + name + " already")
        .as(Code::Busy, "look at the port: ovs-vsctl list port " + name);
}

Error without_marks(const std::string& what) {
    return make_error(Code::Internal, what + ": without marks it would be anybody's");
}

class DatabaseOvs : public Ovs {
  public:
    explicit DatabaseOvs(std::string socket) : socket_(socket), client_(std::move(socket)) {}

    Result<bool> present() override {
        struct stat found {};

        if (::stat(socket_.c_str(), &found) == 0)
            return S_ISSOCK(found.st_mode);
        if (errno == ENOENT || errno == ENOTDIR)
            return false;
        return base::sys_error("look for " + socket_);
    }

    Result<OvsSettings> settings(Deadline deadline) override {
        TRY(client_.begin(deadline));
        return ovsdb::read_settings(
            TRY(ask_one(ovsdb::select_settings(), "read the settings of Open vSwitch")));
    }

    Result<> configure(const OvsChange& other_config,
                       const OvsChange& marks,
                       Deadline deadline) override {
        TRY(client_.begin(deadline));
        Transaction transaction = ovsdb::to_configure(other_config, marks);
        const auto results = TRY(ask(std::move(transaction.operations), "configure Open vSwitch"));
        (void)TRY(wait_applied(results, {}, deadline));
        return {};
    }

    Result<std::optional<OvsBridge>> find_bridge(const std::string& name,
                                                 Deadline deadline) override {
        return TRY(view(name, deadline)).bridge;
    }

    Result<OvsView> view(const std::string& bridge, Deadline deadline) override {
        TRY(client_.begin(deadline));
        const std::string what = "look for bridge " + bridge;
        Json operations = Json::array();
        operations.push_back(ovsdb::select_settings());
        operations.push_back(ovsdb::select_bridge(bridge));
        operations.push_back(ovsdb::select_tunnels());
        const auto results = TRY(ask(std::move(operations), what));
        OvsView view;
        view.settings = TRY(ovsdb::read_settings(results[0]));
        auto rows = TRY(ovsdb::read_bridges(results[1]));
        if (rows.empty())
            return view;
        const auto& ports = rows.front().ports;
        view.bridge = std::move(rows.front().bridge);
        view.bridge->ports = ports.size();
        view.bridge->tunnels = TRY(has_one_of(ports, TRY(ovsdb::read_uuids(results[2])), what));
        return view;
    }

    Result<> add_bridge(const std::string& name, const OvsMap& marks, Deadline deadline) override {
        TRY(client_.begin(deadline));
        Transaction transaction = ovsdb::to_add_bridge(name, marks);
        const Outcome outcome = TRY(client_.transact(std::move(transaction.operations)));
        if (outcome.refusal && failed_guard(transaction, *outcome.refusal))
            return port_taken(name);
        if (outcome.refusal)
            return ovsdb::explain(*outcome.refusal, "add bridge " + name);
        return wait_for_interface(outcome.results, name, deadline);
    }

    Result<> remove_bridge(const std::string& name,
                           const OvsMap& marks,
                           Deadline deadline) override {
        const std::string what = "remove bridge " + name;
        if (marks.empty())
            return without_marks(what);
        TRY(client_.begin(deadline));
        return remove(
            ovsdb::select_marked_bridge(name, marks),
            [&](const auto& uuids) { return ovsdb::to_remove_bridge(uuids.front(), marks); },
            what);
    }

    Result<std::optional<OvsPort>> find_port(const std::string& name, Deadline deadline) override {
        TRY(client_.begin(deadline));
        auto ports = TRY(complete(TRY(
            ovsdb::read_ports(TRY(ask_one(ovsdb::select_port(name), "look for port " + name))))));
        if (ports.empty())
            return std::optional<OvsPort>{};
        return std::optional<OvsPort>{std::move(ports.front())};
    }

    Result<std::vector<OvsPort>> list_ports(const OvsMap& marks, Deadline deadline) override {
        TRY(client_.begin(deadline));
        return complete(
            TRY(ovsdb::read_ports(TRY(ask_one(ovsdb::select_ports(marks), "look for our ports")))));
    }

    Result<> add_port(const OvsPortSpec& spec, Deadline deadline) override {
        TRY(client_.begin(deadline));
        Transaction transaction = ovsdb::to_add_port(spec);
        const Outcome outcome = TRY(client_.transact(std::move(transaction.operations)));
        if (outcome.refusal) {
            const auto guard = failed_guard(transaction, *outcome.refusal);
            if (guard == Guard::BridgeIsThere)
                return make_error(Code::Unavailable, "Open vSwitch has no bridge " + spec.bridge)
                    .advise("make it: ovs-vsctl add-br " + spec.bridge);
            if (guard == Guard::NameIsFree)
                return port_taken(spec.name);
            return ovsdb::explain(*outcome.refusal,
                                  "add port " + spec.name + " to bridge " + spec.bridge);
        }
        return wait_for_interface(outcome.results, spec.name, deadline);
    }

    Result<> remove_ports(const OvsMap& marks, Deadline deadline) override {
        const std::string what = "remove marked ports";
        if (marks.empty())
            return without_marks(what);
        TRY(client_.begin(deadline));
        return remove(
            ovsdb::select_marked_ports(marks),
            [&](const auto& uuids) { return ovsdb::to_remove_ports(uuids, marks); },
            what);
    }

  private:
    // Returns the results of selects, one for each.
    Result<std::vector<Json>> ask(Json operations, const std::string& what) {
        if (operations.empty())
            return std::vector<Json>{};
        Outcome outcome = TRY(client_.transact(std::move(operations)));
        if (outcome.refusal)
            return ovsdb::explain(*outcome.refusal, what);
        return std::move(outcome.results);
    }

    // Returns the result of a single select.
    Result<Json> ask_one(Json operation, const std::string& what) {
        Json operations = Json::array();
        operations.push_back(std::move(operation));
        return std::move(TRY(ask(std::move(operations), what)).front());
    }

    // Waits until ovs-vswitchd has applied the configuration in the last result. The last returned
    // result is what `select` finds then.
    Result<std::vector<Json>> wait_applied(const std::vector<Json>& results,
                                           Json select,
                                           Deadline deadline) {
        ovsdb::Progress seen = TRY(ovsdb::read_progress(results.back()));
        for (const int64_t wanted = seen.next_cfg;;) {
            Json operations = Json::array();
            operations.push_back(ovsdb::wait_for_progress(seen.cur_cfg, deadline.left_ms()));
            operations.push_back(ovsdb::select_progress());
            if (!select.is_null())
                operations.push_back(select);
            auto outcome = client_.transact(std::move(operations));
            const bool late = outcome ? outcome->refusal && outcome->refusal->operation == 0 &&
                                            outcome->refusal->error == "timed out"
                                      : outcome.error().code == Code::Timeout;
            if (late)
                return make_error(Code::Timeout, "ovs-vswitchd has not applied the change")
                    .advise("see whether it runs: systemctl status ovs-vswitchd");
            auto found = TRY(std::move(outcome));
            if (found.refusal)
                return ovsdb::explain(*found.refusal, "wait for ovs-vswitchd");
            seen = TRY(ovsdb::read_progress(found.results[1]));
            if (seen.cur_cfg >= wanted)
                return std::move(found.results);
        }
    }

    // The same; then checks that it could use a new port's interface.
    Result<> wait_for_interface(const std::vector<Json>& results,
                                const std::string& name,
                                Deadline deadline) {
        const auto found =
            TRY(wait_applied(results, ovsdb::select_interface_named(name), deadline));
        const auto rows = TRY(ovsdb::read_interfaces(found.back()));
        if (rows.empty())
            return make_error(Code::Unavailable,
                              "somebody removed " + name + " from Open vSwitch again")
                .advise("stop the program that removes it, then try again");
        const ovsdb::InterfaceRow& row = rows.front();
        // The number comes with cur_cfg, or never: on a bridge without datapath there is none.
        if (row.error.empty() && row.ofport.value_or(-1) != -1)
            return {};
        const std::string words =
            row.error.empty() ? "it has no datapath for it" : base::printable(row.error, kWords);
        return make_error(Code::Unavailable, "ovs-vswitchd cannot use " + name + ": " + words)
            .advise("see the log of ovs-vswitchd");
    }

    // Returns whether one of the interfaces belongs to one of the ports.
    Result<bool> has_one_of(const std::vector<std::string>& ports,
                            const std::vector<std::string>& interfaces,
                            const std::string& what) {
        // A larger mesh of tunnels is taken to be on this bridge: such a host has one for
        // everything.
        constexpr size_t kMost = 256;
        if (interfaces.size() > kMost)
            return true;
        Json operations = Json::array();
        for (const std::string& uuid : interfaces)
            operations.push_back(ovsdb::select_port_of(uuid));
        for (const Json& result : TRY(ask(std::move(operations), what))) {
            for (const std::string& port : TRY(ovsdb::read_uuids(result))) {
                if (std::ranges::find(ports, port) != ports.end())
                    return true;
            }
        }
        return false;
    }

    // Adds bridge and interfaces to ports that were found.
    Result<std::vector<OvsPort>> complete(std::vector<ovsdb::PortRow> rows) {
        Json operations = Json::array();
        for (const ovsdb::PortRow& row : rows) {
            operations.push_back(ovsdb::select_bridge_name_of(row.uuid));
            for (const std::string& uuid : row.interfaces)
                operations.push_back(ovsdb::select_interface(uuid));
        }
        const auto results = TRY(ask(std::move(operations), "look at ports"));
        auto result = results.begin();
        std::vector<OvsPort> ports;
        for (ovsdb::PortRow& row : rows) {
            OvsPort& port = row.port;
            const auto bridges = TRY(ovsdb::read_names(*result++));
            for (size_t count = row.interfaces.size(); count != 0; --count) {
                for (const auto& interface : TRY(ovsdb::read_interfaces(*result++))) {
                    if (port.error.empty())
                        port.error = interface.error;
                    port.policing_kbps = std::max(port.policing_kbps, interface.policing_kbps);
                }
            }
            if (bridges.empty())
                continue;  // it was removed meanwhile
            port.bridge = bridges.front();
            ports.push_back(std::move(port));
        }
        std::ranges::sort(ports, {}, &OvsPort::name);
        return ports;
    }

    // Removes the rows that `select` finds, by the transaction that `removal` makes of them. Starts
    // over if they changed meanwhile.
    template <class Removal>
    Result<> remove(const Json& select, Removal removal, const std::string& what) {
        constexpr int kTries = 4;
        for (int tries = 0; tries < kTries; ++tries) {
            const auto uuids = TRY(ovsdb::read_uuids(TRY(ask_one(select, what))));
            if (uuids.empty())
                return {};
            Transaction transaction = removal(uuids);
            const Outcome outcome = TRY(client_.transact(std::move(transaction.operations)));
            if (!outcome.refusal)
                return {};
            if (failed_guard(transaction, *outcome.refusal) != Guard::IsStillOurs)
                return ovsdb::explain(*outcome.refusal, what);
        }
        return make_error(Code::Busy,
                          what + ": another program keeps changing the same rows of Open vSwitch")
            .advise("stop it, or try again: rdmactl gc");
    }

    std::string socket_;
    ovsdb::Client client_;
};
}  // namespace

std::unique_ptr<Ovs> make_ovs(std::string socket) {
    return std::make_unique<DatabaseOvs>(std::move(socket));
}

}  // namespace netns
