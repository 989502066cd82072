# The native libraries, each with the reason it is here and the packages that bring it.
#
# They come from the system or from conda: CMAKE_PREFIX_PATH, then CONDA_PREFIX when the environment is active.
if(DEFINED ENV{CONDA_PREFIX} AND NOT "$ENV{CONDA_PREFIX}" STREQUAL "")
  list(APPEND CMAKE_PREFIX_PATH "$ENV{CONDA_PREFIX}")
endif()

set(pyfastdl_missing "")

# pyfastdl_library(TARGET header library "what for" apt conda)
function(pyfastdl_library target header library reason apt conda)
  string(TOUPPER "PYFASTDL_${target}" var)
  find_path(${var}_INCLUDE_DIR NAMES ${header})
  find_library(${var}_LIBRARY NAMES ${library})
  mark_as_advanced(${var}_INCLUDE_DIR ${var}_LIBRARY)
  if(${var}_INCLUDE_DIR AND ${var}_LIBRARY)
    add_library(pyfastdl::${target} UNKNOWN IMPORTED)
    set_target_properties(pyfastdl::${target} PROPERTIES
      IMPORTED_LOCATION "${${var}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${${var}_INCLUDE_DIR}")
  else()
    set(pyfastdl_missing
      "${pyfastdl_missing}\n  ${header} (${reason}): apt install ${apt}  |  conda install -c conda-forge ${conda}"
      PARENT_SCOPE)
  endif()
endfunction()

pyfastdl_library(jpeg jpeglib.h jpeg "libjpeg-turbo decodes JPEG" libjpeg-dev libjpeg-turbo)
pyfastdl_library(png png.h png "libpng decodes PNG" libpng-dev libpng)
pyfastdl_library(webp webp/decode.h webp "libwebp decodes WebP" libwebp-dev libwebp)
pyfastdl_library(highway hwy/highway.h hwy "Highway picks SIMD kernels at run time" libhwy-dev libhwy)

if(pyfastdl_missing)
  message(FATAL_ERROR
    "pyfastdl needs these development files, which were not found:${pyfastdl_missing}\n"
    "Install them, or point CMAKE_PREFIX_PATH to where they are, and build again.")
endif()

# libjpeg-turbo, not the IJG's libjpeg: the core needs its extended colour spaces and partial decoding.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES "${PYFASTDL_JPEG_INCLUDE_DIR}")
set(CMAKE_REQUIRED_LIBRARIES "${PYFASTDL_JPEG_LIBRARY}")
check_c_source_compiles("
#include <stdio.h>
#include <jpeglib.h>
int main(void) { struct jpeg_decompress_struct s; (void)JCS_EXT_RGBX; return (int)jpeg_skip_scanlines(&s, 1); }"
  PYFASTDL_JPEG_IS_TURBO)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT PYFASTDL_JPEG_IS_TURBO)
  message(FATAL_ERROR
    "${PYFASTDL_JPEG_LIBRARY} is not libjpeg-turbo 1.5 or newer (jpeg_skip_scanlines is missing): "
    "apt install libjpeg62-turbo-dev (Debian) or libjpeg-turbo8-dev (Ubuntu)  |  conda install -c conda-forge libjpeg-turbo")
endif()
