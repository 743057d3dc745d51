# SPDX-License-Identifier: BSD-3-Clause
# Configures, builds and runs a project against the installed tree and nothing else.
file(REMOVE_RECURSE ${BUILD})
file(GLOB_RECURSE pc ${PREFIX}/*/sapstep.pc)
get_filename_component(pc_dir ${pc} DIRECTORY)
file(GLOB_RECURSE library ${PREFIX}/*/libsapstep.*)
list(GET library 0 library)
get_filename_component(library_dir ${library} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${pc_dir})
set(ENV{LD_LIBRARY_PATH} ${library_dir})

execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G ${GENERATOR}
                        -DCMAKE_PREFIX_PATH=${PREFIX} -DMUJOCO_DIR=${MUJOCO_DIR}
                        -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
                        -DCMAKE_C_FLAGS=${CONSUMER_FLAGS} -DCMAKE_CXX_FLAGS=${CONSUMER_FLAGS}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
foreach(program consumer_c consumer_cxx)
  execute_process(COMMAND ${BUILD}/${program} ${SCENE} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
