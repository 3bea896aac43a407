// Package report has the results of a comparison of runtimes: as a file, as tables, and the ratios
// in them.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Results is the measurements of one run of the comparison.
type Results struct {
	Date     string // as 2006-01-02
	CPU      string
	Cores    int
	Commit   string     // followed by "+" if files were changed since
	Load     [2]float64 // processes that wanted to run in the minute before the start, and before the end, this one's own among them
	Rounds   int        // runs of each side, if time does not end them
	Peers    []string
	Missing  []string // peers that were left out, with the cause
	Ceilings []Ceiling
	Rows     []Row
}

// Groups of rows, in the order of the tables.
const (
	Networks  = "networks"
	Recurrent = "recurrent layers"
	Short     = "short runs"
	Operators = "operators on 2 MB"
	Products  = "products"
)

// Ceiling is the best rates with a number of threads, probed between the rows.
type Ceiling struct {
	Threads int
	FMA     float64 // float32 operations a second, a multiply-add counted as two
	Dot     float64 // operations a second on integers of 8 bits, counted likewise; 0 if it was not probed
	Read    float64 // bytes a second from memory
}

// Row is one model with a number of threads.
type Row struct {
	Group, Name string
	Threads     int
	Wide        bool    // float64: half the ceiling of float32
	Int8        bool    // integers of 8 bits, which have a ceiling of their own
	Operations  float64 // of one run, in convolutions, products and recurrent layers
	Bytes       float64 // of weights, inputs and outputs
	Goal        float64 // the least ratio that is aimed for; 0 for none
	ScaleGoal   float64 // the least time on one thread over the time with this many; 0 for none
	Sides       []Side  // Nacre first
	Costly      []Steps // of Nacre, if the goal is missed
	Error       string  // why the row has no times
}

// Steps is the steps of one operator that the same kernels compute.
type Steps struct {
	Op      string
	How     string // device, binder and kernels
	Count   int
	Seconds float64
	Share   float64 // of the time of all steps
	Node    string  // the one that takes longest
	Inputs  string  // its types and shapes
	Longest float64 // its seconds
}

// Side is the time and memory that one runtime took.
type Side struct {
	Name         string
	Best, Median float64 // seconds of a run
	Rounds       int
	Opened       float64 // seconds until the model was open
	Held, Peak   float64 // bytes after and in a run, beyond the bytes before the model was opened
	OpenPeak     float64 // the most bytes until the first runs had ended
}

// Best returns the best time of the fastest peer over Nacre's best: above 1, Nacre is faster.
// Without a peer it returns 0.
func (r *Row) Best() float64 { return r.ratio(func(s Side) float64 { return s.Best }) }

// Median is Best for median runs.
func (r *Row) Median() float64 { return r.ratio(func(s Side) float64 { return s.Median }) }

// Memory returns the most memory in runs of Nacre over the first peer's. If either is not known, it
// returns 0.
func (r *Row) Memory() float64 {
	if len(r.Sides) < 2 || r.Sides[0].Peak <= 0 || r.Sides[1].Peak <= 0 {
		return 0
	}
	return r.Sides[0].Peak / r.Sides[1].Peak
}

// Opening returns the time that the first peer took to open the model over Nacre's. If either is
// not known, it returns 0.
func (r *Row) Opening() float64 {
	if len(r.Sides) < 2 || r.Sides[0].Opened <= 0 {
		return 0
	}
	return r.Sides[1].Opened / r.Sides[0].Opened
}

func (r *Row) ratio(of func(Side) float64) float64 {
	if len(r.Sides) < 2 {
		return 0
	}
	least := of(r.Sides[1])
	for _, s := range r.Sides[2:] {
		least = min(least, of(s))
	}
	return least / of(r.Sides[0])
}

// Missed reports whether the best or the median ratio is below the goal.
func (r *Row) Missed() bool {
	return r.Goal > 0 && len(r.Sides) > 1 && min(r.Best(), r.Median()) < r.Goal
}

// Shares returns the operations and the bytes of Nacre's best run as parts of what the ceilings
// allow in its time. Without a ceiling it returns 0.
func (r *Results) Shares(row *Row) (fma, read float64) {
	i := slices.IndexFunc(r.Ceilings, func(c Ceiling) bool { return c.Threads == row.Threads })
	if i < 0 || len(row.Sides) == 0 {
		return 0, 0
	}
	c, t := r.Ceilings[i], row.Sides[0].Best
	rate := c.FMA
	switch {
	case row.Wide:
		rate /= 2
	case row.Int8:
		rate = c.Dot
	}
	return row.Operations / t / rate, row.Bytes / t / c.Read
}

// Scale returns the time of Nacre's best run on one thread over the row's. It returns 0 for a row
// of one thread, and if there is none to compare with.
func (r *Results) Scale(row *Row) float64 {
	one := r.Find(row.Name, 1)
	if row.Threads == 1 || one == nil || len(one.Sides) == 0 || len(row.Sides) == 0 {
		return 0
	}
	return one.Sides[0].Best / row.Sides[0].Best
}

// Busy reports whether more processes wanted to run than cores and this run's own. Times of several
// threads then say little.
func (r *Results) Busy() bool { return max(r.Load[0], r.Load[1]) > float64(r.Cores+1) }

// Find returns the row of a name and number of threads, or nil.
func (r *Results) Find(name string, threads int) *Row {
	for i := range r.Rows {
		if r.Rows[i].Name == name && r.Rows[i].Threads == threads {
			return &r.Rows[i]
		}
	}
	return nil
}

// Save writes the results as a JSON file.
func (r *Results) Save(path string) error { return writeJSON(path, r) }

// Load reads a file of Save.
func Load(path string) (*Results, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Results)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, row := range r.Rows {
		for _, s := range row.Sides {
			if s.Best <= 0 || s.Median < s.Best {
				return nil, fmt.Errorf("%s: row %s: the times of %s are %g and %g", path, row.Name, s.Name, s.Best, s.Median)
			}
		}
	}
	return r, nil
}

// Newest returns the last results of a folder. Their names are a date and a commit; files with
// other names belong to other programs.
func Newest(folder string) (string, error) {
	list, err := filepath.Glob(filepath.Join(folder, "*.json"))
	list = slices.DeleteFunc(list, func(path string) bool { return strings.Count(filepath.Base(path), "-") != 3 })
	if err == nil && len(list) == 0 {
		err = errors.New("no results in " + folder)
	}
	if err != nil {
		return "", err
	}
	return slices.Max(list), nil
}
