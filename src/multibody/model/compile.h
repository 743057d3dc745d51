// SPDX-License-Identifier: BSD-3-Clause
// The steps that make a model of a builder. Each fills its part of a zeroed model, which
// sap_model_destroy frees at any stage.
#ifndef SAP_MULTIBODY_MODEL_COMPILE_H
#define SAP_MULTIBODY_MODEL_COMPILE_H

#include "multibody/model/builder.h"

// Depth-first order, trees, coordinates, dof tables, default pose.
sap_status sap_compile_number(sap_model* model, sap_error* error);
// The hulls of all meshes, one after the other.
sap_status sap_compile_meshes(const sap_builder* builder, sap_model* model, sap_error* error);
// Stiffness of shapes that name none.
sap_status sap_compile_stiffness(sap_model* model, sap_error* error);
// The tendons' lengths in the default pose; springs without a length are relaxed there.
sap_status sap_compile_tendons(sap_model* model, sap_error* error);
// Stiffness and damping from time constants and damping ratios.
sap_status sap_compile_springs(const sap_builder* builder, sap_model* model, sap_error* error);
// Damping from damping ratios, forces and ranges of muscles; after sap_compile_check_inertia.
sap_status sap_compile_actuators(const sap_builder* builder, sap_model* model, sap_error* error);
// NOT_SPD unless the mass matrix is positive definite in the default pose.
sap_status sap_compile_check_inertia(const sap_builder* builder, sap_model* model,
                                     sap_error* error);

#endif
