# SPDX-License-Identifier: BSD-3-Clause
# find_package(sapstep COMPONENTS mujoco) refuses another MuJoCo than it was built with.
file(REMOVE_RECURSE ${BUILD})
set(other ${BUILD}/mujoco-9.9.9)
file(WRITE ${other}/include/mujoco/mujoco.h "#define mjVERSION_HEADER 9009009\n")
file(WRITE ${other}/lib/libmujoco.so "")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${PREFIX}
                        -DMUJOCO_DIR=${other} -DCMAKE_C_COMPILER=${C_COMPILER}
                RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE told)
string(REGEX REPLACE "[ \n]+" " " told "${told}")
if(result EQUAL 0 OR NOT told MATCHES "component mujoco was built with MuJoCo [0-9.]+, but .* is 9.9.9")
  message(FATAL_ERROR "${result}: ${told}")
endif()
