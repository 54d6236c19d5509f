# SPDX-License-Identifier: Apache-2.0
# Finds the shared libLLVM (C API) of a new enough LLVM and defines tensorsmith_llvm, an imported
# interface target. Used by the build and by the installed package, so that both agree.
#   in:  TENSORSMITH_MIN_LLVM_MAJOR
#   out: TENSORSMITH_LLVM_FOUND, TENSORSMITH_LLVM_VERSION, TENSORSMITH_LLVM_LIBRARY
# LLVM's own package file is not imported: it drags in every library that LLVM was built with.
set(TENSORSMITH_LLVM_FOUND FALSE)
set(_tensorsmith_llvm_roots "")
if(DEFINED LLVM_ROOT)
  list(APPEND _tensorsmith_llvm_roots "${LLVM_ROOT}")
endif()
if(DEFINED LLVM_DIR AND LLVM_DIR MATCHES "^(.*)/lib[0-9]*/cmake/llvm/?$")
  list(APPEND _tensorsmith_llvm_roots "${CMAKE_MATCH_1}")
endif()
if(DEFINED ENV{LLVM_ROOT})
  list(APPEND _tensorsmith_llvm_roots "$ENV{LLVM_ROOT}")
endif()
foreach(_major 19 21 20 18 17)
  list(APPEND _tensorsmith_llvm_roots
       /usr/lib/llvm-${_major} /usr/lib64/llvm${_major} /opt/homebrew/opt/llvm@${_major})
endforeach()
list(APPEND _tensorsmith_llvm_roots /usr /usr/local ${CMAKE_PREFIX_PATH})
foreach(_root IN LISTS _tensorsmith_llvm_roots)
  set(_config "${_root}/include/llvm/Config/llvm-config.h")
  if(NOT EXISTS "${_config}" OR NOT EXISTS "${_root}/include/llvm-c/LLJIT.h")
    continue()
  endif()
  file(STRINGS "${_config}" _line REGEX "^#define LLVM_VERSION_STRING ")
  if(NOT _line MATCHES "\"([0-9]+)\\.([0-9]+)[^\"]*\"")
    continue()
  endif()
  set(_major "${CMAKE_MATCH_1}")
  set(_minor "${CMAKE_MATCH_2}")
  if(_major LESS TENSORSMITH_MIN_LLVM_MAJOR)
    continue()
  endif()
  set(_library "_library-NOTFOUND")
  find_library(_library NAMES LLVM-${_major} LLVM.${_major} "LLVM" "libLLVM.so.${_major}.${_minor}"
               PATHS "${_root}/lib" "${_root}/lib64" NO_DEFAULT_PATH NO_CACHE)
  if(NOT _library)
    continue()
  endif()
  set(TENSORSMITH_LLVM_FOUND TRUE)
  set(TENSORSMITH_LLVM_VERSION "${_major}.${_minor}")
  set(TENSORSMITH_LLVM_LIBRARY "${_library}")
  set(TENSORSMITH_LLVM_INCLUDE_DIR "${_root}/include")
  if(NOT TARGET tensorsmith_llvm)
    add_library(tensorsmith_llvm INTERFACE IMPORTED)
    set_target_properties(tensorsmith_llvm PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${_root}/include"
      INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_root}/include"
      INTERFACE_LINK_LIBRARIES "${_library}")
  endif()
  break()
endforeach()
