// SPDX-License-Identifier: Apache-2.0
// The verbs library of a container's image. libibverbs opens a device by the provider of its driver:
// /etc/libibverbs.d names the providers, and each is a library whose name ends in the private ABI
// of the libibverbs that it was built with ("librxe-rdmav34.so"). Without it programs see no
// device, and no error says why. The look costs a few calls, reads no file of the image, and
// follows nothing out of it (netns/image.h).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "hook/request/values.h"
#include "netns/image.h"
#include "runtime-config/oci/spec.h"

namespace hook {

// Returns the provider of a driver (RdmaDevices::driver()); empty for one that rdma-hook does not
// know.
std::string_view provider_of(std::string_view driver);

struct ImageVerbs {
    std::string library;            // "libibverbs.so.1.14.44.0"; empty: not in the usual folders
    std::string folder;             // of the library
    bool configured = false;        // libibverbs.d names the provider
    std::set<unsigned> abis;        // of the provider's libraries
    std::set<unsigned> other_abis;  // of the libraries of other providers
    std::string package;            // the one that has providers, in images with this folder
};

// Returns nothing if a mount hides what the image has, or if it cannot be looked at.
std::optional<ImageVerbs> look_at_image(const oci::Spec& spec,
                                        const std::string& bundle,
                                        std::string_view provider);

// Returns why programs of the image cannot open the device, and which package to install; nothing
// if they can, or if it has no library to do so.
std::optional<base::Error> image_lacks(const ImageVerbs& image,
                                       std::string_view provider,
                                       const std::string& device);

}  // namespace hook
