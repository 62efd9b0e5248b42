// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/place_file.h"

#include "hook/steps/process_json.h"
#include "netns/base/log.h"

namespace hook {

Result<std::unique_ptr<Step>> PlaceFile::load(const Json& json) {
    Args args;
    args.root.init = TRY(init_from_json(json));
    args.root.path = TRY(base::required<std::string>(json, "root"));
    args.what.source = TRY(base::required<std::string>(json, "source"));
    args.what.mount = TRY(base::required<std::string>(json, "mount"));
    args.what.folder = TRY(base::required<std::string>(json, "folder"));
    args.what.name = TRY(base::required<std::string>(json, "name"));
    args.optional = TRY(base::required<bool>(json, "optional"));
    return make_step<PlaceFile>(std::move(args));
}

std::string PlaceFile::describe() const {
    return "place " + args_.what.source + " in the container";
}

Result<> PlaceFile::apply(Site& site) const {
    auto done = site.host.placements.place(args_.root, args_.what);
    if (done || !args_.optional || done.error().code != base::Code::Unsupported)
        return done;
    base::log::warning(args_.what.name + " stays on the host: " + done.error().message());
    return {};
}

Result<Undo> PlaceFile::undo(Site& site) const {
    return undone_by(site.host.placements.remove(args_.root, args_.what));
}

Json PlaceFile::save() const {
    return base::object({{"init", to_json(args_.root.init)},
                         {"root", args_.root.path},
                         {"source", args_.what.source},
                         {"mount", args_.what.mount},
                         {"folder", args_.what.folder},
                         {"name", args_.what.name},
                         {"optional", args_.optional}});
}

}  // namespace hook
