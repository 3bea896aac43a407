// Walk runs every operator beside ONNX Runtime on one thread, opens every network, and prints
// tables sorted by the ratio of the times.
//
//	go run ./bench/walk                               # everything
//	go run ./bench/walk -run 'operators/(Conv|Gemm)'  # some rows
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/nacre-ml/nacre/bench/side"
)

// serveWord, as the first argument, makes the program Nacre's side of the comparison.
const serveWord = "serve"

func main() {
	if len(os.Args) > 1 && os.Args[1] == serveWord {
		signal.Ignore(os.Interrupt) // which is for the program that asks; it closes the input
		if err := new(side.Folders).Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "walk:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

// options are those of the command line.
type options struct {
	pattern *regexp.Regexp
	rounds  int
	budget  time.Duration
	python  string
	out     string
	keep    string
	list    bool
}

func parse(args []string) (options, error) {
	f := flag.NewFlagSet("walk", flag.ExitOnError)
	var o options
	pattern := f.String("run", "", "rows whose GROUP/NAME match this `expression`")
	quick := f.Bool("quick", false, "few rounds: 4 within a quarter of a second for each row")
	f.IntVar(&o.rounds, "rounds", 15, "runs, or blocks of short runs, of each side")
	f.DurationVar(&o.budget, "budget", time.Second, "time for a row, after which it has 3 rounds or as many as it has")
	f.StringVar(&o.python, "python", filepath.Join(".venv", "bin", "python"), "Python that has ONNX Runtime and onnx")
	f.StringVar(&o.out, "out", "", "`folder` for the tables, as JSON and text; none if empty")
	f.StringVar(&o.keep, "keep", "", "`folder` for the models with their inputs and answers; none if empty")
	f.BoolVar(&o.list, "list", false, "list the rows and run none")
	f.Parse(args)
	if f.NArg() > 0 {
		return o, fmt.Errorf("%q is no option; -run EXPRESSION chooses rows", f.Arg(0))
	}
	if *quick {
		o.rounds, o.budget = 4, time.Second/4
	}
	if o.rounds < 1 {
		return o, fmt.Errorf("option -rounds is %d; 1 is the least", o.rounds)
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
	all, err := rows()
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
	w, err := newWalk(o)
	if err != nil {
		return err
	}
	defer w.close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w.walk(ctx, chosen)
	return w.finish()
}
