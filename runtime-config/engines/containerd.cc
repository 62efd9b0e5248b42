// SPDX-License-Identifier: Apache-2.0
// containerd and CRI-O. TOML is read, never written: an edit adds whole lines, and the resulting
// text is parsed before it is used.
//
// containerd (measured with 1.7.24): before 2.0 a drop-in that names a plugin replaces everything
// that the main file has for that plugin. So there the lines go into the main file. Any table in
// `runtimes` replaces the built-in runc.
//
// CRI-O does not start if `allowed_annotations` has a name that it does not know, and passes
// unknown annotations on. So none is listed.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include "netns/base/ids.h"
#include "runtime-config/engines/edit.h"

namespace engines {

namespace {
// ---- Lines of rdma-hook in files of others. Their first line has a checksum of the rest. Lines
// that match it are as rdma-hook wrote them, in whatever version, and may be replaced or removed.
constexpr std::string_view kBegin = "# rdma-hook begin ";
constexpr std::string_view kEnd = "# rdma-hook end\n";
constexpr size_t kChecksum = 16;

std::string checksum(std::string_view lines) {
    return base::sha256_hex(lines).substr(0, kChecksum);
}

// Finds the line at the start of a line.
size_t find_line(const std::string& text, std::string_view line, size_t from) {
    for (size_t at = text.find(line, from); at != std::string::npos; at = text.find(line, at + 1)) {
        if (at == 0 || text[at - 1] == '\n')
            return at;
    }
    return std::string::npos;
}

// Returns the lines with their marks.
std::string mark_lines(const std::string& lines) {
    return fmt::format(
        "{}{} (by `rdmactl runtime configure`, which takes it out with --unset)\n{}{}",
        kBegin,
        checksum(lines),
        lines,
        kEnd);
}

struct MarkedLines {
    size_t begin = 0;  // bytes from the file's start
    size_t end = 0;
    bool changed = false;  // the checksum does not match
};

// Finds the marked lines; nothing if there are none. BadInput: they begin twice, or do not end.
Result<std::optional<MarkedLines>> find_marked(const std::string& path, const std::string& text) {
    const size_t begin = find_line(text, kBegin, 0);
    if (begin == std::string::npos)
        return std::optional<MarkedLines>{};
    const size_t body = text.find('\n', begin);
    const size_t end = body == std::string::npos ? body : find_line(text, kEnd, body);
    if (end == std::string::npos || find_line(text, kBegin, begin + 1) != std::string::npos)
        return make_error(Code::BadInput,
                          path + ": `# rdma-hook begin` and `# rdma-hook end` do not go in pairs")
            .advise("take those lines, and what is between them, out by hand");
    const std::string_view lines = std::string_view(text).substr(body + 1, end - body - 1);
    const std::string_view noted = std::string_view(text).substr(begin + kBegin.size(), kChecksum);
    return std::optional(
        MarkedLines{.begin = begin, .end = end + kEnd.size(), .changed = noted != checksum(lines)});
}

// Returns the file with these lines in the place of the present ones, or at its end; without any if
// `lines` is nothing. Busy: the present ones were changed.
Result<std::string> put_marked(const EngineEdit& edit, const std::optional<std::string>& lines) {
    std::string text = edit.before.value_or("");
    const auto there = TRY(find_marked(edit.path, text));
    if (there && there->changed) {
        const std::string now = text.substr(there->begin, there->end - there->begin);
        if (lines && now.find(*lines) != std::string::npos)
            return text;  // all lines are there, with additions
        return make_error(Code::Busy, edit.path + ": rdmactl's lines have been changed since")
            .advise("take out by hand what is from `# rdma-hook begin` to `# rdma-hook end`");
    }
    const std::string marked = lines ? mark_lines(*lines) : "";
    if (there)
        return text.replace(there->begin, there->end - there->begin, marked);
    if (!marked.empty() && !text.empty() && text.back() != '\n')
        text += '\n';
    return text + marked;
}

// ---- containerd and CRI-O
constexpr char kDropIns[] = "/etc/containerd/conf.d/*.toml";

Result<toml::table> parse_toml(const std::string& path, const std::string& text) {
    toml::parse_result parsed = toml::parse(std::string_view(text), std::string_view(path));
    if (!parsed)
        return make_error(Code::BadInput,
                          fmt::format("{} is not valid TOML: line {}: {}",
                                      path,
                                      parsed.error().source().begin.line,
                                      base::printable(parsed.error().description())))
            .advise("correct that line");
    return std::move(parsed).table();
}

// The plugin's name in a file of version 2, and in one of version 3 or 4. There the first is the
// server's, and disables the plugin still.
constexpr char kPlugin2[] = "io.containerd.grpc.v1.cri";
constexpr char kPlugin3[] = "io.containerd.cri.v1.runtime";

struct Plugin {
    int64_t version = 2;
    const char* name = kPlugin2;
};

// A file without settings has no version yet.
Result<Plugin> plugin_of(const EngineEdit& edit, const toml::table& file) {
    const auto version = file["version"].value<int64_t>().value_or(file.empty() ? 2 : 1);
    if (version == 2)
        return Plugin{};
    if (version == 3 || version == 4)
        return Plugin{.version = version, .name = kPlugin3};
    return make_error(Code::Unsupported, fmt::format("{} is of version {}", edit.path, version))
        .advise("make one of version 2, 3 or 4: containerd config migrate");
}

struct Found {
    Plugin plugin;
    std::string default_runtime = "runc";
    bool has_default = false;     // the default runtime has an entry
    bool systemd_cgroup = false;  // the default runtime's setting
    bool has_name = false;        // the runtime of the edit has an entry
    bool disabled = false;        // the plugin is
    bool imports = false;
    bool needs_version = false;  // the file's version is, or would be, among the marked lines
};

Result<Found> look_at(const EngineEdit& edit, const toml::table& file) {
    Found found;
    found.plugin = TRY(plugin_of(edit, file));
    const auto containerd = file["plugins"][found.plugin.name]["containerd"];
    found.default_runtime =
        containerd["default_runtime_name"].value<std::string>().value_or(found.default_runtime);
    const auto runtimes = containerd["runtimes"];
    const auto usual = runtimes[found.default_runtime];
    found.has_default = usual.is_table();
    found.systemd_cgroup = usual["options"]["SystemdCgroup"].value<bool>().value_or(false);
    found.has_name = static_cast<bool>(runtimes[edit.name]);
    if (const toml::array* disabled = file["disabled_plugins"].as_array()) {
        for (const toml::node& each : *disabled) {
            const auto name = each.value<std::string>().value_or("");
            found.disabled =
                found.disabled || name == "cri" || name == kPlugin2 || name == found.plugin.name;
        }
    }
    const toml::array* imports = file["imports"].as_array();
    found.imports = imports != nullptr && !imports->empty();
    return found;
}

std::string containerd_lines(const Found& found, const Runtimes& ours) {
    const std::string runtimes =
        fmt::format("plugins.\"{}\".containerd.runtimes", found.plugin.name);
    std::string lines =
        found.needs_version ? fmt::format("version = {}\n", found.plugin.version) : "";
    if (found.plugin.version == 2 && found.default_runtime == "runc" && !found.has_default)
        lines += fmt::format(
            "[{}.runc]\n"
            "  runtime_type = \"io.containerd.runc.v2\"\n",
            runtimes);
    for (const auto& [name, program] : ours)
        lines += fmt::format(
            "[{0}.{1}]\n"
            "  runtime_type = \"io.containerd.runc.v2\"\n"
            "  pod_annotations = [\"rdma.*\"]\n"
            "  container_annotations = [\"rdma.*\"]\n"
            "  [{0}.{1}.options]\n"
            "    BinaryName = \"{2}\"\n{3}",
            runtimes,
            name,
            program,
            found.systemd_cgroup ? "    SystemdCgroup = true\n" : "");
    return lines;
}

std::string crio_lines(const Runtimes& ours) {
    std::string lines;
    for (const auto& [name, program] : ours)
        lines += fmt::format(
            "[crio.runtime.runtimes.{}]\n"
            "runtime_path = \"{}\"\n"
            "runtime_type = \"oci\"\n",
            name,
            program);
    return lines;
}

// Finds rdma-hook's among the runtimes of a table. `program` reads the path of one.
template <class Program>
void find_ours(const toml::table* runtimes, Runtimes& found, const Program& program) {
    if (runtimes == nullptr)
        return;
    for (const auto& [key, node] : *runtimes) {
        const std::string name(key.str());
        const auto path = program(toml::node_view<const toml::node>(node));
        if (path && is_ours(name, *path))
            found.emplace(name, *path);
    }
}

Runtimes find_containerd(const toml::table& file) {
    Runtimes found;
    for (const char* plugin : {kPlugin2, kPlugin3})
        find_ours(file["plugins"][plugin]["containerd"]["runtimes"].as_table(),
                  found,
                  [](const auto& entry) {
                      return entry["options"]["BinaryName"].template value<std::string>();
                  });
    return found;
}

Runtimes find_crio(const toml::table& file) {
    Runtimes found;
    find_ours(file["crio"]["runtime"]["runtimes"].as_table(), found, [](const auto& entry) {
        return entry["runtime_path"].template value<std::string>();
    });
    return found;
}

// Returns the runtimes that the marked lines have after the edit.
Result<Runtimes> edited_runtimes(const EngineEdit& edit, Runtimes (*find)(const toml::table&)) {
    Runtimes runtimes;
    const std::string text = edit.before.value_or("");
    if (const auto marked = TRY(find_marked(edit.path, text)))
        runtimes = find(
            TRY(parse_toml(edit.path, text.substr(marked->begin, marked->end - marked->begin))));
    if (edit.unset)
        runtimes.erase(edit.name);
    else
        runtimes[edit.name] = edit.program;
    return runtimes;
}

// Parses a file without the lines of rdma-hook.
Result<toml::table> parse_others(const std::string& path, const FileText& before) {
    std::string text = before.value_or("");
    if (const auto marked = TRY(find_marked(path, text)))
        text.erase(marked->begin, marked->end - marked->begin);
    return parse_toml(path, text);
}

Result<> check_not_default(const EngineEdit& edit, const Found& found) {
    if (edit.unset && found.default_runtime == edit.name)
        return make_error(Code::Busy,
                          fmt::format("{}: `default_runtime_name` is {}", edit.path, edit.name))
            .advise("set another one first");
    return {};
}

// Takes the marked lines out. A file that has nothing else was made by rdma-hook.
Result<Edited> without_lines(const EngineEdit& edit) {
    if (!edit.before)
        return Edited{};
    std::string text = TRY(put_marked(edit, std::nullopt));
    if (text.empty() && !edit.before->empty())
        return Edited{};
    return Edited{std::move(text), {}};
}

std::vector<std::string> notes_of(const Found& found, const EngineEdit& edit) {
    std::vector<std::string> notes;
    if (found.disabled)
        notes.push_back(edit.path +
                        " disables the plugin cri: Kubernetes has no use of containerd until "
                        "`disabled_plugins` is without it");
    if (found.imports && found.plugin.version == 2)
        notes.push_back(
            edit.path +
            " imports other files: before containerd 2.0 one that names the same plugin "
            "takes the place of all this; look at: containerd config dump");
    return notes;
}

// Checks that the lines have their meaning where they are. A table that was written inline, for
// example, cannot be extended by lines at the end.
Result<> check_result(const EngineEdit& edit, const std::string& text, const std::string& lines) {
    if (auto parsed = parse_toml(edit.path, text); !parsed)
        return make_error(Code::Unsupported,
                          edit.path + " cannot be extended by lines at its end: " +
                              parsed.error().message())
            .advise("write this where it belongs: " + lines);
    return {};
}
}  // namespace

Result<Edited> edit_containerd(const EngineEdit& edit) {
    const toml::table here = TRY(parse_others(edit.path, edit.before));
    const toml::table main =
        edit.main ? TRY(parse_others(edit.path, edit.main)) : toml::table(here);
    Found found = TRY(look_at(edit, main));
    found.needs_version = here.empty();
    const bool in_drop_in =
        static_cast<bool>(here["plugins"][found.plugin.name]["containerd"]["runtimes"][edit.name]);
    if (found.has_name || in_drop_in)
        return make_error(Code::Busy,
                          fmt::format("{}: the runtime {} is not rdmactl's", edit.path, edit.name))
            .advise("look at it, and take it out by hand");
    TRY(check_not_default(edit, found));
    const Runtimes runtimes = TRY(edited_runtimes(edit, find_containerd));
    if (runtimes.empty())
        return without_lines(edit);
    const std::string lines = containerd_lines(found, runtimes);
    std::string text = TRY(put_marked(edit, lines));
    TRY(check_result(edit, text, lines));
    return Edited{std::move(text), notes_of(found, edit)};
}

Result<bool> takes_drop_ins(const std::string& path, const std::string& text) {
    const toml::table file = TRY(parse_toml(path, text));
    const toml::array* imports = file["imports"].as_array();
    if (file["version"].value<int64_t>().value_or(1) < 3 || imports == nullptr ||
        TRY(find_marked(path, text)))
        return false;
    for (const toml::node& each : *imports) {
        if (each.value<std::string>().value_or("") == kDropIns)
            return true;
    }
    return false;
}

Result<Edited> edit_crio(const EngineEdit& edit) {
    const toml::table others = TRY(parse_others(edit.path, edit.before));
    if (!others.empty())
        return make_error(Code::Busy, edit.path + " has settings that are not rdmactl's")
            .advise("put them into another file of that folder");
    const Runtimes runtimes = TRY(edited_runtimes(edit, find_crio));
    if (runtimes.empty())
        return without_lines(edit);
    return Edited{TRY(put_marked(edit, crio_lines(runtimes))), {}};
}

Result<Runtimes> containerd_runtimes(const std::string& path, const FileText& text) {
    return find_containerd(TRY(parse_toml(path, text.value_or(""))));
}

Result<Runtimes> crio_runtimes(const std::string& path, const FileText& text) {
    return find_crio(TRY(parse_toml(path, text.value_or(""))));
}

Result<bool> has_crio_runtime(const std::string& path,
                              const std::string& text,
                              const std::string& name) {
    const toml::table file = TRY(parse_toml(path, text));
    return static_cast<bool>(file["crio"]["runtime"]["runtimes"][name]);
}

}  // namespace engines
