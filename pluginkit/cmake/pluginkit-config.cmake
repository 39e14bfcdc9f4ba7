# pluginkit's CMake package: build a TensorRT plugin library from plain .cpp and .cu sources.
#
#   find_package(pluginkit REQUIRED)
#   pluginkit_add_plugin(my_plugin NAME MyPlugin SOURCES src/my_plugin.cpp src/my_plugin.cu)
#   pluginkit_add_python_module(my_plugin PLUGIN my_plugin SOURCES python/my_plugin.cpp)
#
# A project that has its own way to build a plugin library adds one line a target, and changes nothing else:
#
#   pluginkit_test_plugin(existing_target)
#
# Cache variables (`pluginkit build` sets them; by hand only what differs from what is found):
#   PLUGINKIT_TARGET              cpu: the .cu sources run on the host, by pluginkit's CUDA-on-CPU layer (default);
#                                 gpu: nvcc.
#   PLUGINKIT_WERROR              Warnings in the project's sources are errors.
#   PLUGINKIT_SANITIZE            Checks compiled into a library of target cpu: address, undefined, or thread and memory (the
#                                 same instrumentation); `pluginkit test --sanitize` runs it. Or coverage: counted edges,
#                                 by clang++, for `pluginkit check --fuzz`, which brings libFuzzer into the process.
#   PLUGINKIT_TUNING_MANIFEST     A pluginkit.toml for which, in the place of what its [tuning] makes, there is the header
#   PLUGINKIT_TUNING_HEADER       of that path: `pluginkit tune` sets both.
#   PLUGINKIT_PYTHON              The Python that has pluginkit; it runs the CUDA-on-CPU compiler.
#   PLUGINKIT_CUDA_INCLUDE_DIRS   CUDA's headers.
#   PLUGINKIT_CPU_RUNTIME_DIR     Folder of the runtime that libraries of target cpu are linked with.
#   PLUGINKIT_LAYOUTS             The layouts of TensorRT's plugin classes (majors) that a library holds, the newest first.
#   PLUGINKIT_TRT<major>_INCLUDE_DIR  Folder of a TensorRT SDK's NvInfer.h of that major; empty: pluginkit's own headers.
#   PLUGINKIT_PYTHON_INCLUDE_DIR  Folder of the Python.h that modules are compiled against; empty: there is none, and no module.
#   PLUGINKIT_PYTHON_SUFFIX       How that Python's modules end: .cpython-312-x86_64-linux-gnu.so
#   PLUGINKIT_PYBIND11_INCLUDE_DIR
#
# pluginkit_add_plugin is made of the smaller functions below, which are there for projects that need something else.

cmake_minimum_required(VERSION 3.24)

# ---------------------------------------------------------------------------------------------------------------------
# What is on this machine
# ---------------------------------------------------------------------------------------------------------------------

set(PLUGINKIT_TARGET cpu CACHE STRING "What the .cu sources are compiled for: cpu or gpu")
set_property(CACHE PLUGINKIT_TARGET PROPERTY STRINGS cpu gpu)
option(PLUGINKIT_WERROR "Warnings in the project's sources are errors" OFF)

if(NOT PLUGINKIT_TARGET MATCHES "^(cpu|gpu)$")
    message(FATAL_ERROR "PLUGINKIT_TARGET is '${PLUGINKIT_TARGET}'; it must be cpu or gpu.")
endif()
if(NOT CMAKE_CXX_COMPILER_LOADED)
    message(FATAL_ERROR "find_package(pluginkit) comes before C++ is enabled: put project(<name> LANGUAGES CXX) above it.")
