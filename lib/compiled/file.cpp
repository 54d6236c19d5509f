// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(TENSORSMITH_WITH_ZLIB)
#include <zlib.h>
#endif

#include "tensorsmith/support/quote.hpp"

namespace tensorsmith {
namespace file_detail {
namespace {

constexpr std::size_t longest_path = 1000;  // in messages

std::string name_of_file(const std::string& path) { return in_quotes(path, longest_path); }

Failure<FileError> problem(const std::string& path, const char* what) {
  return fail(FileError{std::string(what) + " " + name_of_file(path) + ": " +
                        std::system_category().message(errno)});
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { (void)close(); }
  int number() const { return number_; }
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

std::string size_text(std::int64_t bytes) {
  const bool is_whole_gib = bytes % (std::int64_t{1} << 30) == 0;
  const bool is_whole_mib = bytes % (std::int64_t{1} << 20) == 0;
  return is_whole_gib   ? std::to_string(bytes >> 30) + " GiB"
         : is_whole_mib ? std::to_string(bytes >> 20) + " MiB"
                        : std::to_string(bytes) + " bytes";
}

/// Counts what it is given, leaves the mark of UTF-8 out, and passes the rest on.
class Sink {
 public:
  Sink(const std::string& path, const FileLimits& limits,
       const Callback<void(std::string_view)>& take)
      : path_(path), limits_(limits), take_(take) {}

  /// Empty if all is well.
  std::string give(std::string_view bytes) {
    given_ += static_cast<std::int64_t>(bytes.size());
    if (given_ > limits_.most_bytes) {
      return name_of_file(path_) + " is larger than the " + size_text(limits_.most_bytes) +
             " that are read of such a file";
    }
    if (!limits_.is_text || has_begun_) {
      take_(bytes);
      return {};
    }
    start_.append(bytes);
    return start_.size() < 3 ? std::string() : begin();
  }
  std::string finish() { return has_begun_ || !limits_.is_text ? std::string() : begin(); }

 private:
  std::string begin() {
    has_begun_ = true;
    std::string_view text = start_;
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
      return name_of_file(path_) + " is UTF-16 text; save it as UTF-8";
    }
    if (text.starts_with("\xEF\xBB\xBF")) {
      text.remove_prefix(3);
    }
    if (!text.empty()) {
      take_(text);
    }
    start_.clear();
    return {};
  }

  const std::string& path_;
  const FileLimits& limits_;
  const Callback<void(std::string_view)>& take_;
  std::int64_t given_ = 0;
  bool has_begun_ = false;
  std::string start_;  // until it is known whether there is a mark
};

#if defined(TENSORSMITH_WITH_ZLIB)
/// Any number of gzip members, one behind the other.
class Unpacker {
 public:
  Unpacker() { is_good_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  ~Unpacker() { (void)inflateEnd(&stream_); }

  std::string give(const std::string& path, std::string_view packed, Sink& sink) {
    std::array<char, std::size_t{1} << 16> buffer;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    while (stream_.avail_in > 0 || is_full_) {
      if (is_at_end_ && (!is_good_ || inflateReset(&stream_) != Z_OK)) {
        break;
      }
      is_at_end_ = false;
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream_.avail_out = static_cast<uInt>(buffer.size());
      const int state = inflate(&stream_, Z_NO_FLUSH);
      if (!is_good_ || (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)) {
        return name_of_file(path) + " is damaged gzip" +
               (stream_.msg != nullptr ? std::string(": ") + stream_.msg : std::string());
      }
      is_full_ = stream_.avail_out == 0;
      const std::size_t made = buffer.size() - stream_.avail_out;
      if (made > 0) {
        if (std::string why = sink.give({buffer.data(), made}); !why.empty()) {
          return why;
        }
      }
      if (state == Z_STREAM_END) {
        is_at_end_ = true;
        is_full_ = false;
      } else if (state == Z_BUF_ERROR) {
        break;  // it wants more
      }
    }
    return {};
  }
  bool is_at_end() const { return is_at_end_; }

 private:
  z_stream stream_ = {};
  bool is_good_ = false, is_at_end_ = false, is_full_ = false;
};
#endif

/// Reads up to `size` bytes; -1 with errno.
ssize_t read_some(int file, char* to, std::size_t size) {
  for (;;) {
    const ssize_t count = ::read(file, to, size);
    if (count >= 0 || errno != EINTR) {
      return count;
    }
  }
}

/// Where a name leads to, as far as the links in it are known; itself where they cannot be
/// followed.
std::string target_of(const std::string& path) {
  constexpr int most_links = 40;
  std::error_code error;
  std::filesystem::path whole = path;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(whole, error); ++i) {
    whole = whole.parent_path() / std::filesystem::read_symlink(whole, error);  // to nowhere, too
  }
  whole = std::filesystem::weakly_canonical(whole, error);
  return error ? path : whole.string();
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// A new file beside `path`; its name is put into `name`.
int make_beside(const std::string& path, std::string& name) {
  for (int number = 0; number < 100; ++number) {
    name = path + ".new" + std::to_string(::getpid()) +
           (number == 0 ? std::string() : "-" + std::to_string(number));
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) {
      return file;
    }
  }
  return -1;
}

}  // namespace
}  // namespace file_detail

Result<Done, FileError> read_file_blocks(const std::string& path, const FileLimits& limits,
                                         const Callback<void(std::string_view)>& take) {
  using namespace file_detail;
  // Without O_NONBLOCK a pipe would be waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts {};
  if (file.number() < 0 || ::fstat(file.number(), &facts) != 0) {
    return problem(path, "cannot open");
  }
  if (!S_ISREG(facts.st_mode)) {
    return fail(FileError{name_of_file(path) + " is not a regular file"});
  }
  Sink sink(path, limits, take);
  // Files of /proc have no size and are short.
  const auto buffer = std::make_unique<std::array<char, std::size_t{1} << 16>>();
  bool is_first = true, is_packed = false;
#if defined(TENSORSMITH_WITH_ZLIB)
  Unpacker unpacker;
#endif
  for (;;) {
    const ssize_t count = read_some(file.number(), buffer->data(), buffer->size());
    if (count < 0) {
      return problem(path, "cannot read");
    }
    const std::string_view bytes(buffer->data(), static_cast<std::size_t>(count));
    if (is_first) {
      is_packed = limits.is_text && bytes.starts_with("\x1F\x8B");
      is_first = false;
      if (!is_packed && facts.st_size > limits.most_bytes) {
        return fail(FileError{name_of_file(path) + " has " + std::to_string(facts.st_size) +
                              " bytes, more than the " + size_text(limits.most_bytes) +
                              " that are read of such a file"});
      }
    }
    if (count == 0) {
      break;
    }
#if defined(TENSORSMITH_WITH_ZLIB)
    std::string why = is_packed ? unpacker.give(path, bytes, sink) : sink.give(bytes);
#else
    std::string why = is_packed ? name_of_file(path) +
                                      " is compressed (gzip), which this build cannot read: unpack "
                                      "it with gunzip, or build with zlib"
                                : sink.give(bytes);
#endif
    if (!why.empty()) {
      return fail(FileError{std::move(why)});
    }
  }
#if defined(TENSORSMITH_WITH_ZLIB)
  if (is_packed && !unpacker.is_at_end()) {
    return fail(FileError{name_of_file(path) + " is damaged gzip: its end is missing"});
  }
#endif
  if (std::string why = sink.finish(); !why.empty()) {
    return fail(FileError{std::move(why)});
  }
  return Done{};
}

Result<std::string, FileError> read_file(const std::string& path, const FileLimits& limits) {
  std::string text;
  const Result<Done, FileError> read =
      read_file_blocks(path, limits, [&text](std::string_view block) { text += block; });
  if (!read) {
    return fail(read.error());
  }
  return text;
}

Result<Done, FileError> write_file(const std::string& path, std::string_view bytes) {
  using namespace file_detail;
  struct stat facts {};
  const bool is_there = ::stat(path.c_str(), &facts) == 0;
  if (is_there && !S_ISREG(facts.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (file.number() < 0 || !write_all(file.number(), bytes) || !file.close()) {
      return problem(path, "cannot write");
    }
    return Done{};
  }
  const std::string target = target_of(path);
  if (is_there && ::access(target.c_str(), W_OK) != 0) {
    return problem(path, "cannot write");
  }
  std::string name;
  Descriptor file(make_beside(target, name));
  if (file.number() < 0) {
    return problem(path, "cannot write");
  }
  const bool is_written = (!is_there || ::fchmod(file.number(), facts.st_mode & 07777) == 0) &&
                          write_all(file.number(), bytes) && file.close() &&
                          std::rename(name.c_str(), target.c_str()) == 0;
  if (!is_written) {
    const int why = errno;
    (void)::unlink(name.c_str());
    errno = why;
    return problem(path, "cannot write");
  }
  return Done{};
}

std::string write_problem(const std::string& path) {
  using namespace file_detail;
  struct stat facts {};
  const bool is_there = ::stat(path.c_str(), &facts) == 0;
  if (is_there && S_ISDIR(facts.st_mode)) {
    errno = EISDIR;
    return problem(path, "cannot write").error.message;
  }
  const std::string target = target_of(path);
  if (is_there && ::access(target.c_str(), W_OK) != 0) {
    return problem(path, "cannot write").error.message;
  }
  if (is_there && !S_ISREG(facts.st_mode)) {
    return {};
  }
  std::string name;
  Descriptor file(make_beside(target, name));
  if (file.number() < 0) {
    return problem(path, "cannot write").error.message;
  }
  (void)::unlink(name.c_str());
  return {};
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat of_a {
  }, of_b{};
  if (::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0) {
    return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  }
  return file_detail::target_of(a) == file_detail::target_of(b);
}

}  // namespace tensorsmith
