/*-------------------------------------------------------------------------
 *
 * create.h
 *		Defining generators, and dropping their definitions.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_CREATE_H
#define COSID_CREATE_H

#include "define/definition.h"

extern bool cosid_definition_first_use(CosidDefinition *definition,
									   const char *name, int length);
extern bool cosid_definition_declare(const char *name, int length);
extern void cosid_definition_create(const NullableDatum *arguments,
									bool safe_javascript);
extern void cosid_definition_drop(const char *name, int length);

#endif							/* COSID_CREATE_H */
