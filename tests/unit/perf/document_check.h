// SPDX-License-Identifier: Apache-2.0
// Holds documents to the schema that is published.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/schema_check.h"

namespace test {

inline std::string source_text(const std::string& path) {
    const std::ifstream file(SOURCE_DIR "/" + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline base::Json published_schema() {
    return base::parse_json(source_text("perf/schema/report.schema.json"), "schema").value();
}

inline std::vector<std::string> schema_problems(const base::Json& document) {
    SchemaCheck schema(published_schema());
    schema.check(document);
    return schema.problems();
}

}  // namespace test
