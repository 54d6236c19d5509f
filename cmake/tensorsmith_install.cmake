# SPDX-License-Identifier: Apache-2.0
# Installation: headers, libraries, programs, the CMake package and tensorsmith.pc.
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tensorsmith")
set(_installed tensorsmith_core tensorsmith_all)
foreach(_name IN LISTS TENSORSMITH_LIBRARIES)
  list(APPEND _installed tensorsmith_${_name})
endforeach()
install(TARGETS ${_installed} EXPORT tensorsmithTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tensorsmith"
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.def")
set(TENSORSMITH_INSTALLED_WORKER "")  # below the prefix
if(TENSORSMITH_TOOLS)
  install(TARGETS ${TENSORSMITH_TOOLS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  foreach(_tool IN LISTS TENSORSMITH_TOOLS)
    get_target_property(_output ${_tool} OUTPUT_NAME)
    if(_output STREQUAL "tensorsmith-worker")
      set(TENSORSMITH_INSTALLED_WORKER "${CMAKE_INSTALL_BINDIR}/tensorsmith-worker")
    endif()
  endforeach()
  set_target_properties(${TENSORSMITH_TOOLS} PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()
# Information for debuggers is ten times as large as the code and stays in the build folder. The
# sources of an archive repeat inline functions of headers; joined to one object it has each once.
if(CMAKE_STRIP AND NOT TENSORSMITH_INSTALL_DEBUG)
  set(_files "")
  set(_archives "")
  foreach(_target IN LISTS _installed TENSORSMITH_TOOLS)
    get_target_property(_type ${_target} TYPE)
    if(_type STREQUAL "EXECUTABLE")
      list(APPEND _files "${CMAKE_INSTALL_BINDIR}/$<TARGET_FILE_NAME:${_target}>")
    elseif(NOT _type STREQUAL "INTERFACE_LIBRARY")
      list(APPEND _files "${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:${_target}>")
      if(_type STREQUAL "STATIC_LIBRARY" AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_LINKER)
        list(APPEND _archives "${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:${_target}>")
      endif()
    endif()
  endforeach()
  install(CODE "
    foreach(_file IN ITEMS ${_archives})
      set(_path \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${_file}\")
      set(_object \"\${_path}.joined.o\")
      execute_process(COMMAND \"${CMAKE_LINKER}\" -r --whole-archive \"\${_path}\" -o \"\${_object}\"
        RESULT_VARIABLE _failed OUTPUT_QUIET ERROR_QUIET)
      if(NOT _failed)  # else it stays as it is
        file(REMOVE \"\${_path}\")
        execute_process(COMMAND \"${CMAKE_AR}\" qcs \"\${_path}\" \"\${_object}\")
      endif()
      file(REMOVE \"\${_object}\")
    endforeach()
    foreach(_file IN ITEMS ${_files})
      set(_path \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${_file}\")
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \"\${_path}\")
    endforeach()
    message(STATUS \"Information for debuggers: taken out (TENSORSMITH_INSTALL_DEBUG=ON keeps it)\")")
endif()
install(EXPORT tensorsmithTargets NAMESPACE tensorsmith:: DESTINATION ${_package_dir})
# Why a component is missing: its name, then the sentence.
set(TENSORSMITH_LEFT_OUT_TEXT "")
set(_left_out ${TENSORSMITH_LEFT_OUT})
while(_left_out)
  list(POP_FRONT _left_out _name _word)
  string(APPEND TENSORSMITH_LEFT_OUT_TEXT
    "set(_tensorsmith_why_${_name} \"it was left out when this package was built: ${_word} ${TENSORSMITH_STATE_${_word}}\")\n")
endwhile()
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/tensorsmithConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/tensorsmithConfig.cmake" INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tensorsmithConfigVersion.cmake"
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/tensorsmithConfig.cmake"
  "${PROJECT_BINARY_DIR}/tensorsmithConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/find_llvm.cmake"
  DESTINATION ${_package_dir})
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE"
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

# pkg-config: users before used, so that a static link resolves in one pass.
set(TENSORSMITH_PC_LIBS "")
set(_order onnx graph tune report records worker cuda measure mlp xgb cpu compiled)
foreach(_name IN LISTS _order)
  if(TARGET tensorsmith_${_name})
    get_target_property(_type tensorsmith_${_name} TYPE)
    if(_type MATCHES "^(STATIC|SHARED)_LIBRARY$")
      string(APPEND TENSORSMITH_PC_LIBS " -ltensorsmith_${_name}")
    endif()
  endif()
endforeach()
set(TENSORSMITH_PC_CFLAGS " -DTENSORSMITH_COMPILED=1")
foreach(_pair cpu:LLVM mlp:EIGEN xgb:XGB records:JSON cuda:CUDA)
  string(REPLACE ":" ";" _pair "${_pair}")
  list(GET _pair 0 _name)
  list(GET _pair 1 _define)
  if(TARGET tensorsmith_${_name} AND TENSORSMITH_FOUND_${_define})
    string(APPEND TENSORSMITH_PC_CFLAGS " -DTENSORSMITH_HAS_${_define}=1")
  endif()
endforeach()
if(TENSORSMITH_PC_LIBS)
  set(TENSORSMITH_PC_LIBS "-L\${libdir}${TENSORSMITH_PC_LIBS}")
  if(TARGET tensorsmith_cpu)
    string(APPEND TENSORSMITH_PC_LIBS " ${TENSORSMITH_LLVM_LIBRARY}")
  endif()
  if(TENSORSMITH_FOUND_ZLIB)
    string(APPEND TENSORSMITH_PC_LIBS " -lz")
  endif()
  if(TENSORSMITH_FOUND_XGB)
    string(APPEND TENSORSMITH_PC_LIBS " -lxgboost")
  endif()
  string(APPEND TENSORSMITH_PC_LIBS " -lrt -ldl -pthread")
endif()
# Relative to the file itself, so that the tree can be moved.
file(RELATIVE_PATH TENSORSMITH_PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
configure_file("${PROJECT_SOURCE_DIR}/cmake/tensorsmith.pc.in"
  "${PROJECT_BINARY_DIR}/tensorsmith.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tensorsmith.pc"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
