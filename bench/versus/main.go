// Versus times Nacre in turn with other runtimes. It writes tables to standard output and results
// to a folder. scripts/bench-peers.sh sets up the peers and runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/bench/turns"
)

func main() {
	var err error
	if side.Serving() {
		err = serve(os.Args[2:])
	} else {
		err = run(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(1)
	}
}

// serve opens a model as a side: MODEL THREADS [SYMBOL=SIZE ...].
func serve(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("%s takes a model and a number of threads", side.ServeWord)
	}
	threads, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	o := side.Options{Model: args[0], Threads: threads, Sizes: map[string]int{}}
	for _, a := range args[2:] {
		name, text, _ := strings.Cut(a, "=")
		if o.Sizes[name], err = strconv.Atoi(text); err != nil {
			return err
		}
	}
	side.IgnoreInterrupts()
	return side.Serve(o, os.Stdin, os.Stdout)
}

// options are the options of the command line.
type options struct {
	turns.Options
	threads  []int
	programs string
	node     string
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("versus", flag.ExitOnError)
	threads := f.String("threads", "1,2", "numbers of threads; a row is timed with each")
	f.StringVar(&o.programs, "programs", filepath.Join("build", "peers"), "`folder` of the programs that multiply "+
		"with other libraries")
	f.StringVar(&o.node, "node", "", "compare in Node, as WebAssembly, by the programs of this `folder`, which "+
		"scripts/bench-node.sh fills")
	usual, quick := turns.Bounds{Rounds: 20, Budget: 4 * time.Second}, turns.Bounds{Rounds: 5, Budget: time.Second}
	if o.Options, err = turns.Parse(f, args, usual, quick); err != nil {
		return o, err
	}
	for _, text := range strings.Split(*threads, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return o, fmt.Errorf("option -threads has %q, which is no number of threads", text)
		}
		o.threads = append(o.threads, n)
	}
	return o, nil
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	all, err := rows(filepath.Join("bench", "shapes"))
	if err != nil {
		return err
	}
	chosen, err := turns.Choose(o.Options, all)
	if err != nil || len(chosen) == 0 {
		return err
	}
	c, err := newComparison(o)
	if err != nil {
		return err
	}
	defer c.close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed := c.compare(ctx, chosen)
	return finish(c.finished(), o, failed)
}

// finish prints the tables. If a folder is given, it writes them there. Results in Node have a name
// of their own.
func finish(r *report.Results, o options, failed int) error {
	text := r.Text()
	fmt.Print(text)
	if o.Out != "" {
		name := r.Date + "-" + strings.TrimSuffix(r.Commit, "+")
		if o.node != "" {
			name += "-node"
		}
		if err := report.WriteTables(o.Out, name, r, text); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d rows failed; the tables say why", failed)
	}
	return nil
}
