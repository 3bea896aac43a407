// Products of matrices by a library, as a process that answers lines:
//
//     PROGRAM THREADS f32|f64|u8 M N K a|b|none
//
// The last word names the operand that is a weight. Requests are "run [N]", the mean
// seconds of N products, one if N is left out, and "memory", the bytes that the process
// holds and the most that it held. Products of u8 have elements of int8 on the right and
// of int32 in the result.
#ifndef PEERS_PRODUCTS_H
#define PEERS_PRODUCTS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef enum { F32, F64, U8 } element;

// Rows of c = a b, all of them dense.
typedef struct {
    int threads;
    element type;
    long m, n, k;
    char constant; // 'a', 'b' or 'n'
    void *a, *b, *c;
} product;

// What a library defines: it gets ready, or returns why it cannot, and multiplies.
static const char *prepare(product *p);
static void multiply(const product *p);

static void *operand(const product *p, long count) {
    const size_t sizes[] = {sizeof(float), sizeof(double), 1};
    const size_t bytes = (size_t)count * sizes[p->type];
    void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!data) return NULL;
    for (long i = 0; i < count; i++) {
        if (p->type == F64) ((double *)data)[i] = (double)(i % 97) / 97;
        else if (p->type == F32) ((float *)data)[i] = (float)(i % 97) / 97;
        else ((uint8_t *)data)[i] = (uint8_t)(i % 97);
    }
    return data;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long status(const char *field) {
    char line[256];
    long found = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (!strncmp(line, field, strlen(field))) found = strtol(line + strlen(field), NULL, 10) * 1024;
    }
    if (f) fclose(f);
    return found;
}

static void answer(const product *p, const char *line) {
    if (!strncmp(line, "memory", 6)) {
        printf("%ld %ld\n", status("VmRSS:"), status("VmHWM:"));
        return;
    }
    const long runs = strlen(line) > 4 ? strtol(line + 4, NULL, 10) : 1;
    const double start = now();
    for (long i = 0; i < runs; i++) multiply(p);
    printf("%.9g\n", (now() - start) / (double)(runs ? runs : 1));
    // The library's threads would go on looking for work while another side is timed.
    const struct timespec rest = {0, 40000000};
    if (p->threads > 1) nanosleep(&rest, NULL);
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: %s THREADS f32|f64|u8 M N K a|b|none\n", argv[0]);
        return 2;
    }
    signal(SIGINT, SIG_IGN); // which is for the program that asks; it closes the input
    const element type = !strcmp(argv[2], "f64") ? F64 : !strcmp(argv[2], "u8") ? U8 : F32;
    product p = {atoi(argv[1]), type, atol(argv[3]), atol(argv[4]), atol(argv[5]), argv[6][0], NULL, NULL, NULL};
    p.a = operand(&p, p.m * p.k);
    p.b = operand(&p, p.k * p.n);
    p.c = operand(&p, p.m * p.n * (type == U8 ? (long)sizeof(int32_t) : 1));
    const char *problem = p.a && p.b && p.c ? prepare(&p) : "no memory";
    if (problem) {
        fprintf(stderr, "%s: %s\n", argv[0], problem);
        return 1;
    }
    printf("ready 0\n");
    fflush(stdout);
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        answer(&p, line);
        fflush(stdout);
    }
    return 0;
}

#endif
