// SPDX-License-Identifier: Apache-2.0
// Steps that change nothing: they look whether what the steps before them made really works, and
// fail the attach if not, so that it is rolled back.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "hook/steps/step.h"
#include "netns/values/address.h"

namespace hook {

// A step without undo and without a place in the journal.
class Check : public Step {
  public:
    [[nodiscard]] bool changes() const final { return false; }

    Result<Undo> undo(Site&) const final { return Undo::gone(); }

    [[nodiscard]] Json save() const final { return Json::object(); }
};

// Kernels before 7.1 bind rxe's UDP port in the host's namespace alone: a link made in a
// container's looks healthy and carries nothing. The evidence is whether UDP 4791 is served there.
class CheckDataPath : public Check {
  public:
    struct Args {
        std::string problem;  // what to say if it is not
        std::string fix;
    };

    explicit CheckDataPath(Args args) : args_(std::move(args)) {}

    [[nodiscard]] std::string_view kind() const override { return "check_data_path"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;

  private:
    Args args_;
};

// Asks the segment, from the new interface, whether somebody has the addresses already: whoever
// takes them then breaks both. One that somebody has is noted in Site::in_use.
class ProbeAddresses : public Check {
  public:
    struct Args {
        uint32_t link = 0;  // index in the container
        std::vector<netns::Address> addresses;
        std::chrono::milliseconds wait{};  // for each
        std::string fix;                   // what to do if somebody has one
    };

    explicit ProbeAddresses(Args args) : args_(std::move(args)) {}

    [[nodiscard]] std::string_view kind() const override { return "probe_addresses"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;

  private:
    Args args_;
};

}  // namespace hook
