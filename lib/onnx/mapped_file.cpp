// SPDX-License-Identifier: Apache-2.0
#include "onnx/mapped_file.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::onnx {

Result<Shared<const MappedFile>, FileError> map_file(const std::string& path,
                                                     std::int64_t most_bytes) {
  const std::string name = in_quotes(path, 1000);
  const auto system_problem = [&](const char* what) {
    return fail(
        FileError{std::string(what) + " " + name + ": " + std::system_category().message(errno)});
  };
  if (path.find('\0') != std::string::npos) {
    return fail(FileError{"the name " + name + " is none of a file"});
  }
  // Without O_NONBLOCK the opening of a pipe waits for its other end.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return system_problem("cannot open");
  }
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) {
    Failure<FileError> problem = system_problem("cannot examine");
    ::close(descriptor);
    return problem;
  }
  std::string problem;
  if (!S_ISREG(facts.st_mode)) {
    problem = name + " is no regular file";
  } else if (facts.st_size == 0) {
    problem = name + " is empty";
  } else if (facts.st_size > most_bytes) {
    problem = name + " has " + std::to_string(facts.st_size) + " bytes, more than the " +
              std::to_string(most_bytes) + " that are read of such a file";
  }
  if (!problem.empty()) {
    ::close(descriptor);
    return fail(FileError{problem});
  }
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (memory == MAP_FAILED) {
    Failure<FileError> mapping = system_problem("cannot map");
    ::close(descriptor);
    return mapping;
  }
  ::close(descriptor);
  return Shared<const MappedFile>(
      make_shared_of<MappedFile>(std::string_view(static_cast<const char*>(memory), size)));
}

// Pages come from the file again if somebody reads them.
void MappedFile::drop() const {
  ::madvise(const_cast<char*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

MappedFile::~MappedFile() { ::munmap(const_cast<char*>(bytes_.data()), bytes_.size()); }

}  // namespace tensorsmith::onnx
