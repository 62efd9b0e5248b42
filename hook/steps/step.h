// SPDX-License-Identifier: Apache-2.0
// Step: one change of the outside world, as data. It is written to the journal before it is
// applied, read by another process, and undone there.
//
// The rules of rollback:
// 1. All steps of a plan, with everything that their undo needs, are on disk before the first is
//    applied.
// 2. However far the run got, undoing all of them in reverse gives the start: a step that was never
//    applied undoes to nothing. So no "done" marks are needed.
// 3. Objects are named by what rdma-hook chose for them (index, MAC, unique name), or by bus
//    address.
// 4. Undo stops at a step that cannot be undone, or whose change cannot be seen; the steps before
//    it stay, too. The journal keeps its claims and says why; gc or the next attach begins there.
// 5. The container's namespace is reached only through rdma-hook's pin, which is undone last.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/steps/site.h"
#include "netns/base/json.h"
#include "netns/values/address.h"

namespace hook {

using base::Json;

// What has become of a step's change.
struct Undo {
    enum class Answer {
        Gone,     // nothing of it was there
        Undone,   // it was taken back
        Unknown,  // it cannot be seen from here, and may be there all the same
    };

    Answer answer = Answer::Gone;
    std::string why = {};  // Unknown: what hides it, and what the operator can do

    static Undo gone() { return {}; }

    static Undo undone() { return {.answer = Answer::Undone}; }

    static Undo unknown(std::string why) {
        return {.answer = Answer::Unknown, .why = std::move(why)};
    }
};

// Undone once the call that takes it back has succeeded.
inline Result<Undo> undone_by(Result<> done) {
    return done ? Result<Undo>(Undo::undone()) : std::move(done).error();
}

class Step {
  public:
    Step() = default;
    virtual ~Step() = default;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    Step(Step&&) = delete;
    Step& operator=(Step&&) = delete;

    // Stable: it is in journals.
    [[nodiscard]] virtual std::string_view kind() const = 0;
    // One line, in the imperative: for plans, logs and the context of errors.
    [[nodiscard]] virtual std::string describe() const = 0;

    // False for a step that only looks or waits: it is not journaled.
    [[nodiscard]] virtual bool changes() const { return true; }

    // One kernel request, or one atomic change of a file.
    virtual Result<> apply(Site& site) const = 0;
    // Right after a full, a partial and an absent apply(); callable twice.
    virtual Result<Undo> undo(Site& site) const = 0;
    // The arguments; load_step(kind, ...) makes the step again.
    [[nodiscard]] virtual Json save() const = 0;
};

template <class S>
std::unique_ptr<Step> make_step(typename S::Args args) {
    return std::make_unique<S>(std::move(args));
}

// A step of the journal, or an error for an unknown kind or broken arguments.
Result<std::unique_ptr<Step>> load_step(const Json& json);
Json save_step(const Step& step);

// What an attachment turned out to be, as far as the plan knows it beforehand: enough to find the
// device again in another process.
struct Endpoint {
    Where where = Where::Container;
    uint32_t netdev = 0;        // index in that namespace
    std::string device;         // RDMA device name that we gave, or a hint
    std::string software = {};  // "rxe", "siw": what the plan makes; empty: a device that is there
    // The GID that the container is to use; nothing for a device without GIDs of addresses.
    std::optional<netns::Gid> gid;
    std::vector<netns::Address> addresses;
    bool moved = false;  // the RDMA device was moved into the namespace
    // Of a device that stays the host's: the index of its own netdev there. 0: it is on `netdev`.
    uint32_t hca_netdev = 0;
    // asap2: why the host forwards its packets in software; empty: hardware may.
    std::string software_path = {};
    bool operator==(const Endpoint&) const = default;
};

Json to_json(const Endpoint& endpoint);
Result<Endpoint> endpoint_from_json(const Json& json);

using Steps = std::vector<std::unique_ptr<Step>>;

struct Plan {
    Steps steps;
    Endpoint endpoint;
    // How many steps at the beginning reserve what was found while planning (the pin is one of
    // them): nobody may look for the like until they are applied.
    size_t claims = 0;

    template <class S>
    void add(typename S::Args args) {
        steps.push_back(make_step<S>(std::move(args)));
    }
};

}  // namespace hook
