// SPDX-License-Identifier: Apache-2.0
#include "hook/state/store.h"

#include <gtest/gtest.h>

#include "netns/base/ids.h"
#include "tests/support/temp_dir.h"

namespace hook {
namespace {

Container container(const std::string& key) {
    return {.key = key,
            .bundle = "/b",
            .id = "id",
            .uuid = base::random_uuid(),
            .committed = false,
            .token = {.pid = 7, .start = 99},
            .netns_path = "/run/netns/x",
            .netns = netns::NetnsId{4, 0xf0000001},
            .attachments = {"4-f0000001-abc"},
            .limits = {{"4-f0000001-abc", {.handles = 3, .objects = 200}}},
            .created = 1,
            .grants = base::Json::array({{{"kind", "allow_device"}}})};
}

TEST(Store, RecordsSurviveTheDisk) {
    const test::TempDir dir;
    base::RealFiles files;
    const Store store{files, dir / "state"};
    ASSERT_TRUE(store.open());
    Container one = container("k1");
    ASSERT_TRUE(store.save_container(one));
    EXPECT_EQ(*store.pending_keys(), std::vector<std::string>{"k1"});
    EXPECT_EQ(**store.load_container("k1"), one);
    one.committed = true;
    ASSERT_TRUE(store.save_container(one));
    EXPECT_TRUE(store.pending_keys()->empty());
    EXPECT_EQ(**store.load_container("k1"), one);
    ASSERT_TRUE(store.remove_container("k1"));
    ASSERT_TRUE(store.remove_container("k1"));
    EXPECT_FALSE(*store.load_container("k1"));
}

TEST(Store, RecordsAreFoundByTheIdToo) {
    const test::TempDir dir;
    base::RealFiles files;
    const Store store{files, dir / "state"};
    EXPECT_TRUE(store.load_by_id("id")->empty()) << "nothing was attached since the boot";
    ASSERT_TRUE(store.open());
    Container other = container("k0");
    other.id = "id2";
    ASSERT_TRUE(store.save_container(other));
    Container one = container("k1");
    one.committed = true;
    ASSERT_TRUE(store.save_container(one));
    ASSERT_TRUE(store.save_container(container("k2")));
    ASSERT_TRUE(files.write(store.folder("pending") + "/k3.json", "{"));
    const auto found = store.load_by_id("id").value();
    ASSERT_EQ(found.size(), 2U) << "an unreadable one is none";
    EXPECT_EQ(found[0], one);
    EXPECT_EQ(found[1].key, "k2");
}

// As many as there are names: none waits for another's.
TEST(Store, EachNameHasALockOfItsOwn) {
    constexpr int kNames = 200;
    const test::TempDir dir;
    base::RealFiles files;
    const Store store{files, dir / "state"};
    ASSERT_TRUE(store.open());
    const auto now = base::Deadline::now();
    {
        std::vector<base::FileLock> held;
        for (int i = 0; i < kNames; ++i) {
            const std::string name = std::to_string(i);
            for (const auto& lock : {&Store::lock_container, &Store::lock_attachment}) {
                auto mine = (store.*lock)(name, now);
                ASSERT_TRUE(mine) << mine.error().message();
                held.push_back(*std::move(mine));
                EXPECT_EQ((store.*lock)(name, now).error().code, base::Code::Busy);
            }
        }
        EXPECT_EQ(files.list(store.folder("locks"))->size(), 2U * kNames);
    }
    EXPECT_TRUE(files.list(store.folder("locks"))->empty());
}

TEST(Store, ALockIsAFileOfItsFolderWhateverTheName) {
    const test::TempDir dir;
    base::RealFiles files;
    const Store store{files, dir / "state"};
    ASSERT_TRUE(store.open());
    const std::string odd = "../../x" + std::string(5000, 'y');
    const auto held = store.lock_attachment(odd, base::Deadline::now());
    ASSERT_TRUE(held) << held.error().message();
    EXPECT_EQ(files.list(store.folder("locks"))->front(), "attachment-" + base::sha256_hex(odd));
    const std::string key = container_key("/b");
    const std::string akey = attachment_key({4, 0xf0000001}, "rdma0");
    const auto one = store.lock_container(key, base::Deadline::now());
    const auto other = store.lock_attachment(akey, base::Deadline::now());
    ASSERT_TRUE(one && other);
    EXPECT_EQ(files.list(store.folder("locks"))->size(), 3U);
    EXPECT_TRUE(files.remove(store.folder("locks") + "/container-" + key));
    EXPECT_TRUE(files.remove(store.folder("locks") + "/attachment-" + akey));
    EXPECT_EQ(files.list(store.folder("locks"))->size(), 1U) << "no others are removed";
    EXPECT_EQ(files.list(dir.path())->size(), 1U);
}

TEST(Store, TheLockOfOneThatWasKilledIsSwept) {
    const test::TempDir dir;
    base::RealFiles files;
    const Store store{files, dir / "state"};
    ASSERT_TRUE(store.open());
    ASSERT_TRUE(files.write(store.folder("locks") + "/left", ""));
    ASSERT_TRUE(store.save_container(container("k2")));
    ASSERT_TRUE(store.lock_container("k2", base::Deadline::now()));
    const auto held = store.lock_container("k1", base::Deadline::now());
    ASSERT_TRUE(held);
    ASSERT_TRUE(store.sweep());
    EXPECT_EQ(files.list(store.folder("locks"))->size(), 2U) << "what is there, what is worked on";
    EXPECT_EQ(store.lock_container("k1", base::Deadline::now()).error().code, base::Code::Busy);
}

TEST(Store, ALockGoesWithWhatItGuards) {
    const test::TempDir dir;
    base::RealFiles files;
    const Store store{files, dir / "state"};
    ASSERT_TRUE(store.open());
    const auto locks = [&] { return files.list(store.folder("locks"))->size(); };
    Container one = container("k1");
    for (const bool committed : {false, true}) {
        one.committed = committed;
        ASSERT_TRUE(store.save_container(one));
        ASSERT_TRUE(store.lock_container("k1", base::Deadline::now()));
        EXPECT_EQ(locks(), 1U);
    }
    {
        const auto lock = store.lock_container("k1", base::Deadline::now());
        ASSERT_TRUE(lock && store.remove_container("k1"));
    }
    EXPECT_EQ(locks(), 0U);
}

// Commits the container at the moment when its pending record is looked for.
class CommitsMeanwhile : public base::RealFiles {
  public:
    Result<std::string> read(const std::string& path, size_t limit) override {
        if (path.find("/pending/") != std::string::npos && commit) {
            const auto now = std::exchange(commit, nullptr);
            now();
        }
        return RealFiles::read(path, limit);
    }

