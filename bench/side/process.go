// Package side has the two sides of a comparison: a runtime in a process of its own, which answers
// lines, and Nacre as such a process.
package side

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ServeWord, as the first argument, makes a program one side of a comparison.
const ServeWord = "serve"

// Serving reports whether the program runs as one side of a comparison.
func Serving() bool { return len(os.Args) > 1 && os.Args[1] == ServeWord }

// Process is a runtime in a process of its own that has opened a model. It answers each line of a
// request with one line, as peers/onnxruntime.py says. It is stopped while it has no request to
// answer.
type Process struct {
	Opened float64 // seconds that opening the model took
	Close  func()  // ends the process and waits for its end

	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// patience is how long a request may take. A process that hangs is killed.
const patience = 3 * time.Minute

// Start starts a process. Its first line must be "ready" and the seconds that opening took.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, in: in, out: bufio.NewReader(out)}
	p.Close = sync.OnceFunc(func() {
		rest(cmd.Process, false)
		in.Close()
		cmd.Wait()
	})
	line, err := p.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscanf(line, "ready %g", &p.Opened)
	}
	if err == nil {
		err = rest(cmd.Process, true)
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("%s did not start: it said %q, %w", cmd, line, err)
	}
	return p, nil
}

// Ask sends a line and returns the line of the answer. A process that takes longer than patience is
// killed, and Ask returns an error.
func (p *Process) Ask(request string) (string, error) {
	late := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	err := rest(p.cmd.Process, false)
	if err == nil {
		_, err = fmt.Fprintln(p.in, request)
	}
	if err == nil {
		var line string
		if line, err = p.out.ReadString('\n'); err == nil {
			return strings.TrimSpace(line), rest(p.cmd.Process, true)
		}
	}
	return "", fmt.Errorf("%s does not answer %q: %w", p.cmd, request, err)
}

// Seconds returns the answer to a request that takes time.
func (p *Process) Seconds(request string) (float64, error) {
	line, err := p.Ask(request)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(line, 64)
}

// Memory returns the bytes that the process holds, and the most that it held since the request
// "forget", or ever. Both are beyond the bytes that it held before it opened the model.
func (p *Process) Memory() (held, most float64, err error) {
	line, err := p.Ask("memory")
	if err == nil {
		_, err = fmt.Sscan(line, &held, &most)
	}
	return held, most, err
}
