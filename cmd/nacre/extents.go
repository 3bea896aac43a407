package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/invent"
	"github.com/nacre-ml/nacre/internal/printable"
)

// dimFlags are the extents of open axes from the command line.
type dimFlags struct{ list []string }

func (f *dimFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.list, "dim", nil, "`NAME=N`: extent of an open axis, of one without a name as "+
		"INPUT[AXIS]; repeat for more")
}

// extents parses the flags. A name that is no open axis of inputs is an error.
func (f *dimFlags) extents(inputs []nacre.Info) (*invent.Extents, error) {
	e := &invent.Extents{Numbers: map[string]int{}}
	for _, arg := range f.list {
		i := strings.LastIndex(arg, "=")
		n, err := strconv.Atoi(arg[i+1:])
		if i < 0 || err != nil || n < 0 {
			return nil, usagef("--dim %s: the form is NAME=N", arg)
		}
		name := invent.Normal(arg[:i])
		if !invent.HasAxis(inputs, name) {
			return nil, fmt.Errorf("no axis of an input is named %q; the model takes %s", name, valueList(inputs))
		}
		e.Numbers[name] = n
	}
	return e, nil
}

// sayAssumed writes which extents were assumed.
func sayAssumed(w io.Writer, e *invent.Extents) {
	for _, name := range e.Assumed {
		printable.Fprintf(w, "%s = 1 (assumed; --dim %s=N sets it)\n", name, name)
	}
}
