package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/bench/side"
)

// walk is a run of the program.
type walk struct {
	options
	folder  string
	sides   [2]contender // Nacre first
	results results
}

// contender is a side with a process. After a failure the process is started anew.
type contender struct {
	name    string
	command func() *exec.Cmd
	process *side.Process
}

func newWalk(o options) (*walk, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	version, err := exec.Command(o.Python, "-c", "import onnx, onnxruntime; print(onnxruntime.__version__)").Output()
	if err != nil {
		return nil, fmt.Errorf("%s has no onnx or no onnxruntime, which scripts/setup-python.sh installs: %w",
			o.Python, err)
	}
	w := &walk{options: o}
	w.sides[0] = contender{name: "Nacre", command: func() *exec.Cmd { return exec.Command(program, side.ServeWord) }}
	w.sides[1] = contender{name: "ONNX Runtime", command: func() *exec.Cmd {
		return exec.Command(o.Python, filepath.Join("bench", "peers", "folders.py"))
	}}
	w.results = results{
		Date: time.Now().Format(time.DateOnly), Commit: report.Commit(),
		Peer: "ONNX Runtime " + strings.TrimSpace(string(version)), Rounds: o.Rounds,
	}
	if w.folder = o.keep; w.folder == "" {
		w.folder, err = os.MkdirTemp("", "nacre-walk-")
	}
	return w, err
}

func (w *walk) close() {
	for i := range w.sides {
		if w.sides[i].process != nil {
			w.sides[i].process.Close()
		}
	}
	if w.keep == "" {
		os.RemoveAll(w.folder)
	}
}

// ask returns the answer of a side. It starts the side's process if there is none.
func (c *contender) ask(request, argument string) (string, error) {
	if c.process == nil {
		p, err := side.Start(c.command())
		if err != nil {
			return "", err
		}
		c.process = p
	}
	answer, err := c.process.Ask(request + " " + argument)
	if err != nil { // the process has ended, or was killed
		c.process.Close()
		c.process = nil
		return "", fmt.Errorf("%s: %w", c.name, err)
	}
	if reason, failed := strings.CutPrefix(answer, "error "); failed {
		return "", fmt.Errorf("%s: %s", c.name, reason)
	}
	return answer, nil
}

// seconds returns the time that a request takes.
func (c *contender) seconds(request, argument string) (t float64, err error) {
	answer, err := c.ask(request, argument)
	if err == nil {
		_, err = fmt.Sscan(answer, &t)
	}
	return t, err
}

// walk times the rows until the context ends.
func (w *walk) walk(ctx context.Context, rows []row) {
	for i := range rows {
		if ctx.Err() != nil {
			fmt.Fprintf(os.Stderr, "stopped after %d of %d rows\n", i, len(rows))
			return
		}
		r := &rows[i]
		folder := filepath.Join(w.folder, r.group, strings.ReplaceAll(r.name, "/", "-"))
		found, err := w.row(r, folder)
		if err != nil {
			found = []timed{{Group: r.group, Name: r.name, Error: err.Error()}}
		}
		for _, f := range found {
			fmt.Fprintf(os.Stderr, "%d/%d %s\n", i+1, len(rows), f.line())
		}
		w.results.Rows = append(w.results.Rows, found...)
		if w.keep == "" {
			os.RemoveAll(folder)
		}
	}
}

// row makes the model of a row and times it.
func (w *walk) row(r *row, folder string) ([]timed, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	if err := r.build(folder); err != nil {
		return nil, fmt.Errorf("the model is not made: %w", err)
	}
	if r.group == ofOperators {
		if err := w.compare(r, folder); err != nil {
			return nil, err
		}
		f, err := w.time(r.group, r.name, "run", "1")
		return []timed{f}, err
	}
	path := filepath.Join(folder, "model.onnx")
	var list []timed
	for _, kind := range []struct{ group, request string }{{ofOpening, "open"}, {ofOpening + " and a run", "first"}} {
		f, err := w.time(kind.group, r.name, kind.request, path)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// compare opens a folder on both sides, and compares their answers.
func (w *walk) compare(r *row, folder string) error {
	paths := [2]string{filepath.Join(folder, "answer"), filepath.Join(folder, "test_data_set_0", "output")}
	var errs []error
	for i := range w.sides {
		c := &w.sides[i]
		_, err := c.ask("folder", folder)
		if err == nil {
			_, err = c.ask("answers", paths[i])
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return compareAnswers(paths[0], paths[1], r)
}

// Short runs are timed in blocks of about blockSeconds.
const (
	blockSeconds = 15e-3
	mostRuns     = 1000
)

// time times a request on both sides in turn. An argument of "1" is the number of runs in a block.
func (w *walk) time(group, name, request, argument string) (timed, error) {
	f := timed{Group: group, Name: name}
	var arguments [2]string
	for i := range w.sides {
		least := math.Inf(1)
		for range 2 {
			t, err := w.sides[i].seconds(request, argument)
			if err != nil {
				return f, err
			}
			least = min(least, t)
		}
		if arguments[i] = argument; argument == "1" {
			arguments[i] = fmt.Sprint(int(min(mostRuns, max(1, math.Ceil(blockSeconds/least)))))
		}
	}
	times, err := w.Time(len(w.sides), func(i int) (float64, error) {
		return w.sides[i].seconds(request, arguments[i])
	})
	if err != nil {
		return f, err
	}
	for i, list := range times {
		f.Best[i], f.Median[i] = list[0], list[len(list)/2]
	}
	return f, nil
}