    std::function<void()> commit;
};

TEST(Store, AContainerThatCommitsWhileWeLookIsNotTakenForGone) {
    const test::TempDir dir;
    CommitsMeanwhile files;
    const Store store{files, dir / "state"};
    ASSERT_TRUE(store.open());
    Container one = container("k1");
    ASSERT_TRUE(store.save_container(one));
    files.commit = [&] {
        one.committed = true;
        EXPECT_TRUE(store.save_container(one));
    };
    const auto found = store.load_container("k1");
    ASSERT_TRUE(found);
    ASSERT_TRUE(*found);
    EXPECT_TRUE((*found)->committed);
}

// Notes what is read.
class Reads : public base::RealFiles {
  public:
    Result<std::string> read(const std::string& path, size_t limit) override {
        paths.push_back(path);
        return RealFiles::read(path, limit);
    }

    std::vector<std::string> paths;
};

TEST(Store, AHolderOfTheLockLooksOnceInEachFolder) {
    const test::TempDir dir;
    Reads files;
    const Store store{files, dir / "state"};
    ASSERT_TRUE(store.open());
    const auto lock = store.lock_container("k1", base::Deadline::now());
    ASSERT_TRUE(lock);
    EXPECT_FALSE(*store.load_container("k1", *lock));
    EXPECT_EQ(files.paths,
              (std::vector{store.folder("containers") + "/k1.json",
                           store.folder("pending") + "/k1.json"}));
    Container one = container("k1");
    ASSERT_TRUE(store.save_container(one));
    EXPECT_EQ(**store.load_container("k1", *lock), one);
    one.committed = true;
    ASSERT_TRUE(store.save_container(one));
    EXPECT_EQ(**store.load_container("k1", *lock), one);
}

TEST(Store, BrokenRecordsAreErrorsAndNeverNone) {
    const test::TempDir dir;
    base::RealFiles files;
    const Store store{files, dir / "state"};
    ASSERT_TRUE(store.open());
    for (const auto* text : {"", "{", "{}", R"({"format":2})", "[]"}) {
        ASSERT_TRUE(files.write(store.folder("containers") + "/k1.json", text));
        EXPECT_FALSE(store.load_container("k1")) << text;
    }
}

TEST(Store, AMemberOfAnotherKindIsAnError) {
    const test::TempDir dir;
    base::RealFiles files;
    const Store store{files, dir / "state"};
    ASSERT_TRUE(store.open());
    const base::Json good = to_json(container("k1"));
    const std::string path = store.folder("pending") + "/k1.json";
    ASSERT_TRUE(files.write(path, base::dump_json(good)));
    EXPECT_TRUE(store.load_container("k1"));
    for (const char* member : {"attachments", "grants", "limits", "netns", "key", "id"}) {
        for (const base::Json& other : {base::Json(), base::Json(7), base::Json("text")}) {
            base::Json bad = good;
            bad[member] = other;
            const bool same_kind = bad[member].type() == good[member].type();
            ASSERT_TRUE(files.write(path, base::dump_json(bad)));
            EXPECT_TRUE(!store.load_container("k1") || same_kind) << base::dump_json(bad);
        }
    }
    base::Json bad = good;
    bad["limits"]["4-f0000001-abc"] = "..";
    ASSERT_TRUE(files.write(path, base::dump_json(bad)));
    EXPECT_FALSE(store.load_container("k1"));
}

TEST(Store, KeysAreSafeInPaths) {
    EXPECT_EQ(container_key("/a/b").size(), 64U);
    const std::string akey = attachment_key({4, 0xf0000001}, "../../etc");
    EXPECT_EQ(akey.find('/'), std::string::npos);
    EXPECT_NE(akey, attachment_key({4, 0xf0000001}, "rdma0"));
    EXPECT_NE(akey, attachment_key({4, 0xf0000002}, "../../etc"));
    const std::string id(64, 'a');
    EXPECT_EQ(id_from_bundle("/var/lib/containers/storage/overlay-containers/" + id + "/userdata"),
              id);
    EXPECT_EQ(id_from_bundle("/elsewhere/" + id + "/userdata"), "");
    EXPECT_EQ(id_from_bundle("/overlay-containers/" + std::string(64, 'Z') + "/userdata"), "");
    EXPECT_EQ(id_from_bundle(""), "");
}

}  // namespace
}  // namespace hook
