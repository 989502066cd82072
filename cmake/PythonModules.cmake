# pyfastdl/_core (pybind11, csrc/bindings) and the Cython modules.
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
find_package(pybind11 CONFIG REQUIRED)

file(GLOB bindings CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/csrc/bindings/*.cpp")
pybind11_add_module(_core NO_EXTRAS ${bindings})
target_link_libraries(_core PRIVATE pyfastdl_pipeline)
# Read once instead of once a file: most of what a binding costs the compiler.
target_precompile_headers(_core PRIVATE <pybind11/numpy.h> <pybind11/pybind11.h> <pybind11/stl.h>)
target_compile_definitions(_core PRIVATE PYFASTDL_VERSION="${SKBUILD_PROJECT_VERSION}")
# Instantiations of libstdc++'s templates are visible whatever -fvisibility says; the linker script hides them too.
set(pyfastdl_exports "${CMAKE_CURRENT_SOURCE_DIR}/cmake/exports.map")
target_link_options(_core PRIVATE "LINKER:--version-script=${pyfastdl_exports}")
set_target_properties(_core PROPERTIES LINK_DEPENDS "${pyfastdl_exports}")
install(TARGETS _core DESTINATION pyfastdl)

file(GLOB pyfastdl_pxi CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/pyfastdl/*.pxi")  # parts that modules include

# pyfastdl_cython(NAME): pyfastdl/NAME.pyx to an extension module.
function(pyfastdl_cython name)
  set(pyx "${CMAKE_CURRENT_SOURCE_DIR}/pyfastdl/${name}.pyx")
  set(c "${CMAKE_CURRENT_BINARY_DIR}/${name}.c")
  add_custom_command(OUTPUT "${c}" DEPENDS "${pyx}" ${pyfastdl_pxi} VERBATIM
    COMMAND "${Python_EXECUTABLE}" -m cython -3 --module-name pyfastdl.${name} "${pyx}" -o "${c}")
  python_add_library(${name} MODULE "${c}" WITH_SOABI)
  install(TARGETS ${name} DESTINATION pyfastdl)
endfunction()

file(GLOB pyx_files CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/pyfastdl" "${CMAKE_CURRENT_SOURCE_DIR}/pyfastdl/*.pyx")
foreach(pyx ${pyx_files})
  string(REPLACE ".pyx" "" name "${pyx}")
  pyfastdl_cython(${name})
endforeach()
