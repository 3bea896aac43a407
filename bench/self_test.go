package bench

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/nacre-ml/nacre/bench/side"
)

// selfVariable names the environment variable that makes the test program a peer.
const selfVariable = "NACRE_BENCH_MODEL"

// TestMain runs the tests, or serves a model to another process of them.
func TestMain(m *testing.M) {
	if path := os.Getenv(selfVariable); path != "" {
		if err := side.Serve(side.Options{Model: path, Threads: 1}, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// startSelf opens a model in Nacre in a process of its own, so that the process holds only the
// session's memory. It answers "run", "generate PROMPT TOKENS" and "memory".
func startSelf(t testing.TB, model string) *peer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), selfVariable+"="+model)
	return startProcess(t, cmd)
}
