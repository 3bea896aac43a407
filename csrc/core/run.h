// Running a list of commands.
#ifndef NACRE_CORE_RUN_H
#define NACRE_CORE_RUN_H

#include "core/kernel.h"

// A command in memory is words of 64 bits:
//     the address of its row; its length in words, this header counted in;
//     the address of its scratch; how many operands there are;
//     the addresses of the operands; its words
enum { NACRE_COMMAND_KERNEL, NACRE_COMMAND_LENGTH, NACRE_COMMAND_SCRATCH, NACRE_COMMAND_OPERANDS, NACRE_COMMAND_HEADER };

// What a run is given and what it gives. All of it is memory outside Go's heap.
typedef struct {
    const uint64_t *code;  // the commands, one behind the other
    size_t commands;
    nacre_pool *pool;  // NULL for the caller alone
    size_t threads;
    int64_t *times;       // NULL, or room for commands + 1 times in nanoseconds: when each began, and the end
    const int32_t *stop;  // NULL, or a flag that another thread may set at any time to end the run
    size_t done;          // commands that ran to their end
    nacre_failure failure;
} nacre_job;

void nacre_run(nacre_job *job);

// The text and kind of a row of failures.inc; NULL past the last.
const char *nacre_failure_text(int64_t code);
const char *nacre_failure_kind(int64_t code);

#endif
