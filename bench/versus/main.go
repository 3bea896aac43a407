// Versus times Nacre in turn with other runtimes, and writes tables to standard output
// and what it measured to a folder. scripts/bench-peers.sh sets up the peers and runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/bench/side"
)

// serveWord, as the first argument, makes the program one side of the comparison.
const serveWord = "serve"

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == serveWord {
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
		return fmt.Errorf("%s takes a model and a number of threads", serveWord)
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
	signal.Ignore(os.Interrupt) // which is for the program that asks; it closes the input
	return side.Serve(o, os.Stdin, os.Stdout)
}

// options are those of the command line.
type options struct {
	pattern  *regexp.Regexp
	threads  []int
	rounds   int
	budget   time.Duration
	programs string
	python   string
	out      string
	list     bool
}

func parse(args []string) (options, error) {
	f := flag.NewFlagSet("versus", flag.ExitOnError)
	var o options
	pattern := f.String("run", "", "rows whose GROUP/NAME match this `expression`")
	threads := f.String("threads", "1,2", "numbers of threads")
	quick := f.Bool("quick", false, "few rounds: 5 within a second for each row")
	f.IntVar(&o.rounds, "rounds", 20, "runs, or blocks of short runs, of each side")
	f.DurationVar(&o.budget, "budget", 4*time.Second, "time for a row with a number of threads, after which it has 3 rounds or as many as it has")
	f.StringVar(&o.programs, "programs", filepath.Join("build", "peers"), "`folder` of the programs that multiply with other libraries")
	f.StringVar(&o.python, "python", filepath.Join(".venv", "bin", "python"), "Python that has ONNX Runtime")
	f.StringVar(&o.out, "out", "", "`folder` for what was measured, as JSON and text; none if empty")
	f.BoolVar(&o.list, "list", false, "list the rows and run none")
	f.Parse(args)
	if f.NArg() > 0 {
		return o, fmt.Errorf("%q is no option; -run EXPRESSION chooses rows", f.Arg(0))
	}
	if *quick {
		o.rounds, o.budget = 5, time.Second
	}
	if o.rounds < 1 {
		return o, fmt.Errorf("option -rounds is %d; 1 is the least", o.rounds)
	}
	for _, text := range strings.Split(*threads, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return o, fmt.Errorf("option -threads has %q, which is no number of threads", text)
		}
		o.threads = append(o.threads, n)
	}
	var err error
	o.pattern, err = regexp.Compile(*pattern)
	return o, err
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
	var chosen []row
	for _, r := range all {
		if o.pattern.MatchString(r.group + "/" + r.name) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no row matches -run %v; -list names them", o.pattern)
	}
	if o.list {
		for _, r := range chosen {
			fmt.Println(r.group + "/" + r.name)
		}
		return nil
	}
	c, err := newComparison(o)
	if err != nil {
		return err
	}
	defer c.close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed := c.compare(ctx, chosen)
	return finish(c.finished(), o.out, failed)
}

// finish prints the tables, and writes them where a folder is given.
func finish(r *report.Results, folder string, failed int) error {
	text := r.Text()
	fmt.Print(text)
	if folder != "" {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		base := filepath.Join(folder, r.Date+"-"+strings.TrimSuffix(r.Commit, "+"))
		if err := r.Save(base + ".json"); err != nil {
			return err
		}
		if err := report.WriteFile(base+".txt", []byte(text)); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "written: %s.json, %s.txt\n", base, base)
	}
	if failed > 0 {
		return fmt.Errorf("%d rows failed; the tables say why", failed)
	}
	return nil
}
