// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/cgroup_tree.h"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "netns/base/files.h"

namespace netns {

namespace {
constexpr char kRoot[] = "/sys/fs/cgroup";
constexpr char kController[] = "rdma";
constexpr size_t kCgroupFileLimit = 1U << 16U;
constexpr size_t kFileLimit = 1U << 20U;  // rdma.max has a line of about 100 bytes a device
constexpr std::string_view kDeleted = " (deleted)";

Error unsupported(std::string text) {
    return make_error(Code::Unsupported, std::move(text))
        .advise(
            "boot with only cgroup v2 (systemd.unified_cgroup_hierarchy=1), or leave out "
            "rdma.max_hca_handles and rdma.max_hca_objects");
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const auto end = std::min(text.find(separator), text.size());
        if (end != 0)
            parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

// Opens a folder one step down.
Result<UniqueFd> step_down(const UniqueFd& from, const std::string& name) {
    UniqueFd folder{
        ::openat(from.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!folder)
        return path_error("open cgroup " + printable(name));
    return folder;
}

// Opens the cgroup's folder; no descriptor for the root.
Result<UniqueFd> walk_down(const UniqueFd& root, const std::string& path) {
    UniqueFd folder;
    for (const std::string& part : split(path, '/'))
        folder = TRY(step_down(folder ? folder : root, part));
    return folder;
}

Result<std::string> read_file(const UniqueFd& folder, const char* name) {
    const UniqueFd fd{::openat(folder.get(), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (!fd)
        return sys_error(fmt::format("open {}", name));
    std::string text = TRY(base::read_all(fd.get(), kFileLimit, name));
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

// Uses one write(2): the kernel takes a command whole or not at all.
Result<> write_file(const UniqueFd& folder, const char* name, const std::string& text) {
    const UniqueFd fd{::openat(folder.get(), name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (!fd)
        return sys_error(fmt::format("open {}", name));
    const ssize_t put = ::write(fd.get(), text.data(), text.size());
    if (put < 0)
        return sys_error(fmt::format("write '{}' to {}", text, name));
    if (static_cast<size_t>(put) != text.size())
        return make_error(Code::Kernel,
                          fmt::format("only part of '{}' was written to {}", text, name))
            .advise("start the container again; if it stays, report a defect of the kernel");
    return {};
}

Result<bool> lists_rdma(const UniqueFd& folder, const char* name) {
    const std::string text = TRY(read_file(folder, name));
    for (const std::string& controller : split(text, ' ')) {
        if (controller == kController)
            return true;
    }
    return false;
}

// The reasons that cgroup-v2.rst gives, in words.
Error explain(Error error, const std::string& where) {
    const char* why = "cannot hand the controller rdma down";
    if (error.sys == EBUSY)
        why = "has processes of its own, so that it cannot hand the controller rdma down";
    else if (error.sys == EOPNOTSUPP)
        why = "is threaded, so that it cannot hand the controller rdma down";
    else if (error.sys == ENOENT)
        why = "has no controller rdma to hand down";
    error.text = fmt::format("cgroup {} {} ({})", printable(where), why, error.text);
    return std::move(error).as(Code::Unsupported,
                               "give the container another --cgroup-parent, or leave out "
                               "rdma.max_hca_handles and rdma.max_hca_objects");
}

Result<> hand_down(const UniqueFd& folder, const std::string& where) {
    auto has = lists_rdma(folder, "cgroup.subtree_control");
    if (!has)
        return explain(std::move(has).error(), where);
    if (*has)
        return {};
    auto done = write_file(folder, "cgroup.subtree_control", "+rdma");
    return done ? Result<>{} : explain(std::move(done).error(), where);
}

std::string value_of(uint32_t limit) {
    return limit == kNoRdmaLimit ? "max" : std::to_string(limit);
}

std::string command_of(const RdmaLimit& limit) {
    std::string text = limit.device;
    if (limit.handles)
        text += " hca_handle=" + value_of(*limit.handles);
    if (limit.objects)
        text += " hca_object=" + value_of(*limit.objects);
    return text;
}

// Returns whether rdma.max has what was written: each word of the command is in the device's line.
bool says(const std::string& content, const std::string& command) {
    const auto wanted = split(command, ' ');
    for (const std::string& line : split(content, '\n')) {
        const auto words = split(line, ' ');
        if (words.empty() || words[0] != wanted[0])
            continue;
        for (const std::string& word : wanted) {
            if (std::find(words.begin(), words.end(), word) == words.end())
                return false;
        }
        return true;
    }
    return false;
}
}  // namespace

Result<CgroupTree> CgroupTree::at(const std::string& path) {
    UniqueFd root{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!root)
        return sys_error("open " + path);
    return CgroupTree{std::move(root)};
}

Result<CgroupTree> CgroupTree::host() {
    CgroupTree tree = TRY(at(kRoot));

    struct statfs fs {};

    if (::fstatfs(tree.root_.get(), &fs) != 0)
        return sys_error(std::string("examine ") + kRoot);
    if (fs.f_type != CGROUP2_SUPER_MAGIC)
        return unsupported(std::string(kRoot) + " is not cgroup v2: only that can limit RDMA");
    return tree;
}

Result<> CgroupTree::check_rdma() const {
    if (TRY(lists_rdma(root_, "cgroup.controllers")))
        return {};
    return unsupported(
        "cgroup v2 has no controller rdma here (CONFIG_CGROUP_RDMA, cgroup_disable=, or a v1 "
        "hierarchy has it)");
}

Result<> CgroupTree::enable_rdma(const std::string& path) const {
    std::string where = "/";
    UniqueFd below;
    for (const std::string& part : split(path, '/')) {
        const UniqueFd& here = below ? below : root_;
        TRY(hand_down(here, where));
        below = TRY(step_down(here, part));
        where += (where.size() > 1 ? "/" : "") + part;
    }
    return {};
}

Result<UniqueFd> CgroupTree::open(const std::string& path) const {
    const UniqueFd folder = TRY(walk_down(root_, path));
    UniqueFd opened{
        ::openat(folder ? folder.get() : root_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!opened)
        return sys_error("open cgroup " + printable(path));
    return opened;
}

Result<> CgroupTree::set_rdma_max(const std::string& path, const RdmaLimit& limit) const {
    if (limit.device.empty() || limit.device.find_first_of(" \n\t") != std::string::npos)
        return make_error(Code::BadInput,
                          "no RDMA device is called '" + printable(limit.device) + "'")
            .advise("name one of: rdma dev show");
    const UniqueFd folder = TRY(walk_down(root_, path));
    if (!folder)
        return make_error(Code::Unsupported, "the root cgroup cannot be limited")
            .advise("start the container in a cgroup of its own");
    const std::string command = command_of(limit);
    auto done = write_file(folder, "rdma.max", command);
    if (!done && done.error().sys == ENODEV)
        done.error().code = Code::Unavailable;
    TRY(std::move(done).context("cgroup " + printable(path)));
    const std::string content = TRY(read_file(folder, "rdma.max"));
    if (says(content, command))
        return {};
    return make_error(Code::Kernel,
                      fmt::format("rdma.max of cgroup {} does not keep '{}', it says '{}'",
                                  printable(path),
                                  command,
                                  printable(content)));
}

Result<std::string> parse_cgroup_path(std::string_view text) {
    for (const std::string& line : split(text, '\n')) {
        if (!line.starts_with("0::"))
            continue;
        std::string path = line.substr(3);
        if (path.ends_with(kDeleted))
            return make_error(Code::Unavailable, "cgroup " + printable(path))
                .advise("start the container again");
        if (!path.starts_with('/'))
            return make_error(Code::Internal,
                              "'" + printable(line) + "' is not as cgroups(7) says");
        for (const std::string& part : split(path, '/')) {
            if (part == "." || part == "..")
                return unsupported("cgroup " + printable(path) + " is outside of our namespace");
        }
        return path;
    }
    return unsupported("the container has no cgroup v2: only that can limit RDMA");
}

// Source: proc(5), /proc/PID/cgroup.
Result<std::string> cgroup_of(const std::string& process) {
    const std::string path = "/proc/" + process + "/cgroup";
    const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd)
        return path_error("open " + path);
    return parse_cgroup_path(TRY(base::read_all(fd.get(), kCgroupFileLimit, path))).context(path);
}

bool is_same_or_above(std::string_view path, std::string_view other) {
    return path == "/" || path == other ||
           (other.starts_with(path) && other.substr(path.size()).starts_with('/'));
}

namespace {
std::string parent_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

// A container whose init is systemd has another scope below, which that systemd made.
bool is_hosts_scope(std::string_view path) {
    return path.ends_with(".scope") && !path.ends_with("/init.scope");
}
}  // namespace

std::vector<std::string> own_cgroups_of(const std::string& path, const std::string& ours) {
    std::vector<std::string> own = {path};
    for (std::string up = path; !up.empty(); up = parent_of(up)) {
        if (up != path)
            own.push_back(up);
        if (is_hosts_scope(up) && !is_same_or_above(up, ours))
            return own;
    }
    return {path};
}

}  // namespace netns
