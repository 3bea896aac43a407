// Package turns is shared by programs that time rows on several sides in turn: options of their
// command lines, the choice of rows, and the turns.
package turns

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Bounds bound how long a row is timed.
type Bounds struct {
	Rounds int           // runs, or blocks of short runs, of each side
	Budget time.Duration // after it a row has fewestRounds rounds, or as many as it has
}

// fewestRounds is the number of rounds that a row has however long they take.
const fewestRounds = 3

// Options are the options of the command line.
type Options struct {
	Bounds
	Python string // program that has the peer
	Out    string // folder for results; none if empty

	pattern *regexp.Regexp
	list    bool
}

// Parse reads a command line of these options and of the options that f has already. The bounds are
// usual's, or quick's with -quick.
func Parse(f *flag.FlagSet, args []string, usual, quick Bounds) (Options, error) {
	o := Options{Bounds: usual}
	pattern := f.String("run", "", "rows with a GROUP/NAME that matches this `expression`")
	few := f.Bool("quick", false, fmt.Sprintf("few rounds: %d within %v for each row", quick.Rounds, quick.Budget))
	f.IntVar(&o.Rounds, "rounds", o.Rounds, "runs, or blocks of short runs, of each side")
	f.DurationVar(&o.Budget, "budget", o.Budget, "time for a row; after it no round follows the third")
	f.StringVar(&o.Python, "python", filepath.Join(".venv", "bin", "python"), "Python that has ONNX Runtime")
	f.StringVar(&o.Out, "out", "", "`folder` for the measurements, as JSON and text; none if empty")
	f.BoolVar(&o.list, "list", false, "list the rows and run none")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("%q is no option; -run EXPRESSION chooses rows", f.Arg(0))
	}
	if *few {
		o.Bounds = quick
	}
	if o.Rounds < 1 {
		return o, fmt.Errorf("option -rounds is %d; 1 is the least", o.Rounds)
	}
	var err error
	o.pattern, err = regexp.Compile(*pattern)
	return o, err
}

// Choose returns the rows to time: the rows with a name that matches. If a list is asked for, it
// prints their names and returns none.
func Choose[R interface{ Title() string }](o Options, rows []R) ([]R, error) {
	chosen := slices.DeleteFunc(slices.Clone(rows), func(r R) bool { return !o.pattern.MatchString(r.Title()) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no row matches -run %v; -list names them", o.pattern)
	}
	if !o.list {
		return chosen, nil
	}
	for _, r := range chosen {
		fmt.Println(r.Title())
	}
	return nil, nil
}

// Time times sides in turn, another one first in each round, and returns the times of each in
// ascending order.
func (b Bounds) Time(sides int, seconds func(side int) (float64, error)) ([][]float64, error) {
	times := make([][]float64, sides)
	start := time.Now()
	for round := 0; round < b.Rounds && (round < fewestRounds || time.Since(start) < b.Budget); round++ {
		for k := range sides {
			i := (round + k) % sides
			t, err := seconds(i)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], t)
		}
	}
	for _, list := range times {
		slices.Sort(list)
	}
	return times, nil
}
