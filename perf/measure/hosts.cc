// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/hosts.h"

#include <fmt/format.h>

#include "perf/system/tcp.h"

namespace perf {

Result<std::vector<Client>> start_clients(std::vector<Control> controls,
                                          const SideOptions& side,
                                          const Surroundings& around,
                                          bool with_device) {
    std::vector<Client> clients;
    for (Control& control : controls) {
        clients.push_back(TRY(with_device ? Client::start(around.verbs, std::move(control), side)
                                          : Client::greet(std::move(control), side)));
        const Client& client = clients.back();
        if (client.has_device() && !client.device().note.empty())
            fmt::print(around.err, "rdma-perf: note: {}\n", client.device().note);
    }
    return clients;
}

Result<std::vector<Client>> connect_clients(std::span<const std::string> hosts,
                                            uint16_t port,
                                            const SideOptions& side,
                                            const Surroundings& around,
                                            bool with_device) {
    std::vector<Control> controls;
    for (const std::string& host : hosts) {
        UniqueFd fd = TRY(connect_to(host, port, Deadline::in(side.timeout), around.stop));
        controls.emplace_back(std::move(fd), around.stop);
    }
    return start_clients(std::move(controls), side, around, with_device);
}

}  // namespace perf
