# SPDX-License-Identifier: Apache-2.0
# Optional dependencies. Each sets TENSORSMITH_FOUND_<NAME>; nothing here is needed by core.

macro(tensorsmith_decide name found hint)
  # ${name}: option suffix; ${found}: whether it is there; ${hint}: what to install.
  if("${TENSORSMITH_WITH_${name}}" STREQUAL "OFF")
    set(TENSORSMITH_FOUND_${name} FALSE)
    set(_state "off (TENSORSMITH_WITH_${name}=OFF)")
  elseif(${found})
    set(TENSORSMITH_FOUND_${name} TRUE)
    set(_state "found")
  elseif("${TENSORSMITH_WITH_${name}}" STREQUAL "ON")
    message(FATAL_ERROR "TENSORSMITH_WITH_${name}=ON, but it was not found: install ${hint}")
  else()
    set(TENSORSMITH_FOUND_${name} FALSE)
    set(_state "not found: install ${hint}")
  endif()
  set(TENSORSMITH_STATE_${name} "${_state}")
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# LLVM
set(TENSORSMITH_LLVM_FOUND FALSE)
if(NOT TENSORSMITH_WITH_LLVM STREQUAL "OFF")
  include(find_llvm)
endif()
tensorsmith_decide(LLVM TENSORSMITH_LLVM_FOUND "llvm-19-dev (17 or newer)")
tensorsmith_note("LLVM ${TENSORSMITH_LLVM_VERSION}: ${_state}")

# CUDA: nothing is needed to build it; NVRTC and the driver are opened at run time. Where NVRTC is
# found now is only said in the summary.
set(_found TRUE)
tensorsmith_decide(CUDA _found "nothing")
set(TENSORSMITH_NVRTC_FOLDER "${CMAKE_CURRENT_SOURCE_DIR}/build/nvrtc")  # of setup.sh --nvrtc
if(TENSORSMITH_FOUND_CUDA)
  find_library(TENSORSMITH_NVRTC_LIBRARY
               NAMES nvrtc libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2
               HINTS ENV CUDA_HOME ENV CUDA_PATH
               PATHS /usr/local/cuda "${TENSORSMITH_NVRTC_FOLDER}" PATH_SUFFIXES lib64 lib)
  mark_as_advanced(TENSORSMITH_NVRTC_LIBRARY)
  if(TENSORSMITH_NVRTC_LIBRARY)
    set(_state "found (${TENSORSMITH_NVRTC_LIBRARY})")
  else()
    set(_state "not found: install the CUDA toolkit or run scripts/setup.sh --nvrtc")
  endif()
endif()
tensorsmith_note("CUDA NVRTC: ${_state}")

# Eigen
set(Eigen3_FOUND FALSE)
if(NOT TENSORSMITH_WITH_EIGEN STREQUAL "OFF")
  find_package(Eigen3 ${TENSORSMITH_MIN_EIGEN} QUIET CONFIG)
endif()
tensorsmith_decide(EIGEN Eigen3_FOUND "libeigen3-dev")
tensorsmith_note("Eigen: ${_state}")

# libxgboost: the C interface only
set(_found FALSE)
if(NOT TENSORSMITH_WITH_XGB STREQUAL "OFF")
  find_path(TENSORSMITH_XGBOOST_INCLUDE_DIR xgboost/c_api.h)
  find_library(TENSORSMITH_XGBOOST_LIBRARY xgboost)
  mark_as_advanced(TENSORSMITH_XGBOOST_INCLUDE_DIR TENSORSMITH_XGBOOST_LIBRARY)
  if(TENSORSMITH_XGBOOST_INCLUDE_DIR AND TENSORSMITH_XGBOOST_LIBRARY)
    set(_found TRUE)
  endif()
endif()
tensorsmith_decide(XGB _found "libxgboost-dev")
tensorsmith_note("libxgboost: ${_state}")

# nlohmann/json
set(nlohmann_json_FOUND FALSE)
if(NOT TENSORSMITH_WITH_JSON STREQUAL "OFF")
  find_package(nlohmann_json ${TENSORSMITH_MIN_JSON} QUIET CONFIG)
endif()
tensorsmith_decide(JSON nlohmann_json_FOUND "nlohmann-json3-dev")
tensorsmith_note("nlohmann/json: ${_state}")

# zlib: compressed logs and journals
find_package(ZLIB QUIET)
set(TENSORSMITH_FOUND_ZLIB ${ZLIB_FOUND})
if(ZLIB_FOUND)
  tensorsmith_note("zlib: found")
else()
  tensorsmith_note("zlib: not found: install zlib1g-dev")
endif()

# fmt and CLI11 (tools)
find_package(fmt ${TENSORSMITH_MIN_FMT} QUIET CONFIG)
set(TENSORSMITH_FOUND_FMT ${fmt_FOUND})
find_package(CLI11 ${TENSORSMITH_MIN_CLI11} QUIET CONFIG)
set(TENSORSMITH_FOUND_CLI11 ${CLI11_FOUND})
if(NOT fmt_FOUND)
  tensorsmith_note("fmt: not found: install libfmt-dev")
endif()
if(NOT CLI11_FOUND)
  tensorsmith_note("CLI11: not found: install libcli11-dev")
endif()

# tcmalloc, for programs that search: candidates are many small objects, and so is what LLVM makes of
# them. measured (4 s of search, four workloads, Xeon): a tenth more trials. Libraries leave it to
# whoever embeds them; sanitizers have an allocator of their own.
set(_found FALSE)
if(NOT TENSORSMITH_WITH_TCMALLOC STREQUAL "OFF" AND NOT TENSORSMITH_SANITIZE)
  find_library(TENSORSMITH_TCMALLOC_LIBRARY NAMES tcmalloc_minimal libtcmalloc_minimal.so.4)
  mark_as_advanced(TENSORSMITH_TCMALLOC_LIBRARY)
  if(TENSORSMITH_TCMALLOC_LIBRARY)
    set(_found TRUE)
  endif()
endif()
tensorsmith_decide(TCMALLOC _found "libgoogle-perftools-dev")
tensorsmith_note("tcmalloc: ${_state}")
function(tensorsmith_link_tcmalloc target scope)
  if(TENSORSMITH_FOUND_TCMALLOC)
    target_link_libraries(${target} ${scope} "${TENSORSMITH_TCMALLOC_LIBRARY}")
  endif()
endfunction()

# tensorsmith_link_found(TARGET): every dependency that was found, for programs.
function(tensorsmith_link_found target)
  if(TENSORSMITH_FOUND_FMT)
    target_link_libraries(${target} PRIVATE fmt::fmt)
  endif()
  if(TENSORSMITH_FOUND_CLI11)
    target_link_libraries(${target} PRIVATE CLI11::CLI11)
  endif()
  if(TENSORSMITH_FOUND_JSON)
    target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json)
  endif()
  if(TENSORSMITH_FOUND_LLVM)
    target_link_libraries(${target} PRIVATE tensorsmith_llvm)
  endif()
  if(TENSORSMITH_FOUND_EIGEN)
    target_link_libraries(${target} PRIVATE Eigen3::Eigen)
  endif()
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
endfunction()
