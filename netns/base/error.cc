// SPDX-License-Identifier: Apache-2.0
#include "netns/base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sysexits.h>

namespace base {

namespace {
// Also handles numbers that the C library has no name for.
std::string text_of_errno(int number) {
    const char* text = strerrordesc_np(number);
    if (text == nullptr)
        return "errno " + std::to_string(number);
    // A confined process gets this errno, too (confine.h).
    constexpr char kRefused[] = " (if the program's own filter refused it, dmesg has type=1326)";
    return number == ENOSYS ? std::string(text) + kRefused : text;
}

struct CodeRow {
    Code code;
    std::string_view name;
    int exit;
};

// Kept equal to the table in docs/reference/exit-codes.md by a unit test.
constexpr CodeRow kCodes[] = {
    {Code::Internal, "internal", EX_SOFTWARE},
    {Code::Usage, "usage", EX_USAGE},
    {Code::BadInput, "bad_input", EX_DATAERR},
    {Code::BadConfig, "bad_config", EX_CONFIG},
    {Code::Refused, "refused", EX_NOPERM},
    {Code::Unsupported, "unsupported", EX_PROTOCOL},
    {Code::Busy, "busy", EX_CANTCREAT},
    {Code::Unavailable, "unavailable", EX_UNAVAILABLE},
    {Code::Timeout, "timeout", EX_TEMPFAIL},
    {Code::Kernel, "kernel", EX_OSERR},
};

const CodeRow& row(Code code) {
    for (const auto& entry : kCodes) {
        if (entry.code == code)
            return entry;
    }
    return kCodes[0];
}
}  // namespace

std::string_view code_name(Code code) {
    return row(code).name;
}

int exit_status(Code code) {
    return row(code).exit;
}

std::string Error::message() const {
    std::string line;
    for (auto frame = context.rbegin(); frame != context.rend(); ++frame)
        line += *frame + ": ";
    line += text;
    if (sys != 0)
        line += (text.empty() ? "" : ": ") + text_of_errno(sys);
    if (!extack.empty())
        line += " (" + printable(extack) + ")";
    for (const auto& other : also)
        line += "; also " + other.message();
    if (!fix.empty())
        line += "; " + fix;
    // Foreign paths and values may be in the text; the message must stay on one line.
    constexpr size_t kLongestLine = 4000;
    return printable(line, kLongestLine);
}

Error Error::in(std::string frame) && {
    context.push_back(std::move(frame));
    return std::move(*this);
}

Error Error::advise(std::string advice) && {
    if (fix.empty())
        fix = std::move(advice);
    return std::move(*this);
}

Error Error::as(Code kind, std::string advice) && {
    code = kind;
    return std::move(*this).advise(std::move(advice));
}

Error make_error(Code code, std::string text) {
    Error error;
    error.code = code;
    error.text = std::move(text);
    return error;
}

Error sys_error(int number, std::string what) {
    // Some user space drivers answer -EINVAL where libibverbs promises EINVAL.
    number = number < 0 ? -number : number;
    Error error = make_error(Code::Kernel, std::move(what));
    error.sys = number;
    return error;
}

Error sys_error(std::string what) {
    return sys_error(errno, std::move(what));
}

Error path_error(std::string what) {
    Error error = sys_error(std::move(what));
    if (error.sys == ENOENT || error.sys == ESRCH)
        error.code = Code::Unavailable;
    return error;
}

std::string printable(std::string_view text, size_t limit) {
    static constexpr char kHex[] = "0123456789abcdef";
    const auto is_shown = [](unsigned char byte) { return byte >= 0x20 && byte < 0x7f; };
    if (text.size() <= limit && std::ranges::all_of(text, is_shown))
        return std::string(text);
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (i == limit)
            return out + "...";
        const auto byte = static_cast<unsigned char>(text[i]);
        if (is_shown(byte)) {
            out += text[i];
        } else {
            out += "\\x";
            out += kHex[byte >> 4U];
            out += kHex[byte & 15U];
        }
    }
    return out;
}

}  // namespace base
