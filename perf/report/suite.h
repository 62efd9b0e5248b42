// SPDX-License-Identifier: Apache-2.0
// Suite: a command with a folder of its own below perf/suites, as the command line and the server
// know it: its folder defines an `extern const Suite`, and perf/command/commands.cc names that.
// ServerHalf: what a suite with messages of its own does at the server, from the one that opens it
// to the one that ends it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "perf/engine/crew.h"
#include "perf/measure/result.h"
#include "perf/report/document.h"

namespace CLI {
class App;
}

namespace perf {

// Threads that run, and how they wait; no crew: none run.
struct Busy {
    Crew* crew = nullptr;
    const Waiting* waiting = nullptr;
};

// What a session lends to a half. It lives longer.
struct Lent {
    Control* control = nullptr;
    const SideOptions* options = nullptr;
    const Device* device = nullptr;
    const DeviceInfo* peer = nullptr;
    Account* account = nullptr;
    // Waits until done(). A worker's failure is an error, and so is a client that speaks or goes.
    std::function<Result<>(const std::function<bool()>& done)> await;

    [[nodiscard]] Waiting waiting(const Poll& poll) const {
        return {.control = control, .device = device, .patience = options->timeout, .poll = poll};
    }
};

class ServerHalf {
  public:
    virtual ~ServerHalf() = default;

    // The answer to a message of the suite; not_due() if another is to come first.
    virtual Result<Json> answer(std::string_view type, const Json& frame) = 0;

    [[nodiscard]] virtual Busy busy() const { return {}; }
};

inline Error not_due(std::string_view type) {
    return protocol_error("control message '" + std::string(type) + "' is not due");
}

struct ServedSuite {
    std::string_view what;  // for the log: "serving ..."
    std::string_view capability;
    bool (*takes_part)(const SideOptions& options);  // and so has the capability
    std::span<const std::string_view> messages;      // the first one opens it, the last ends it
    std::unique_ptr<ServerHalf> (*make)(const Lent& lent);
};

// ---- the command --------------------------------------------------------------------------------
// Looks or measures, and puts what it found into the document, which is written even after an error.
using SuiteRun = std::function<Result<>(const LookOptions& look, Document& document)>;

struct Suite {
    std::string_view name;  // of the command, and the kind of its document
    std::string_view help;
    std::string_view host = {};  // help of the server that must be named; empty: --peer may be
    std::string_view port = {};  // help of --port; empty: there is none
    Result<> (*run)(const LookOptions& look, Document& document) = nullptr;
    // Instead of `run`, with options of its own: declares them. What it returns reads them, once the
    // command line is parsed.
    std::function<Result<SuiteRun>()> (*declare)(CLI::App& app) = nullptr;
    const ServedSuite* served = nullptr;  // its half of a server
};

}  // namespace perf