endif()
get_property(_pluginkit_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(_pluginkit_multi_config)
    message(FATAL_ERROR "pluginkit builds one configuration at a time; the generator '${CMAKE_GENERATOR}' has several. "
        "Use -G Ninja or -G \"Unix Makefiles\".")
endif()
unset(_pluginkit_multi_config)

get_filename_component(PLUGINKIT_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(PLUGINKIT_INCLUDE_DIR "${PLUGINKIT_ROOT}/include")

# Discovery is written once, in Python. `pluginkit build` has handed over its result; otherwise ask for it.
if(NOT DEFINED PLUGINKIT_PYTHON)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(PLUGINKIT_PYTHON "${Python3_EXECUTABLE}" CACHE FILEPATH "The Python that has pluginkit")
endif()
if(NOT DEFINED PLUGINKIT_FOUND_FOR)
    execute_process(
        COMMAND "${PLUGINKIT_PYTHON}" -m pluginkit.build.cache "${PLUGINKIT_TARGET}"
        OUTPUT_FILE "${CMAKE_BINARY_DIR}/pluginkit-found.cmake"
        ERROR_VARIABLE _pluginkit_error
        RESULT_VARIABLE _pluginkit_result)
    if(NOT _pluginkit_result EQUAL 0)
        message(FATAL_ERROR "'${PLUGINKIT_PYTHON} -m pluginkit.build.cache' could not say what is on this machine. "
            "If that Python lacks pluginkit, give another by -DPLUGINKIT_PYTHON=...\n${_pluginkit_error}")
    endif()
    # What was given by -D stays.
    include("${CMAKE_BINARY_DIR}/pluginkit-found.cmake")
    unset(_pluginkit_error)
    unset(_pluginkit_result)
elseif(NOT PLUGINKIT_FOUND_FOR STREQUAL PLUGINKIT_TARGET)
    message(FATAL_ERROR "${CMAKE_BINARY_DIR} was configured for target ${PLUGINKIT_FOUND_FOR}; give target ${PLUGINKIT_TARGET} "
        "a build folder of its own, or begin again by cmake --fresh.")
endif()

# CMake's own belong to the compiler, also to one for another machine. For clang++ they may be LLVM's; what is done with them
# below is GNU's.
if(CMAKE_LINKER MATCHES "^(.*/)([^/]*-)?ld(\\.bfd)?$")
    find_program(PLUGINKIT_LD NAMES "${CMAKE_MATCH_2}ld.bfd" "${CMAKE_MATCH_2}ld" HINTS "${CMAKE_MATCH_1}"
        NO_CMAKE_FIND_ROOT_PATH DOC "GNU ld, for joining the objects of one layout")
else()
    find_program(PLUGINKIT_LD NAMES ld.bfd ld DOC "GNU ld, for joining the objects of one layout")
endif()
if(CMAKE_OBJCOPY AND NOT CMAKE_OBJCOPY MATCHES "llvm-objcopy")
    set(PLUGINKIT_OBJCOPY "${CMAKE_OBJCOPY}" CACHE FILEPATH "GNU objcopy, for hiding one layout's names from the other")
else()
    find_program(PLUGINKIT_OBJCOPY NAMES objcopy DOC "GNU objcopy, for hiding one layout's names from the other")
endif()
if(NOT PLUGINKIT_LD OR NOT PLUGINKIT_OBJCOPY)
    message(FATAL_ERROR "ld or objcopy of ${CMAKE_CXX_COMPILER} is missing; both come with binutils: apt install binutils")
endif()

# A language can't be enabled in a function, so it is done here, in the scope of the project's CMakeLists.txt.
if(PLUGINKIT_TARGET STREQUAL "gpu")
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}" CACHE FILEPATH "The C++ compiler that nvcc calls")
    enable_language(CUDA)
endif()

# ---------------------------------------------------------------------------------------------------------------------
# Public functions
# ---------------------------------------------------------------------------------------------------------------------

# pluginkit_add_plugin(<slug> NAME <Name> SOURCES <file>...)
#
# Makes the target <slug>: lib<slug>.so, which exports getCreators, setLoggerFinder and init<Name>Plugins and holds the
# plugin for each layout in PLUGINKIT_LAYOUTS; with PLUGINKIT_SANITIZE, for the newest alone. <Name> is the
# first argument of PLUGINKIT_PLUGINS(...). target_include_directories, target_compile_definitions,
# target_compile_options and target_link_libraries on <slug> hold for all of its sources, in all layouts and on both
# targets.
function(pluginkit_add_plugin slug)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "SOURCES")
    _pluginkit_check_arguments()

    set(cpp_sources ${arg_SOURCES})
    list(FILTER cpp_sources INCLUDE REGEX "\\.(cpp|cc|cxx)$")
    set(cu_sources ${arg_SOURCES})
    list(FILTER cu_sources INCLUDE REGEX "\\.cu$")

    # A build with checks compiled in, which takes several times as long, has the one layout that pluginkit's host calls.
    set(layouts ${PLUGINKIT_LAYOUTS})
    list(GET layouts 0 newest)
    if(PLUGINKIT_SANITIZE AND NOT "coverage" IN_LIST PLUGINKIT_SANITIZE)
        set(layouts ${newest})
    endif()
    _pluginkit_signatures(signatures ${arg_SOURCES})
    set(headers_from)
    set(joined)
    foreach(layout IN LISTS layouts)
        pluginkit_layout_headers(${layout} headers from)
        list(APPEND headers ${signatures})
        list(APPEND headers_from "${layout}=${from}")
        # The newest layout makes the exports, and is what .cu sources and editors see.
        set(defines PLUGINKIT_TRT_LAYOUT=${layout})
        if(layout EQUAL newest)
            set(cu_headers ${headers})
        else()
            list(APPEND defines PLUGINKIT_SECONDARY)
        endif()
        if(PLUGINKIT_TARGET STREQUAL "cpu")
            pluginkit_cpu_objects(objects ${slug} layout${layout} SOURCES ${cpp_sources} HEADERS ${headers} DEFINES ${defines})
        else()
            pluginkit_gpu_objects(${slug}_layout${layout} ${slug} SOURCES ${cpp_sources} HEADERS ${headers} DEFINES ${defines})
            set(objects $<TARGET_OBJECTS:${slug}_layout${layout}>)
        endif()
        if(layout EQUAL newest)
            set(newest_objects ${objects})
        else()
            pluginkit_join_objects("${CMAKE_CURRENT_BINARY_DIR}/${slug}-layout${layout}.o" ${objects})
            list(APPEND joined "${CMAKE_CURRENT_BINARY_DIR}/${slug}-layout${layout}.o")
        endif()
    endforeach()

    if(PLUGINKIT_TARGET STREQUAL "cpu")
        pluginkit_cpu_objects(cu_objects ${slug} once SOURCES ${cu_sources} HEADERS ${cu_headers})
        add_library(${slug} SHARED ${newest_objects} ${cu_objects} ${joined})
        set_target_properties(${slug} PROPERTIES LINKER_LANGUAGE CXX)
        pluginkit_link_cpu_runtime(${slug})
        pluginkit_editor_commands(${slug} SOURCES ${arg_SOURCES} HEADERS ${cu_headers}
            DEFINES PLUGINKIT_TRT_LAYOUT=${newest})
    else()
        pluginkit_gpu_objects(${slug}_once ${slug} SOURCES ${cu_sources} HEADERS ${cu_headers})
        add_library(${slug} SHARED ${newest_objects} ${joined})
        if(cu_sources)
            target_sources(${slug} PRIVATE $<TARGET_OBJECTS:${slug}_once>)
        endif()
        # Linked by the C++ compiler or by nvcc alike: the CUDA runtime goes in statically, and its names stay inside.
        set_target_properties(${slug} PROPERTIES LINKER_LANGUAGE CUDA CUDA_RUNTIME_LIBRARY Static)
    endif()

    _pluginkit_exports(exports init${arg_NAME}Plugins ${layouts})
    pluginkit_export_only(${slug} ${exports})
    set_target_properties(${slug} PROPERTIES PLUGINKIT_NAME ${arg_NAME})
    _pluginkit_describe(${slug} ${arg_NAME} ${headers_from})
endfunction()

