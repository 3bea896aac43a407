// Runs lists of commands.
#ifndef NACRE_CORE_RUN_H
#define NACRE_CORE_RUN_H

#include "core/kernel.h"

// A command in memory is 64-bit words:
//     the address of its row; its length in words, including this header;
//     the address of its scratch; the number of operands;
//     the addresses of the operands; its words
enum { NACRE_COMMAND_KERNEL, NACRE_COMMAND_LENGTH, NACRE_COMMAND_SCRATCH, NACRE_COMMAND_OPERANDS,
      NACRE_COMMAND_HEADER };

// nacre_job holds the inputs and results of nacre_run, all outside Go's heap. Addresses have 64 bits
// in it on every processor.
typedef struct {
    uint64_t code;  // of the commands, one after the other
    uint64_t commands;
    uint64_t pool;  // 0 for the caller alone
    uint64_t threads;
    uint64_t times;  // 0, or of space for commands + 1 times in ns, int64_t: each begin, and the end
    uint64_t stop;   // 0, or of the flag of the team, int32_t, which another thread may change
    uint64_t done;   // commands that ran to their end
    nacre_failure failure;
} nacre_job;

void nacre_run(nacre_job *job);

// nacre_failure_text and nacre_failure_kind return columns of a row of failures.inc, or NULL if
// there is no such row.
const char *nacre_failure_text(int64_t code);
const char *nacre_failure_kind(int64_t code);

#endif
