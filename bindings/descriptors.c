// The standard descriptors that were closed when the process started. Go's runtime opens /dev/null
// in their place before any Go code runs, so a C constructor checks them first.
#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>

static unsigned closed_at_start;

__attribute__((constructor)) static void note_closed(void) {
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) == -1) closed_at_start |= 1u << i;
}

unsigned nacre_closed_at_start(void) { return closed_at_start; }
#else
unsigned nacre_closed_at_start(void) { return 0; }
#endif
