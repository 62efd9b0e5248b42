// SPDX-License-Identifier: Apache-2.0
#include "perf/report/document.h"

#include "perf/protocol/message.h"
#include "perf/report/output.h"

namespace perf {

Json head_of(std::string_view kind, const std::string& started) {
    return {{"schema", kSchema},
            {"kind", kind},
            {"tool", {{"name", "rdma-perf"}, {"version", RDMA_VERSION}}},
            {"started", started}};
}

Json errors_json(const std::optional<Error>& error) {
    Json errors = Json::array();
    if (!error)
        return errors;
    const Error known = explain_input(*error);
    errors.push_back(
        {{"code", base::code_name(known.code)}, {"text", known.message()}, {"fix", known.fix}});
    return errors;
}

Json to_json(const Document& document, const std::optional<Error>& error) {
    Json out = head_of(document.kind, document.started);
    out.update(document.members);
    out["errors"] = errors_json(error);
    return out;
}

Exit complain(const Error& error, Exit exit, const Surroundings& around) {
    print(around.err, "rdma-perf: " + explain_input(error).message() + "\n");
    return exit == Exit::Ok ? exit_of(error) : exit;
}

Exit conclude(const Document& document,
              const Result<>& done,
              Exit exit,
              const std::string& json,
              const Surroundings& around) {
    if (!done)
        exit = complain(done.error(), exit, around);
    if (json.empty())
        return exit;
    const auto error = done ? std::nullopt : std::optional(done.error());
    const auto written = write_document(to_json(document, error), json, around.out);
    return written ? exit : complain(written.error(), exit, around);
}

}  // namespace perf
