// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/gzip_text.hpp"

using namespace tensorsmith;

namespace {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tensorsmith-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string of(const std::string& name) const { return (path / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(of(name), std::ios::binary) << text;
    return of(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(of(name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path),
                                                  std::filesystem::directory_iterator()));
  }
  std::filesystem::path path;
};

std::string problem_of(const std::string& path, const FileLimits& limits = {}) {
  const Result<std::string, FileError> text = read_file(path, limits);
  return text ? std::string() : text.error().message;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("files are read whole, text without its mark") {
  const Folder folder;
  for (const std::string& text : {std::string(), std::string("a"), std::string("ab\n"),
                                  std::string(200'000, 'x'), std::string("\xEF\xBB", 2)}) {
    CHECK(*read_file(folder.write("f", text)) == text);
    CHECK(*read_file(folder.write("f", "\xEF\xBB\xBF" + text)) == text);
    CHECK(*read_file(folder.of("f"), {1 << 20, false}) == "\xEF\xBB\xBF" + text);
  }
  CHECK(has(problem_of(folder.write("wide", std::string("\xFF\xFE{\0", 4))), "UTF-16"));
}

TEST_CASE("compressed text is unpacked, or refused in words where it cannot be") {
  const Folder folder;
  const std::string text = "line\n" + std::string(150'000, 'y') + "\n";
  const std::string packed = test::gzip_text(text);
#ifdef TENSORSMITH_TEST_ZLIB
  CHECK(*read_file(folder.write("f.gz", packed)) == text);
  CHECK(*read_file(folder.write("f.gz", packed + packed)) == text + text);
  CHECK(read_file(folder.write("f.gz", test::gzip_text("")))->empty());
  CHECK(*read_file(folder.write("f.gz", test::gzip_text("\xEF\xBB\xBFz"))) == "z");
  for (const std::size_t length : {std::size_t{2}, std::size_t{12}, packed.size() - 1}) {
    CHECK(has(problem_of(folder.write("f.gz", packed.substr(0, length))), "damaged gzip"));
  }
  CHECK(has(problem_of(folder.write("f.gz", packed + "rest")), "damaged gzip"));
  std::string wrong = packed;
  wrong[wrong.size() - 6] = static_cast<char>(wrong[wrong.size() - 6] + 1);
  CHECK(has(problem_of(folder.write("f.gz", wrong)), "damaged gzip"));
  CHECK(has(problem_of(folder.write("f.gz", packed), {1000, true}), "larger than the 1000 bytes"));
#else
  CHECK(has(problem_of(folder.write("f.gz", packed)), "gunzip"));
#endif
  CHECK(*read_file(folder.write("f.gz", packed), {1 << 20, false}) == packed);
}

TEST_CASE("only regular files of a bounded size are read") {
  const Folder folder;
  REQUIRE(::mkfifo(folder.of("pipe").c_str(), 0600) == 0);
  CHECK(has(problem_of(folder.of("pipe")), "is not a regular file"));
  CHECK(has(problem_of(folder.path.string()), "is not a regular file"));
  CHECK(has(problem_of("/dev/zero"), "is not a regular file"));
  CHECK(has(problem_of("/dev/null"), "is not a regular file"));
  CHECK(has(problem_of(folder.of("none")), "No such file"));
  CHECK(has(problem_of(folder.of("none") + std::string(2000, 'x')), "bytes)"));
  const std::string large = folder.write("large", "");
  REQUIRE(::truncate(large.c_str(), std::int64_t{5} << 30) == 0);  // takes no room
  CHECK(has(problem_of(large), "more than the 4 GiB"));
  CHECK(has(problem_of(folder.write("small", "12345"), {4, true}), "more than the 4 bytes"));
  CHECK(*read_file(folder.of("small"), {5, true}) == "12345");
}

TEST_CASE("a written file takes the old one's place, and leaves it if it cannot") {
  const Folder folder;
  REQUIRE(write_file(folder.of("f"), "one"));
  CHECK(folder.read("f") == "one");
  REQUIRE(::chmod(folder.of("f").c_str(), 0640) == 0);
  REQUIRE(write_file(folder.of("f"), "two"));
  CHECK(folder.read("f") == "two");
  struct stat facts {};
  REQUIRE(::stat(folder.of("f").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0640);
  std::filesystem::create_symlink("f", folder.path / "link");
  REQUIRE(write_file(folder.of("link"), "three"));
  CHECK(std::filesystem::is_symlink(folder.path / "link"));
  CHECK(folder.read("f") == "three");
  std::filesystem::create_symlink("later", folder.path / "dangling");
  REQUIRE(write_file(folder.of("dangling"), "four"));
  CHECK(folder.read("later") == "four");
  CHECK(std::filesystem::is_symlink(folder.path / "dangling"));
  std::filesystem::remove(folder.path / "dangling");
  std::filesystem::remove(folder.path / "later");
  CHECK(folder.count() == 2);
  REQUIRE(write_file("/dev/null", "nothing"));
  CHECK_FALSE(write_file(folder.of("none") + "/f", "x"));
  CHECK_FALSE(write_file(folder.path.string(), "x"));
  CHECK(folder.count() == 2);
}

TEST_CASE("whether a file can be written is known without writing") {
  const Folder folder;
  folder.write("f", "text");
  CHECK(write_problem(folder.of("f")).empty());
  CHECK(write_problem(folder.of("new")).empty());
  CHECK(write_problem("/dev/null").empty());
  CHECK(has(write_problem(folder.of("none") + "/f"), "No such file"));
  CHECK(has(write_problem(folder.path.string()), "directory"));
  CHECK(folder.read("f") == "text");
  CHECK(folder.count() == 1);
}

TEST_CASE("a file is the same by all of its names") {
  const Folder folder;
  const std::string file = folder.write("f", "x");
  folder.write("other", "x");
  std::filesystem::create_symlink("f", folder.path / "link");
  std::filesystem::create_hard_link(file, folder.path / "hard");
  std::filesystem::create_symlink("later", folder.path / "dangling");
  CHECK(is_same_file(file, file));
  CHECK(is_same_file(file, folder.of("link")));
  CHECK(is_same_file(file, folder.of("hard")));
  CHECK(is_same_file(file, folder.of("./f")));
  CHECK_FALSE(is_same_file(file, folder.of("other")));
  CHECK_FALSE(is_same_file(file, folder.of("none")));
  CHECK(is_same_file(folder.of("none"), folder.of("x/../none")));
  CHECK(is_same_file(folder.of("dangling"), folder.of("later")));
}
