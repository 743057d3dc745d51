// SPDX-License-Identifier: BSD-3-Clause
// Every number of a compiled model on which steps depend, by the names of element and field.
#pragma once

#include <sapstep/system.h>

#include "multibody/model/model_data.h"

// Visits sizes, then options, then all elements. Names of elements, colors and keyframes are no
// traits; nor are numbers that compiling finds from others.
void sap_model_traits(const sap_model* model, sap_trait_visitor visit, void* visitor);
