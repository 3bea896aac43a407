// Command nacre runs, checks and measures neural networks. Results go to standard output, progress
// and diagnostics to standard error. Control characters in text of files are escaped.
//
// The exit code is 0 if the work is done, 1 if it fails, and 2 if the arguments are wrong. It is
// 128 plus the signal's number if SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the command, or SIGPIPE,
// as when nobody reads standard output any more.
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

	_ "github.com/nacre-ml/nacre/bindings/wazero" // kernels without cgo
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/printable"
)

func main() {
	endOnSignals()
	code := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	output.Abandon() // files of work that still runs
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
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(shown)
	root.SetErr(stderr)
	// Cobra calls RunE if flags and arguments are right.
	for _, c := range root.Commands() {
		work := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error {
			began = true
			return formats.Guard(func() error { return work(cmd, args) })
		}
	}
	addShells(root, args)
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
		_, _ = io.WriteString(stderr, "nacre: "+inFlags(cmd, err)+"\n"+cmd.CommandPath()+" --help says how it is called\n")
		return exitUsage
	}
	_, _ = io.WriteString(stderr, "nacre: "+inFlags(cmd, err)+"\n")
	return exitFailed
}

// rootCommand returns the command with all commands below it.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:     "nacre",
		Short:   "Nacre runs neural networks natively",
		Version: builtAs(),
		Example: `nacre demo
nacre run model.onnx --input image=cat.jpg`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetVersionTemplate("nacre {{.Version}}\n")
	root.SetHelpFunc(help)
	root.AddCommand(
		bounded(runCommand()), bounded(planCommand()), bounded(generateCommand()), bounded(chatCommand()), bounded(speakCommand()), bounded(heapBounded(inspectCommand())),
		bounded(heapBounded(verifyCommand())),
		bounded(heapBounded(convertCommand())), bounded(heapBounded(quantizeCommand())), bounded(heapBounded(emitCommand())), conformanceCommand(),
		bounded(benchCommand()), bounded(profileCommand()), bounded(checkCommand()), devicesCommand(), formatsCommand(), bounded(demoCommand()),
		webCommand(), manCommand(), versionCommand(),
	)
	addCompletions(root)
	return root
}

// errReported ends a command that failed and has already printed the reason.
var errReported = errors.New("reported")

// usageError reports flags or arguments that are wrong.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// takes checks that a command has n arguments.
func takes(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s given; the form is %s", plural(len(args), "argument"), cmd.UseLine())
		}
		return nil
	}
}

// atLeast checks that a command has n arguments or more.
func atLeast(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return takes(n)(cmd, args)
		}
		return nil
	}
}

// terminal reports whether w is a terminal, where progress and colours may appear.
func terminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// fileOf returns the file that w writes to; nil if it writes to none.
func fileOf(w io.Writer) *os.File {
	w = asIs(w)
	if r, ok := w.(*results); ok {
		w = r.w
	}
	f, _ := w.(*os.File)
	return f
}

// plural returns a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
