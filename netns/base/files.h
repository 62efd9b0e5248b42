// SPDX-License-Identifier: Apache-2.0
// Files reads and writes the small files that hold rdma-hook's state. Writes are atomic (temporary
// file, rename), reads are bounded, and no call follows a symbolic link at the last component.
// Nothing is synced to a disk: state lives below /run, in memory, and ends with the boot, as the
// objects that it names do. Files of a process that dies stay. It is an interface, so that tests
// can fail or "crash" at any write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/result.h"

namespace base {

// The readers of a file: its owner (0600, 0700), or everybody (0644, 0755), for files that
// containers mount.
enum class Access { Private, Readable };

class Files {
  public:
    virtual ~Files() = default;

    // Returns the whole content. Code::Unavailable with ENOENT: no such file. BadInput: it is
    // larger than `limit` bytes.
    virtual Result<std::string> read(const std::string& path, size_t limit) = 0;

    // Replaces or makes the file atomically, 0600 or 0644.
    virtual Result<> write(const std::string& path, std::string_view content, Access access) = 0;

    Result<> write(const std::string& path, std::string_view content) {
        return write(path, content, Access::Private);
    }

    // Makes the file atomically with its content; Code::Busy (EEXIST) if there is one.
    virtual Result<> create(const std::string& path, std::string_view content) = 0;

    // Removes the file; one that is not there is no error.
    virtual Result<> remove(const std::string& path) = 0;

    // Moves a file within one file system, replacing the target.
    virtual Result<> rename(const std::string& from, const std::string& to) = 0;

    // Returns the names in a folder, sorted, without ".", ".." and temporary files of this class.
    virtual Result<std::vector<std::string>> list(const std::string& dir) = 0;

    // Removes the temporary files of dead writers from a folder. Returns their paths.
    virtual Result<std::vector<std::string>> sweep(const std::string& dir) = 0;

    // Makes a folder, 0700 or 0755, and its parents. It is no error if the folder is there, unless
    // it is a symbolic link or has another owner.
    virtual Result<> make_dir(const std::string& path, Access access) = 0;

    Result<> make_dir(const std::string& path) { return make_dir(path, Access::Private); }

    // Makes a symbolic link; Code::Busy (EEXIST) if the name is taken.
    virtual Result<> make_link(const std::string& path, const std::string& target) = 0;

    // Sets the SELinux label (the attribute security.selinux) of a file or folder, or of a link
    // itself.
    virtual Result<> set_label(const std::string& path, const std::string& label) = 0;

    // Removes a folder with all its content, following no link; a folder that is not there is no
    // error. BadInput: folders are nested deeper than any that this project makes.
    virtual Result<> remove_tree(const std::string& path) = 0;
};

class RealFiles : public Files {
  public:
    Result<std::string> read(const std::string& path, size_t limit) override;
    using Files::write;
    Result<> write(const std::string& path, std::string_view content, Access access) override;
    Result<> create(const std::string& path, std::string_view content) override;
    Result<> remove(const std::string& path) override;
    Result<> rename(const std::string& from, const std::string& to) override;
    Result<std::vector<std::string>> list(const std::string& dir) override;
    Result<std::vector<std::string>> sweep(const std::string& dir) override;
    using Files::make_dir;
    Result<> make_dir(const std::string& path, Access access) override;
    Result<> make_link(const std::string& path, const std::string& target) override;
    Result<> set_label(const std::string& path, const std::string& label) override;
    Result<> remove_tree(const std::string& path) override;
};

// True if the error says that a file is not there.
bool is_missing(const Error& error);

// Reads until the end of a descriptor, at most `limit` bytes: more is BadInput. `what` names the
// file in errors.
Result<std::string> read_all(int fd, size_t limit, std::string_view what);

// The same for a regular file, which ends where the kernel returns less than was asked for. Not for
// /proc: a seq_file stops at its own buffer.
Result<std::string> read_file(int fd, size_t limit, std::string_view what);

// Returns the names in an open folder, sorted, without "." and "..". `what` is the folder in
// errors. It asks the kernel itself (getdents64(2)), without libc's buffer: a hook reads some
// folders in every container start. BadInput: there are more than `most`.
Result<std::vector<std::string>> names_in(int folder,
                                          std::string_view what,
                                          size_t most = SIZE_MAX);

// Writes all bytes, through short writes and EINTR.
Result<> write_all(int fd, std::string_view content, std::string_view what);

}  // namespace base
