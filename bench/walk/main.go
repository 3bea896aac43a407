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
	"syscall"
	"time"

	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/bench/turns"
)

func main() {
	if side.Serving() {
		signal.Ignore(os.Interrupt) // meant for the program that asks; it closes the input
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

// options are the options of the command line.
type options struct {
	turns.Options
	keep string
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("walk", flag.ExitOnError)
	f.StringVar(&o.keep, "keep", "", "`folder` for the models with their inputs and answers; none if empty")
	usual, quick := turns.Bounds{Rounds: 15, Budget: time.Second}, turns.Bounds{Rounds: 4, Budget: time.Second / 4}
	o.Options, err = turns.Parse(f, args, usual, quick)
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
	chosen, err := turns.Choose(o.Options, all)
	if err != nil || len(chosen) == 0 {
		return err
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
