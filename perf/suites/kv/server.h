// SPDX-License-Identifier: Apache-2.0
// Service: the server's side of the key-value exercise: the table, a queue pair, and while GETs are
// asked for by SEND a thread that answers them.
#pragma once

#include <memory>

#include "perf/engine/crew.h"
#include "perf/suites/kv/link.h"
#include "perf/suites/kv/message.h"

namespace perf::kv {

class Service {
  public:
    // Table and queue pair, which is connected to the client's. `waiting` says how the thread waits
    // and whose words explain a failure; the device must live longer.
    static Result<std::unique_ptr<Service>> open(const Device& device,
                                                 const Opening& opening,
                                                 const DeviceInfo& peer,
                                                 uint32_t mtu,
                                                 const Waiting& waiting);

    // Of the queue pair and the table.
    [[nodiscard]] Endpoint endpoint() const;

    [[nodiscard]] const Waiting& waiting() const { return waiting_; }

    // Fills the table; by SEND, GETs are answered from now on, until the crew is closed.
    Result<> start(const Start& start);

    // Between start() and finish(); of method READ it has nobody.
    [[nodiscard]] Crew& crew() { return *crew_; }

    // Once the crew has ended: how many GETs it answered.
    uint64_t finish();

  private:
    Service(const Shape& shape, const Waiting& waiting, Region table, Region requests, Link link)
        : shape_(shape),
          waiting_(waiting),
          table_(std::move(table)),
          requests_(std::move(requests)),
          link_(std::move(link)) {}

    Ending answer(Crew::Hand& hand);

    Shape shape_;
    Waiting waiting_;
    Region table_;
    Region requests_;
    Link link_;                   // uses both
    std::unique_ptr<Crew> crew_;  // its thread uses all the above: goes first
};

}  // namespace perf::kv