# pluginkit_test_plugin(<target> [SOURCES <file>...] [LAYOUTS <major>...])
#
# Makes the target <target>_pluginkit: lib<target>_pluginkit.so in the build folder, of the same sources, include folders
# and definitions as the existing target <target>, compiled for target cpu beside it: `pluginkit adopt` and `pluginkit
# test` run that. SOURCES are further ones, as of a static library that <target> links; where there is no target of that
# name, they are all. LAYOUTS are the TensorRT majors whose plugin classes it holds: without it the major of the NvInfer.h
# that is in the include folders of <target> or of what it links, else that of the one TensorRT SDK that is found, else
# 11. Its creators are those of REGISTER_TENSORRT_PLUGIN, of
# getPluginRegistry()->registerCreator, and of the sources' own getCreators.
#
# A .cu source of a target is compiled so whether CUDA is enabled in the project or not.
function(pluginkit_test_plugin target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LAYOUTS")
    set(where "pluginkit_test_plugin(${target} ...)")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${where}: '${arg_UNPARSED_ARGUMENTS}' is not one of SOURCES and LAYOUTS.")
    endif()
    if(NOT PLUGINKIT_TARGET STREQUAL "cpu")
        return()
    endif()
    set(slug ${target}_pluginkit)
    set(sources ${arg_SOURCES})
    set(folders)
    if(TARGET ${target})
        get_target_property(own ${target} SOURCES)
        get_target_property(base ${target} SOURCE_DIR)
        foreach(source IN LISTS own)
            if(source MATCHES "\\.(cpp|cc|cxx|cu)$")
                get_filename_component(source "${source}" ABSOLUTE BASE_DIR "${base}")
                list(APPEND sources "${source}")
            endif()
        endforeach()
        _pluginkit_include_folders(folders ${target})
        get_target_property(linker ${target} LINKER_LANGUAGE)
        if(NOT CMAKE_CUDA_COMPILER_LOADED AND NOT linker)
            # Of .cu sources alone CMake can't tell, and fails for the whole project, where CUDA is not enabled.
            set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
        endif()
    endif()
    if(NOT sources)
        message(FATAL_ERROR "${where}: there is no target ${target} above it with .cpp or .cu sources, and no SOURCES.")
    endif()
    foreach(folder IN LISTS folders)
        if(EXISTS "${folder}/NvInferVersion.h")
            # TensorRT's own headers, which its sources were written for, go before pluginkit's.
            file(STRINGS "${folder}/NvInferVersion.h" lines REGEX "define (NV_TENSORRT|TRT)_MAJOR")
            string(REGEX MATCH "MAJOR(_ENTERPRISE)? ([0-9]+)" _ "${lines}")
            set(major "${CMAKE_MATCH_2}")
            if(major IN_LIST PLUGINKIT_KNOWN_LAYOUTS)
                set(PLUGINKIT_TRT${major}_INCLUDE_DIR "${folder}")
                if(NOT arg_LAYOUTS)
                    set(arg_LAYOUTS ${major})
                endif()
            endif()
        endif()
    endforeach()
    if(NOT arg_LAYOUTS)
        # The newest whose SDK is here, else the newest.
        list(GET PLUGINKIT_KNOWN_LAYOUTS 0 arg_LAYOUTS)
        foreach(layout IN LISTS PLUGINKIT_KNOWN_LAYOUTS)
            if(PLUGINKIT_TRT${layout}_INCLUDE_DIR)
                set(arg_LAYOUTS ${layout})
                break()
            endif()
        endforeach()
    endif()

    set(entry "${CMAKE_CURRENT_BINARY_DIR}/${slug}_entry.cpp")
    file(CONFIGURE OUTPUT "${entry}" @ONLY
        CONTENT "#include <pluginkit/existing.h>\nPLUGINKIT_EXISTING_PLUGINS(@target@)\n")
    add_library(${slug} SHARED "${entry}")
    # The entry is among the joined objects; CMake wants a source all the same.
    set_source_files_properties("${entry}" PROPERTIES HEADER_FILE_ONLY ON)
    set_target_properties(${slug} PROPERTIES LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
    target_compile_options(${slug} PRIVATE -w)
    if(TARGET ${target})
        target_include_directories(${slug} PRIVATE "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
        get_target_property(definitions ${target} COMPILE_DEFINITIONS)
        if(definitions)
            # $<COMPILE_LANGUAGE:...> has no meaning where one compiler takes all sources.
            list(FILTER definitions EXCLUDE REGEX "COMPILE_LANG")
            target_compile_definitions(${slug} PRIVATE ${definitions})
        endif()
        get_target_property(standard ${target} CXX_STANDARD)
        if(standard GREATER 17)
            target_compile_options(${slug} PRIVATE -std=c++${standard})
        endif()
    endif()
    set(primary ON)
    set(headers_from)
    foreach(layout IN LISTS PLUGINKIT_KNOWN_LAYOUTS)
        if(NOT layout IN_LIST arg_LAYOUTS)
            continue()
        endif()
        pluginkit_layout_headers(${layout} headers from)
        list(APPEND headers_from "${layout}=${from}")
        set(defines PLUGINKIT_TRT_LAYOUT=${layout})
        _pluginkit_exports(exported init${target}Plugins ${arg_LAYOUTS})
        set(keep ${exported})
        if(NOT primary)
            list(APPEND defines PLUGINKIT_SECONDARY)
            set(keep pluginkit_none)
        endif()
        if(NOT from STREQUAL "pluginkit")
            list(APPEND defines PLUGINKIT_EXISTING_SOURCES)
            target_compile_options(${slug} PRIVATE -include pluginkit/registered.h)
        endif()
        pluginkit_cpu_objects(objects ${slug} layout${layout} SOURCES ${sources} HEADERS ${headers} DEFINES ${defines})
        pluginkit_cpu_objects(half ${slug} entry${layout} SOURCES "${entry}" HEADERS ${headers} DEFINES ${defines})
        set(joined "${CMAKE_CURRENT_BINARY_DIR}/${slug}-layout${layout}.o")
        list(TRANSFORM keep PREPEND --keep-global-symbol=)
        # The sources' own exports would be the library's; the entry calls them under these names.
        add_custom_command(
            OUTPUT "${joined}"
            COMMAND "${PLUGINKIT_LD}" -r --force-group-allocation -o "${joined}.own" ${objects}
            COMMAND
                "${PLUGINKIT_OBJCOPY}" --redefine-sym getCreators=pluginkitOwnGetCreators
                --redefine-sym getPluginCreators=pluginkitOwnGetPluginCreators
                --redefine-sym setLoggerFinder=pluginkitOwnSetLoggerFinder "${joined}.own"
            COMMAND "${PLUGINKIT_LD}" -r --force-group-allocation -o "${joined}" "${joined}.own" ${half}
            COMMAND "${PLUGINKIT_OBJCOPY}" ${keep} "${joined}"
            DEPENDS ${objects} ${half}
            COMMENT "Joining ${joined}"
            COMMAND_EXPAND_LISTS
            VERBATIM)
        target_sources(${slug} PRIVATE "${joined}")
        set(primary OFF)
    endforeach()
    pluginkit_link_cpu_runtime(${slug})
    pluginkit_export_only(${slug} ${exported})
    _pluginkit_describe(${slug} ${target} ${headers_from})
endfunction()

# pluginkit_add_validation(<target> [LEVEL <n>] [MODEL <file>] [BASELINE <file>] [STRICT])
#
# Makes the test <target>_validation for CTest: `pluginkit check` of the library that <target> makes, whatever makes it.
# LEVEL, MODEL, BASELINE and STRICT are its options.
function(pluginkit_add_validation target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "STRICT" "LEVEL;MODEL;BASELINE" "")
    set(where "pluginkit_add_validation(${target} ...)")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${where}: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT TARGET ${target})
        message(FATAL_ERROR "${where}: there is no target ${target}. Call it behind add_library(${target} ...).")
    endif()
    set(options)
    if(arg_LEVEL)
        list(APPEND options --level ${arg_LEVEL})
    endif()
    foreach(file IN ITEMS MODEL BASELINE)
        if(arg_${file})
            string(TOLOWER ${file} option)
            get_filename_component(path "${arg_${file}}" ABSOLUTE)
            list(APPEND options --${option} "${path}")
        endif()
    endforeach()
    if(arg_STRICT)
        list(APPEND options --strict)
    endif()
    add_test(NAME ${target}_validation
        COMMAND "${PLUGINKIT_PYTHON}" -m pluginkit check "$<TARGET_FILE:${target}>" ${options})
endfunction()

# pluginkit_add_python_module(<module> PLUGIN <slug> SOURCES <file>...)
#
# Makes the target <module>_python: the Python module of the plugin library <slug>, which it opens in its own folder; see
# pluginkit/python.h. It is not part of `all`. What pluginkit.toml says of names and shapes is compiled into it. Without
# Python.h there is no such target.
function(pluginkit_add_python_module module)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "PLUGIN" "SOURCES")
    set(where "pluginkit_add_python_module(${module} ...)")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
        message(FATAL_ERROR "${where}: write pluginkit_add_python_module(<module> PLUGIN <target> SOURCES <file>...).")
    endif()
    if(NOT TARGET "${arg_PLUGIN}")
        message(FATAL_ERROR "${where}: '${arg_PLUGIN}' is not a target of pluginkit_add_plugin above it.")
    endif()
    if(NOT PLUGINKIT_PYTHON_INCLUDE_DIR OR PLUGINKIT_SANITIZE)
        return()
    endif()
    set(target ${module}_python)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}-built")
    get_target_property(name ${arg_PLUGIN} PLUGINKIT_NAME)
    file(GLOB manifests CONFIGURE_DEPENDS pluginkit.toml plugins/*/pluginkit.toml)
    add_custom_command(
        OUTPUT "${folder}/pluginkit_built.h"
        COMMAND
            "${PLUGINKIT_PYTHON}" -m pluginkit.build.python_signature "${CMAKE_CURRENT_SOURCE_DIR}" ${arg_PLUGIN} ${name}
            ${PLUGINKIT_TARGET} "${folder}/pluginkit_built.h"
        DEPENDS ${manifests} "${PLUGINKIT_ROOT}/torch/operators.py"
        COMMENT "Writing what pluginkit.toml says for Python"
        VERBATIM)
    add_library(${target} MODULE EXCLUDE_FROM_ALL ${arg_SOURCES} "${folder}/pluginkit_built.h")
    set_target_properties(${target} PROPERTIES
        PREFIX "" OUTPUT_NAME ${module} SUFFIX "${PLUGINKIT_PYTHON_SUFFIX}"
        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON EXPORT_COMPILE_COMMANDS ON LINKER_LANGUAGE CXX)
    target_include_directories(${target} SYSTEM PRIVATE
        "${folder}" "${PLUGINKIT_INCLUDE_DIR}" "${PLUGINKIT_PYTHON_INCLUDE_DIR}" "${PLUGINKIT_PYBIND11_INCLUDE_DIR}")
    pluginkit_warnings(warnings)
    pluginkit_ordinary_names(ordinary)
    target_compile_options(${target} PRIVATE ${warnings} ${ordinary})
    if(NOT CMAKE_BUILD_TYPE)
        # A call costs the same with -O2, which takes half as long again to compile. Without NDEBUG pybind11 checks each
        # reference.
        target_compile_options(${target} PRIVATE -Og)
        target_compile_definitions(${target} PRIVATE NDEBUG)
    endif()
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
    string(JSON info SET "{}" target "\"${target}\"")
    string(JSON info SET "${info}" module "\"${module}\"")
    string(JSON info SET "${info}" file "\"$<TARGET_FILE:${target}>\"")
    file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/python-${arg_PLUGIN}.json" CONTENT "${info}")
endfunction()

# pluginkit_ordinary_names(<out>): the flag that keeps g++ from making names unique in the process. Unique names can't be
# made local to one layout, and they would keep the library in memory for good.
function(pluginkit_ordinary_names out)
    set(${out} PARENT_SCOPE)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set(${out} -fno-gnu-unique PARENT_SCOPE)
    endif()
endfunction()

# pluginkit_layout_headers(<major> <dirs> <from>)
#
# Sets <dirs> to the include folders in which NvInfer.h of that layout is found first, and <from> to their source:
# `pluginkit`, or the folder of the SDK. An SDK's headers are linked into a folder of their own, because compilers
# ignore an -I of a folder like /usr/include/x86_64-linux-gnu, which they search last.
function(pluginkit_layout_headers layout dirs from)
    set(sdk "${PLUGINKIT_TRT${layout}_INCLUDE_DIR}")
    if(NOT sdk)
        set(${dirs} "${PLUGINKIT_INCLUDE_DIR}" PARENT_SCOPE)
        set(${from} pluginkit PARENT_SCOPE)
        return()
    endif()
    if(NOT EXISTS "${sdk}/NvInfer.h")
        message(FATAL_ERROR "PLUGINKIT_TRT${layout}_INCLUDE_DIR is ${sdk}, which has no NvInfer.h.")
    endif()
    set(staged "${CMAKE_BINARY_DIR}/trt${layout}-headers")
    file(REMOVE_RECURSE "${staged}")
    file(MAKE_DIRECTORY "${staged}")
    file(GLOB headers "${sdk}/NvInfer*.h")
    foreach(header IN LISTS headers)
        get_filename_component(name "${header}" NAME)
        file(CREATE_LINK "${header}" "${staged}/${name}" SYMBOLIC)
    endforeach()
    set(${dirs} "${staged}" "${PLUGINKIT_INCLUDE_DIR}" PARENT_SCOPE)
    set(${from} "${sdk}" PARENT_SCOPE)
endfunction()

# pluginkit_warnings(<out>): sets <out> to the warning options for the project's own C++ sources.
function(pluginkit_warnings out)
    set(options -Wall -Wextra -Wconversion)
    foreach(layout IN LISTS PLUGINKIT_KNOWN_LAYOUTS)
        if(PLUGINKIT_TRT${layout}_INCLUDE_DIR)
            # An SDK's headers call every V2 interface deprecated, which says nothing about the project's own code.
            list(APPEND options -Wno-deprecated-declarations)
        endif()
    endforeach()
    list(REMOVE_DUPLICATES options)
    if(PLUGINKIT_WERROR)
        list(APPEND options -Werror)
    endif()
    set(${out} ${options} PARENT_SCOPE)
endfunction()

# pluginkit_cpu_objects(<out> <slug> <tag> SOURCES <file>... HEADERS <dir>... [DEFINES <definition>...])
#
# Compiles the sources by pluginkit's CUDA-on-CPU compiler and sets <out> to the objects. All sources of a library go
# this way, .cpp too: calls of the CUDA runtime are led to pluginkit's own.
function(pluginkit_cpu_objects out slug tag)
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "SOURCES;HEADERS;DEFINES")
    _pluginkit_cpu_flags(flags)
    list(TRANSFORM arg_DEFINES PREPEND -D)
    list(TRANSFORM arg_HEADERS PREPEND -isystem)
    set(cuda_includes ${PLUGINKIT_CUDA_INCLUDE_DIRS})
    list(TRANSFORM cuda_includes PREPEND -isystem)
    set(definitions "$<TARGET_PROPERTY:${slug},COMPILE_DEFINITIONS>")
    set(includes "$<TARGET_PROPERTY:${slug},INCLUDE_DIRECTORIES>")
    file(GLOB compiler CONFIGURE_DEPENDS "${PLUGINKIT_ROOT}/cuda_cpu/*.py")

    set(objects)
    foreach(source IN LISTS arg_SOURCES)
        get_filename_component(path "${source}" ABSOLUTE)
        _pluginkit_tuning(tuning "${path}")
        list(TRANSFORM tuning PREPEND -D)
        _pluginkit_object_name(object "${source}")
        set(object "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${slug}-${tag}/${object}.o")
        get_filename_component(folder "${object}" DIRECTORY)
        file(MAKE_DIRECTORY "${folder}")
        set(options ${flags})
        if(source MATCHES "\\.cu$" AND NOT PLUGINKIT_SANITIZE)
            # A GPU faults on an access whose address is not a multiple of its size. What the compiled code calls is in the
            # CUDA-on-CPU runtime.
            list(APPEND options -fsanitize=alignment)
        endif()
        _pluginkit_makes_exports(exports "${path}")
        if(exports)
            # Lines alone: nearly all of it is entry.h's and layer.h's, which no person steps through.
            _pluginkit_cpu_flags(options -Os -g1)
        endif()
        add_custom_command(
            OUTPUT "${object}"
            COMMAND
                "${PLUGINKIT_PYTHON}" -m pluginkit.cuda_cpu.compile --cxx "${CMAKE_CXX_COMPILER}"
                -o "${object}" -MD -MF "${object}.d"
                ${options} ${arg_DEFINES}
                "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
                "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>"
                ${tuning} ${arg_HEADERS} ${cuda_includes}
                "$<TARGET_PROPERTY:${slug},COMPILE_OPTIONS>"
                "${path}"
            # Not as MAIN_DEPENDENCY: that would take the source away from the target that editors read.
            DEPENDS "${path}" ${compiler}
            DEPFILE "${object}.d"
            COMMENT "Compiling ${source} for the CPU (${tag})"
            COMMAND_EXPAND_LISTS
            VERBATIM)
        list(APPEND objects "${object}")
    endforeach()
    set(${out} ${objects} PARENT_SCOPE)
endfunction()

# pluginkit_gpu_objects(<target> <slug> SOURCES <file>... HEADERS <dir>... [DEFINES <definition>...])
#
# Makes the object library <target>: .cu by nvcc, .cpp by the host compiler, with what is set on <slug>.
function(pluginkit_gpu_objects target slug)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;HEADERS;DEFINES")
    if(NOT arg_SOURCES)
        return()
    endif()
    foreach(source IN LISTS arg_SOURCES)
        get_filename_component(path "${source}" ABSOLUTE)
        _pluginkit_tuning(tuning "${path}")
        if(tuning)
            set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_DEFINITIONS ${tuning})
        endif()
        _pluginkit_makes_exports(exports "${path}")
        get_property(own SOURCE "${source}" PROPERTY COMPILE_OPTIONS)
        if(exports AND NOT CMAKE_BUILD_TYPE AND NOT "-Os" IN_LIST own)
            # Before the source's own.
            set_property(SOURCE "${source}" PROPERTY COMPILE_OPTIONS -Os ${own})
        endif()
    endforeach()
    add_library(${target} OBJECT ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES
        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
        CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF CUDA_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON CUDA_RUNTIME_LIBRARY Static
        EXPORT_COMPILE_COMMANDS ON)
    target_compile_definitions(${target} PRIVATE ${arg_DEFINES} $<TARGET_PROPERTY:${slug},COMPILE_DEFINITIONS>)
    target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:${slug},INCLUDE_DIRECTORIES>)
    target_include_directories(${target} SYSTEM PRIVATE ${arg_HEADERS} ${PLUGINKIT_CUDA_INCLUDE_DIRS})
    pluginkit_warnings(warnings)
    pluginkit_ordinary_names(ordinary)
    string(JOIN "," host_warnings ${warnings} ${ordinary})
    # Lines alone: they change no code, and findings on a GPU name the place by them.
    target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:CXX>:-g1;${warnings};${ordinary}>"
        "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;-Xcompiler=-g1,${host_warnings}>"
        $<TARGET_PROPERTY:${slug},COMPILE_OPTIONS>)
    if(PLUGINKIT_WERROR)
        target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
    endif()
    if(NOT CMAKE_BUILD_TYPE)
        target_compile_options(${target} PRIVATE -O2)
        target_compile_definitions(${target} PRIVATE NDEBUG)
    endif()
endfunction()

# pluginkit_link_cpu_runtime(<slug>): links what the CUDA-on-CPU objects need, with hidden names but for the control by
# which a test harness reaches the runtime of this very library.
function(pluginkit_link_cpu_runtime slug)
    set(runtime "${PLUGINKIT_CPU_RUNTIME_DIR}/libpluginkit_cpu.a")
    if("thread" IN_LIST PLUGINKIT_SANITIZE OR "memory" IN_LIST PLUGINKIT_SANITIZE)
        set(runtime "${PLUGINKIT_CPU_RUNTIME_DIR}/libpluginkit_cpu_checked.a")
    endif()
    if(NOT EXISTS "${runtime}")
        message(FATAL_ERROR "${runtime} does not exist; pluginkit's wheel brings it. Install pluginkit again, or give its folder "
            "by -DPLUGINKIT_CPU_RUNTIME_DIR=...")
    endif()
    find_package(Threads REQUIRED)
    # Not LINKER:, which older CMakes know among options alone, and take for the name of a library here.
    target_link_libraries(${slug} PRIVATE
        "-Wl,--whole-archive" "${runtime}" "-Wl,--no-whole-archive" Threads::Threads ${CMAKE_DL_LIBS} rt)
    set_property(TARGET ${slug} APPEND PROPERTY LINK_DEPENDS "${runtime}")
    if("address" IN_LIST PLUGINKIT_SANITIZE)
        target_link_options(${slug} PRIVATE -fsanitize=address $<$<CXX_COMPILER_ID:Clang>:-shared-libasan>)
    endif()
endfunction()

# pluginkit_join_objects(<output> <object>...)
#
# Joins objects into one and makes all of its hidden names local, so that the same class compiled for two layouts can
# stand in one library: without this the linker would keep one of the two for both.
function(pluginkit_join_objects output)
    add_custom_command(
        OUTPUT "${output}"
        COMMAND "${PLUGINKIT_LD}" -r --force-group-allocation -o "${output}" ${ARGN}
        COMMAND "${PLUGINKIT_OBJCOPY}" --localize-hidden "${output}"
        DEPENDS ${ARGN}
        COMMENT "Joining ${output}"
        COMMAND_EXPAND_LISTS
        VERBATIM)
endfunction()

# pluginkit_export_only(<target> <symbol>...): a shared library that exports these symbols alone and lacks none.
function(pluginkit_export_only target)
    set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.version")
    list(JOIN ARGN ";\n        " symbols)
    file(CONFIGURE OUTPUT "${script}" CONTENT "{\n    global:\n        @symbols@;\n    local:\n        *;\n};\n" @ONLY)
    target_link_options(${target} PRIVATE "LINKER:--version-script=${script}" "LINKER:-z,now")
    if(NOT "coverage" IN_LIST PLUGINKIT_SANITIZE)
        target_link_options(${target} PRIVATE "LINKER:--no-undefined")
    endif()
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${script}")
endfunction()

# pluginkit_editor_commands(<slug> SOURCES <file>... HEADERS <dir>... [DEFINES <definition>...])
#
# Lists the sources in compile_commands.json for editors; nothing of it is ever compiled.
function(pluginkit_editor_commands slug)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;DEFINES")
    add_library(${slug}_editor OBJECT EXCLUDE_FROM_ALL ${arg_SOURCES})
    set(cu_sources ${arg_SOURCES})
    list(FILTER cu_sources INCLUDE REGEX "\\.cu$")
    set_source_files_properties(${cu_sources} PROPERTIES LANGUAGE CXX
        COMPILE_DEFINITIONS PLUGINKIT_CPU_CUDA_SOURCE
        COMPILE_OPTIONS "-include;${PLUGINKIT_INCLUDE_DIR}/pluginkit/cpu/prelude.h")
    set_target_properties(${slug}_editor PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF EXPORT_COMPILE_COMMANDS ON)
    target_compile_definitions(${slug}_editor PRIVATE ${arg_DEFINES} $<TARGET_PROPERTY:${slug},COMPILE_DEFINITIONS>)
    target_include_directories(${slug}_editor PRIVATE $<TARGET_PROPERTY:${slug},INCLUDE_DIRECTORIES>)
    target_include_directories(${slug}_editor SYSTEM PRIVATE ${arg_HEADERS} ${PLUGINKIT_CUDA_INCLUDE_DIRS})
endfunction()

# ---------------------------------------------------------------------------------------------------------------------
# Internal
# ---------------------------------------------------------------------------------------------------------------------

# Stops at arguments of pluginkit_add_plugin, or flags beside them, that can't be meant.
macro(_pluginkit_check_arguments)
    set(_where "pluginkit_add_plugin(${slug} ...)")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${_where}: '${arg_UNPARSED_ARGUMENTS}' is not one of NAME and SOURCES.")
    endif()
    if(NOT slug MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
        message(FATAL_ERROR "${_where}: '${slug}' is not a name for a library: letters, digits and _ only.")
    endif()
    if(NOT "${arg_NAME}" MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
        message(FATAL_ERROR "${_where}: NAME is '${arg_NAME}'; it must be a C++ identifier, as in PLUGINKIT_PLUGINS(<NAME>, ...).")
    endif()
    foreach(_source IN LISTS arg_SOURCES)
        if(NOT _source MATCHES "\\.(cpp|cc|cxx|cu)$")
            message(FATAL_ERROR "${_where}: ${_source} is neither C++ (.cpp, .cc, .cxx) nor CUDA (.cu). Headers need no mention.")
        endif()
        get_filename_component(_path "${_source}" ABSOLUTE)
        if(NOT EXISTS "${_path}")
            message(FATAL_ERROR "${_where}: ${_path} does not exist.")
        endif()
    endforeach()
    if(NOT "${arg_SOURCES}" MATCHES "\\.(cpp|cc|cxx)(;|$)")
        message(FATAL_ERROR "${_where}: SOURCES has no .cpp file; the one with PLUGINKIT_PLUGINS(${arg_NAME}, ...) makes the exports.")
    endif()
    string(TOUPPER "${CMAKE_BUILD_TYPE}" _config)
    set(_flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${_config}}")
    if(CMAKE_INTERPROCEDURAL_OPTIMIZATION OR _flags MATCHES "-flto")
        message(FATAL_ERROR "${_where}: link-time optimization (-flto) and two layouts in one library contradict each other: "
            "the layouts' names are made local in machine code, which LTO objects don't hold yet. Leave it out.")
    endif()
    if(_flags MATCHES "PLUGINKIT_(TRT_LAYOUT|SECONDARY)")
        message(FATAL_ERROR "${_where}: CMAKE_CXX_FLAGS defines PLUGINKIT_TRT_LAYOUT or PLUGINKIT_SECONDARY; the library holds "
            "several layouts and sets them itself. Leave it out.")
    endif()
    if(_flags MATCHES "-fvisibility=(default|protected)")
        message(FATAL_ERROR "${_where}: CMAKE_CXX_FLAGS sets ${CMAKE_MATCH_0}, and several layouts of a class can share a library "
            "only with -fvisibility=hidden. Leave it out.")
    endif()
endmacro()

# Sets <out> to whether a source makes a library's exports, and with them the plugin's class of pluginkit/layer.h. It is
# compiled for each layout and starts kernels, so that its size counts and its speed doesn't.
function(_pluginkit_makes_exports out source)
    file(STRINGS "${source}" line REGEX "^ *PLUGINKIT_[A-Z_]*PLUGINS\\(" LIMIT_COUNT 1)
    set(${out} OFF PARENT_SCOPE)
    if(line OR source MATCHES "(/|_pluginkit_)entry\\.cpp$")
        set(${out} ON PARENT_SCOPE)
    endif()
endfunction()

# Compiler options for a source of target cpu. Without CMAKE_BUILD_TYPE: optimised, with line numbers, and with
# assert() alive, for this target is there to find bugs; or the options given, before the user's own.
function(_pluginkit_cpu_flags out)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
    separate_arguments(user UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}}")
    if(NOT CMAKE_BUILD_TYPE)
        set(usual -O2 -g)
        if(ARGN)
            set(usual ${ARGN})
        endif()
        set(user ${usual} ${user})
    endif()
    pluginkit_warnings(warnings)
    pluginkit_ordinary_names(ordinary)
    set(flags -std=c++17 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden ${ordinary})
    _pluginkit_sanitizer_flags(checks)
    set(${out} ${flags} ${warnings} ${user} ${checks} PARENT_SCOPE)
endfunction()

# Compiler options for the checks in PLUGINKIT_SANITIZE. What the compiled code calls is in the CUDA-on-CPU runtime, but
# for AddressSanitizer's own library.
function(_pluginkit_sanitizer_flags out)
    set(${out} PARENT_SCOPE)
    if(NOT PLUGINKIT_SANITIZE)
        return()
    endif()
    # The ordinary build has warned; with checks compiled in g++ warns of what is not there.
    set(flags -O1 -g -fno-omit-frame-pointer -w)
    foreach(check IN LISTS PLUGINKIT_SANITIZE)
        if(check STREQUAL "address")
            list(APPEND flags -fsanitize=address -fsanitize-recover=address)
        elseif(check STREQUAL "undefined")
            # A number that is cast to a type too small becomes the largest one on a GPU, and anything on a CPU. What is
            # left out needs type information of TensorRT's classes, which are compiled elsewhere.
            list(APPEND flags -fsanitize=undefined,float-cast-overflow -fno-sanitize=vptr)
            if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
                list(APPEND flags -fno-sanitize=function)
            endif()
        elseif(check STREQUAL "thread" OR check STREQUAL "memory")
            list(APPEND flags -fsanitize=thread -DPLUGINKIT_CPU_CHECKED)
        elseif(check STREQUAL "coverage")
            # For libFuzzer, as -fsanitize=fuzzer-no-link has it but for the stack's depth.
            list(APPEND flags -fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp,indirect-calls)
        else()
            message(FATAL_ERROR "PLUGINKIT_SANITIZE has '${check}'; it must be address, undefined, thread, memory or coverage.")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES flags)
    if("-fsanitize=address" IN_LIST flags AND "-fsanitize=thread" IN_LIST flags)
        message(FATAL_ERROR "PLUGINKIT_SANITIZE is '${PLUGINKIT_SANITIZE}'; address and thread or memory take two builds.")
    endif()
    set(${out} ${flags} PARENT_SCOPE)
endfunction()

# Sets <out> to the pluginkit.toml that a source belongs to: the nearest one above it within the project. Empty where there is
# none. The build is configured again when it changes.
function(_pluginkit_manifest out source)
    set(${out} PARENT_SCOPE)
    get_filename_component(folder "${source}" ABSOLUTE)
    set(manifest)
    # The whole project, not this folder of it: the manifest lies above an add_subdirectory(src).
    while(NOT manifest AND NOT folder STREQUAL CMAKE_SOURCE_DIR)
        get_filename_component(above "${folder}" DIRECTORY)
        if(above STREQUAL folder)
            return() # the source lies outside of the project
        endif()
        set(folder "${above}")
        if(EXISTS "${folder}/pluginkit.toml")
            set(manifest "${folder}/pluginkit.toml")
        endif()
    endwhile()
    if(manifest)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${manifest}")
    endif()
    set(${out} "${manifest}" PARENT_SCOPE)
endfunction()

# Sets <out> to the folder that has the header <slug>_signature.h of each pluginkit.toml that the sources belong to, and of each
# plugin that `pluginkit add` has put into plugins/: what pluginkit/layer.h makes plugins of. Empty where there is none.
function(_pluginkit_signatures out)
    set(${out} PARENT_SCOPE)
    file(GLOB manifests pluginkit.toml plugins/*/pluginkit.toml)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifests})
    foreach(source IN LISTS ARGN)
        _pluginkit_manifest(manifest "${source}")
        list(APPEND manifests ${manifest})
    endforeach()
    list(REMOVE_DUPLICATES manifests)
    if(NOT manifests)
        return()
    endif()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/signature")
    execute_process(
        COMMAND "${PLUGINKIT_PYTHON}" -m pluginkit.build.signature "${folder}" ${manifests}
        ERROR_VARIABLE error
        RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${error}")
    endif()
    set(${out} "${folder}" PARENT_SCOPE)
endfunction()

# Sets <out> to the definition of the header that has what [tuning] of a .cu source's pluginkit.toml says. Empty where there
# is none.
function(_pluginkit_tuning out source)
    set(${out} PARENT_SCOPE)
    if(NOT source MATCHES "\\.cu$")
        return()
    endif()
    _pluginkit_manifest(manifest "${source}")
    if(NOT manifest)
        return()
    endif()
    if(manifest STREQUAL "${PLUGINKIT_TUNING_MANIFEST}")
        set(header "${PLUGINKIT_TUNING_HEADER}")
    else()
        file(STRINGS "${manifest}" section REGEX "^[ \t]*\\[?[ \t]*[\"']?tuning")
        if(NOT section)
            return()
        endif()
        string(SHA256 name "${manifest}")
        string(SUBSTRING "${name}" 0 12 name)
        set(header "${CMAKE_CURRENT_BINARY_DIR}/tuning/${name}.h")
        # Once for all sources of the manifest.
        string(SHA256 key "${header}")
        get_property(written GLOBAL PROPERTY _pluginkit_tuning_${key})
        if(NOT written)
            execute_process(
                COMMAND "${PLUGINKIT_PYTHON}" -m pluginkit.build.tuning "${manifest}" "${header}"
                ERROR_VARIABLE error
                RESULT_VARIABLE result)
            if(NOT result EQUAL 0)
                message(FATAL_ERROR "${error}")
            endif()
            set_property(GLOBAL PROPERTY _pluginkit_tuning_${key} TRUE)
        endif()
    endif()
    set(${out} "PLUGINKIT_TUNING_HEADER=\"${header}\"" PARENT_SCOPE)
endfunction()

# The object's path for a source: below the build folder, also for a source outside of the project.
function(_pluginkit_object_name out source)
    file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
    if(IS_ABSOLUTE "${source}")
        file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${source}")
    endif()
    string(REPLACE "../" "__/" name "${name}")
    set(${out} "${name}" PARENT_SCOPE)
endfunction()

# Sets <out> to the include folders of a target and of the targets that it links.
function(_pluginkit_include_folders out target)
    set(folders)
    set(waiting ${target})
    set(seen)
    while(waiting)
        list(POP_FRONT waiting one)
        if(NOT TARGET "${one}" OR "${one}" IN_LIST seen)
            continue()
        endif()
        list(APPEND seen "${one}")
        foreach(property IN ITEMS INCLUDE_DIRECTORIES INTERFACE_INCLUDE_DIRECTORIES)
            get_target_property(value "${one}" ${property})
            if(value)
                list(TRANSFORM value REPLACE "^\\$<BUILD_INTERFACE:(.*)>$" "\\1")
                list(APPEND folders ${value})
            endif()
        endforeach()
        foreach(property IN ITEMS LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
            get_target_property(value "${one}" ${property})
            if(value)
                list(APPEND waiting ${value})
            endif()
        endforeach()
    endwhile()
    set(${out} ${folders} PARENT_SCOPE)
endfunction()

# Sets <out> to what a library of these layouts exports: what their registries look for, and the init function.
function(_pluginkit_exports out init)
    set(exports setLoggerFinder ${init})
    foreach(layout IN LISTS ARGN)
        list(APPEND exports ${PLUGINKIT_CREATORS_BY_${layout}})
    endforeach()
    list(REMOVE_DUPLICATES exports)
    if(PLUGINKIT_TARGET STREQUAL "cpu")
        list(APPEND exports pluginkit_cpu_control)
    endif()
    set(${out} ${exports} PARENT_SCOPE)
endfunction()

# Writes pluginkit-<slug>.json, from which `pluginkit build` learns what was made, and by what.
# ARGN: <major>=<where its headers are from> for each layout.
function(_pluginkit_describe slug name)
    set(info "{}")
    foreach(pair IN ITEMS "name=${name}" "slug=${slug}" "target=${PLUGINKIT_TARGET}" "library=$<TARGET_FILE:${slug}>")
        string(REGEX MATCH "^([^=]*)=(.*)$" _ "${pair}")
        string(JSON info SET "${info}" "${CMAKE_MATCH_1}" "\"${CMAKE_MATCH_2}\"")
    endforeach()
    string(JSON info SET "${info}" layouts "{}")
    foreach(pair IN LISTS ARGN)
        string(REGEX MATCH "^([0-9]+)=(.*)$" _ "${pair}")
        string(JSON info SET "${info}" layouts "${CMAKE_MATCH_1}" "{\"headers\": \"${CMAKE_MATCH_2}\"}")
    endforeach()
    string(JSON info SET "${info}" compiler "{\"id\": \"${CMAKE_CXX_COMPILER_ID}\", \"version\": \"${CMAKE_CXX_COMPILER_VERSION}\"}")
    if(PLUGINKIT_TARGET STREQUAL "gpu")
        list(JOIN CMAKE_CUDA_ARCHITECTURES "\", \"" archs)
        string(JSON info SET "${info}" cuda_compiler "{\"id\": \"${CMAKE_CUDA_COMPILER_ID}\", \"version\": \"${CMAKE_CUDA_COMPILER_VERSION}\"}")
        string(JSON info SET "${info}" architectures "[\"${archs}\"]")
    endif()
    file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/pluginkit-${slug}.json" CONTENT "${info}")
endfunction()
