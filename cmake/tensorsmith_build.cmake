# SPDX-License-Identifier: Apache-2.0
# Helpers of the build: warnings, ccache, source lists, the summary.

set(TENSORSMITH_WARNINGS
  -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wimplicit-fallthrough
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports false positives of these in std::variant and std::vector at -O2.
  list(APPEND TENSORSMITH_WARNINGS -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds
       -Wno-stringop-overflow -Wno-stringop-overread)
endif()

function(tensorsmith_use_ccache)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  find_program(TENSORSMITH_CCACHE ccache)
  if(TENSORSMITH_CCACHE)
    # The sloppiness is what ccache's manual asks for with precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        ${TENSORSMITH_CCACHE} PARENT_SCOPE)
  endif()
endfunction()

# tensorsmith_other_compiler(OUT COMPILER): the launcher that puts another compiler in the place of the
# build's. clang takes half to a third of g++'s time for what is not optimised.
function(tensorsmith_other_compiler out compiler)
  set(${out} "${PROJECT_SOURCE_DIR}/scripts/compile_by.sh" "${compiler}" "${CMAKE_CXX_COMPILER}"
    ${CMAKE_CXX_COMPILER_LAUNCHER} PARENT_SCOPE)
endfunction()
set(TENSORSMITH_OTHER_COMPILER_OPTIONS -Wno-unknown-warning-option)  # g++ is told not to warn of more

# With TENSORSMITH_TEST_COMPILER, the targets of a folder that are made behind this call: by another
# user of the library than the compiler that made it.
macro(tensorsmith_use_test_compiler)
  if(TENSORSMITH_TEST_COMPILER)
    tensorsmith_other_compiler(CMAKE_CXX_COMPILER_LAUNCHER "${TENSORSMITH_TEST_COMPILER}")
    add_compile_options(${TENSORSMITH_OTHER_COMPILER_OPTIONS})
  endif()
endmacro()

# With TENSORSMITH_COLD_COMPILER, a library or program that no search waits for.
function(tensorsmith_cold target)
  if(TENSORSMITH_COLD_COMPILER)
    tensorsmith_other_compiler(launcher "${TENSORSMITH_COLD_COMPILER}")
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    target_compile_options(${target} PRIVATE -O0 ${TENSORSMITH_OTHER_COMPILER_OPTIONS})
  endif()
endfunction()

# For programs that gain nothing from more, tests and examples: their build is the longest part of a
# test run. What is run once is not optimised at all (see tensorsmith_optimised_first) unless it has
# the property TENSORSMITH_COMPUTES.
function(tensorsmith_optimise_less target scope)
  if(CMAKE_CXX_FLAGS_RELWITHDEBINFO MATCHES "-O2" AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    if(TENSORSMITH_RUN_ONCE)
      target_compile_options(${target} ${scope}
        "$<IF:$<BOOL:$<TARGET_PROPERTY:TENSORSMITH_COMPUTES>>,-O1,-O0>")
    else()
      target_compile_options(${target} ${scope} -O1)
    endif()
  endif()
endfunction()

# The library and its command with TENSORSMITH_RUN_ONCE: the compiler takes a third less for these
# options. What tests wait for (tensorsmith_compiled) stays optimised.
function(tensorsmith_optimise_library target)
  if(TENSORSMITH_RUN_ONCE AND NOT TENSORSMITH_SANITIZE AND
     CMAKE_CXX_FLAGS_RELWITHDEBINFO MATCHES "-O2" AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    target_compile_options(${target} PRIVATE
      $<$<NOT:$<STREQUAL:${target},tensorsmith_compiled>>:-O1> -g0)
  endif()
endfunction()

# For programs that are optimised less than the library: of two equal functions the linker keeps the
# first, and options stand before the objects of the program, so the library's own stay optimised.
function(tensorsmith_optimised_first target)
  set(first "")
  if(TENSORSMITH_SANITIZE OR TENSORSMITH_RUN_ONCE OR TENSORSMITH_COLD_COMPILER)
    set(first $<TARGET_OBJECTS:tensorsmith_compiled>)
  endif()
  if(TENSORSMITH_COLD_COMPILER)
    list(APPEND first $<TARGET_OBJECTS:tensorsmith_tune>)
  endif()
  if(first)
    target_link_options(${target} PRIVATE ${first})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${first})
  endif()
endfunction()

# With TENSORSMITH_RUN_ONCE: programs that are linked to be run a few times. Of a program of 85 MB
# nine tenths are information for debuggers, which take a twentieth of the compiler's time, and GNU's
# default linker takes ten times as long.
if(TENSORSMITH_RUN_ONCE)
  find_program(TENSORSMITH_FAST_LINKER NAMES ld.lld ld.gold)  # gold warns of sanitizers' symbols
  mark_as_advanced(TENSORSMITH_FAST_LINKER)
endif()
function(tensorsmith_run_once target scope)
  if(NOT TENSORSMITH_RUN_ONCE)
    return()
  endif()
  if(TENSORSMITH_FAST_LINKER MATCHES "ld\\.lld$" OR
     (TENSORSMITH_FAST_LINKER MATCHES "ld\\.gold$" AND NOT TENSORSMITH_SANITIZE))
    string(REGEX REPLACE ".*ld\\.([a-z]+)$" "\\1" linker "${TENSORSMITH_FAST_LINKER}")
    target_link_options(${target} ${scope} -fuse-ld=${linker})
  endif()
  if(NOT APPLE AND NOT TENSORSMITH_SANITIZE)  # reports of sanitizers name lines
    target_compile_options(${target} ${scope} -g0)
    target_link_options(${target} ${scope} "LINKER:--strip-debug")
  endif()
endfunction()

set_property(GLOBAL PROPERTY TENSORSMITH_SUMMARY "")
function(tensorsmith_note text)
  string(REPLACE ";" " " text "${text}")
  set_property(GLOBAL APPEND PROPERTY TENSORSMITH_SUMMARY "${text}")
endfunction()
function(tensorsmith_print_summary)
  get_property(lines GLOBAL PROPERTY TENSORSMITH_SUMMARY)
  message(STATUS "tensorsmith ${PROJECT_VERSION}")
  foreach(line IN LISTS lines)
    message(STATUS "  ${line}")
  endforeach()
endfunction()

# A source asks for dependencies by what it includes (<Eigen/...>, "cpu/..." for lib/cpu), by its name
# (x_llvm.cpp, x_llvm_test.cpp), or by a line
#   // requires: llvm json
# Known words: llvm cuda eigen (or mlp) xgb json (or records) cli11 fmt benchmark.
# tensorsmith_missing(OUT FILE): the words of FILE whose dependency was not found.
function(tensorsmith_missing out file)
  set(wanted "")
  get_filename_component(stem "${file}" NAME_WE)
  string(REGEX REPLACE "_test$" "" stem "${stem}")
  if(stem MATCHES "_(llvm|cuda|mlp|eigen|records|json)$")
    list(APPEND wanted "${CMAKE_MATCH_1}")
  endif()
  file(STRINGS "${file}" lines LIMIT_COUNT 4 REGEX "^// requires: ")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^// requires: +" "" line "${line}")
    string(REGEX REPLACE "[ ,.]+" ";" line "${line}")
    list(APPEND wanted ${line})
  endforeach()
  set(missing "")
  # A source that asks TENSORSMITH_HAS_... itself decides itself.
  file(STRINGS "${file}" guarded LIMIT_COUNT 1 REGEX "TENSORSMITH_HAS_|__has_include")
  set(lines "")
  if(NOT guarded)
    file(STRINGS "${file}" lines REGEX "^ *# *include [<\"]")
  endif()
  foreach(line IN LISTS lines)
    if(line MATCHES "<llvm-c/|\"(lib/)?cpu/|\"tensorsmith/host.hpp\"")
      list(APPEND wanted llvm)
    elseif(line MATCHES "<Eigen/|\"(lib/)?cost/|\"tensorsmith/cost/mlp.hpp\"")
      list(APPEND wanted eigen)
    elseif(line MATCHES "<xgboost/|\"tensorsmith/cost/xgb.hpp\"")
      list(APPEND wanted xgb)
    elseif(line MATCHES "<nlohmann/|\"(lib/)?record/")
      list(APPEND wanted json)
    elseif(line MATCHES "<benchmark/")
      list(APPEND wanted benchmark)
    elseif(line MATCHES "<fmt/")
      list(APPEND wanted fmt)
    elseif(line MATCHES "<CLI/")
      list(APPEND wanted cli11)
    elseif(line MATCHES "<nvrtc|\"(lib/|tensorsmith/)?cuda/")
      list(APPEND wanted cuda)
    endif()
  endforeach()
  foreach(word IN LISTS wanted)
    string(TOUPPER "${word}" upper)
    if(upper STREQUAL "MLP")
      set(upper EIGEN)
    elseif(upper STREQUAL "RECORDS")
      set(upper JSON)
    endif()
    if(NOT TENSORSMITH_FOUND_${upper})
      list(APPEND missing ${word})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES missing)
  set(${out} "${missing}" PARENT_SCOPE)
endfunction()

# tensorsmith_keep_found(OUT MISSING FILES): those of FILES whose dependencies were found; MISSING gets
# the dependencies that dropped a file.
function(tensorsmith_keep_found out out_missing found)
  set(kept "")
  set(all_missing "")
  foreach(file IN LISTS found)
    tensorsmith_missing(missing "${file}")
    if(missing)
      list(APPEND all_missing ${missing})
    else()
      list(APPEND kept "${file}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES all_missing)
  set(${out} "${kept}" PARENT_SCOPE)
  set(${out_missing} "${all_missing}" PARENT_SCOPE)
endfunction()

# tensorsmith_sources(OUT MISSING FOLDER): the same of FOLDER/*.cpp.
function(tensorsmith_sources out out_missing folder)
  file(GLOB found CONFIGURE_DEPENDS "${folder}/*.cpp")
  tensorsmith_keep_found(kept missing "${found}")
  set(${out} "${kept}" PARENT_SCOPE)
  set(${out_missing} "${missing}" PARENT_SCOPE)
endfunction()
