// Command nacre runs, checks and measures neural networks. Results go to
// standard output, progress and diagnostics to standard error. It exits with 0
// when the work is done, 1 when it failed, 2 when it was called wrongly, and 128 and the
// signal's number when SIGINT, SIGTERM, SIGHUP or SIGQUIT ended it, or when nobody reads
// standard output any more (SIGPIPE). Text that comes from files is shown with escapes in
// place of control characters.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/printable"
)

func main() {
	endOnSignals()
	code := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	output.Abandon() // what work that was left behind writes
	os.Exit(code)
}

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// run runs the command with its arguments and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	began := false
	out := &results{w: stdout}
	shown := &printable.Writer{W: out}
	stderr = &printable.Writer{W: stderr}
	root := &cobra.Command{
		Use:               "nacre",
		Short:             "Nacre runs neural networks natively",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetArgs(args)
	root.SetOut(shown)
	root.SetErr(stderr)
	root.AddCommand(
		bounded(runCommand()), bounded(generateCommand()), bounded(heapBounded(inspectCommand())), bounded(heapBounded(verifyCommand())),
		bounded(heapBounded(convertCommand())), bounded(heapBounded(emitCommand())), conformanceCommand(),
		bounded(benchCommand()), bounded(checkCommand()), devicesCommand(), formatsCommand(), bounded(demoCommand()), versionCommand(),
	)
	// Cobra calls RunE when flags and arguments are what the command takes.
	for _, c := range root.Commands() {
		work := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error {
			began = true
			return formats.Guard(func() error { return work(cmd, args) })
		}
	}
	if len(args) == 0 {
		root.SetOut(stderr)
		_ = root.Help()
		return exitUsage
	}
	cmd, err := root.ExecuteContextC(ctx)
	var usage usageError
	var stopped signalError
	err = errors.Join(err, shown.Flush())
	if err == nil || out.err != nil && errors.Is(err, out.err) {
		err = out.err
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errReported):
		return exitFailed
	case errors.Is(out.err, syscall.EPIPE):
		return exitCode(brokenPipe)
	case errors.As(err, &stopped):
		return exitCode(stopped.Signal)
	case !began && out.err == nil || errors.As(err, &usage):
		printable.Fprintf(stderr, "nacre: %v\n%s --help says how it is called\n", err, cmd.CommandPath())
		return exitUsage
	}
	printable.Fprintf(stderr, "nacre: %v\n", err)
	return exitFailed
}

// errReported ends a command that failed and has already said how.
var errReported = errors.New("reported")

// usageError is a call that flags and arguments alone show to be wrong.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// takes checks that a command is given n arguments.
func takes(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s given; the form is %s", plural(len(args), "argument"), cmd.UseLine())
		}
		return nil
	}
}

// atLeast checks that a command is given n arguments or more.
func atLeast(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return takes(n)(cmd, args)
		}
		return nil
	}
}

// terminal reports whether w is one, and so may show progress and colours.
func terminal(w io.Writer) bool {
	w = asIs(w)
	if r, ok := w.(*results); ok {
		w = r.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
