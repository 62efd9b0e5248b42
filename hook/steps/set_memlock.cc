// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/set_memlock.h"

#include "hook/steps/process_json.h"

namespace hook {

Result<std::unique_ptr<Step>> SetMemlock::load(const Json& json) {
    Args args;
    args.init = TRY(init_from_json(json));
    args.before.soft = TRY(base::required<uint64_t>(json, "before_soft"));
    args.before.hard = TRY(base::required<uint64_t>(json, "before_hard"));
    args.bytes = TRY(base::required<uint64_t>(json, "bytes"));
    return make_step<SetMemlock>(args);
}

std::string SetMemlock::describe() const {
    return "set RLIMIT_MEMLOCK of the container";
}

Result<> SetMemlock::apply(Site& site) const {
    return site.host.processes.set_memlock(args_.init, {.soft = args_.bytes, .hard = args_.bytes});
}

Result<Undo> SetMemlock::undo(Site& site) const {
    auto done = site.host.processes.set_memlock(args_.init, args_.before);
    if (!done && done.error().code == base::Code::Unavailable)
        return Undo::gone();
    return undone_by(std::move(done));
}

Json SetMemlock::save() const {
    return base::object({{"init", to_json(args_.init)},
                         {"before_soft", args_.before.soft},
                         {"before_hard", args_.before.hard},
                         {"bytes", args_.bytes}});
}

}  // namespace hook
