// SPDX-License-Identifier: Apache-2.0
// The form of --help, the same for all programs: at most 80 columns, and no list of the options that
// one excludes, which the error of such a command line names.
#pragma once

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "netns/base/text.h"

namespace base {

class HelpFormatter : public CLI::Formatter {
  public:
    std::string make_help(const CLI::App* app,
                          std::string name,
                          CLI::AppFormatMode mode) const override {
        return wrap_help(CLI::Formatter::make_help(app, std::move(name), mode));
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        const std::string text = CLI::Formatter::make_option_opts(option);
        return text.substr(0, text.find(" Excludes:"));
    }
};

}  // namespace base
