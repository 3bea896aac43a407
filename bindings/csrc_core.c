// The C files of csrc/core, compiled here because cgo compiles only this folder.
#include "core/cpu.c"
#include "core/mem.c"
#include "core/parallel.c"
#include "core/run.c"
