package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
)

// selfVariable names the environment variable that makes the test program a peer.
const selfVariable = "NACRE_BENCH_MODEL"

// TestMain runs the tests, or serves a model to another process of them.
func TestMain(m *testing.M) {
	if path := os.Getenv(selfVariable); path != "" {
		if err := serve(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// startSelf opens a model in Nacre in a process of its own, whose memory is that of the
// session alone. It answers "run", "generate PROMPT TOKENS" and "memory".
func startSelf(t testing.TB, model string) *peer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), selfVariable+"="+model)
	return startProcess(t, cmd)
}

// serve answers requests as peers/onnxruntime.py does.
func serve(path string) error {
	before, _ := memory()
	start := time.Now()
	m, err := nacre.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("ready", time.Since(start).Seconds())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var tokens [2]int
		n, _ := fmt.Sscanf(lines.Text(), "generate %d %d", &tokens[0], &tokens[1])
		switch {
		case lines.Text() == "run":
			inputs, err := ramps(s, nil)
			if err != nil {
				return err
			}
			start := time.Now()
			if _, err := s.Run(context.Background(), inputs); err != nil {
				return err
			}
			fmt.Println(time.Since(start).Seconds())
		case n == len(tokens):
			start := time.Now()
			if err := continued(s, tokens[0], tokens[1]); err != nil {
				return err
			}
			fmt.Println(time.Since(start).Seconds())
		case lines.Text() == "memory":
			held, most := memory()
			fmt.Println(held-before, most-before)
		default:
			return fmt.Errorf("no request %q", lines.Text())
		}
	}
	return nil
}

// continued generates that many tokens after a prompt of that many.
func continued(s *nacre.Session, prompt, tokens int) error {
	g, err := generate.New(s, generate.Options{})
	if err != nil {
		return err
	}
	for _, err := range g.Tokens(context.Background(), ascending(prompt), generate.Sampling{MaxTokens: tokens}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// ascending is a prompt of that many tokens.
func ascending(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i % 97)
	}
	return list
}

// memory returns the bytes that the process holds and the most that it held; 0 where
// the system does not tell.
func memory() (held, most int) {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.Atoi(f[1])
		switch f[0] {
		case "VmRSS:":
			held = n << 10
		case "VmHWM:":
			most = n << 10
		}
	}
	return held, most
}
