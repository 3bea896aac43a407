package bindings

import (
	"fmt"
	"os"
	"strings"
)

// ISA is a set of instruction-set levels, the rows of csrc/core/isa.inc.
type ISA uint32

// ISAVariable is the environment variable that restricts the levels in use: "scalar" for none, else
// a comma-separated list of level names.
const ISAVariable = "NACRE_ISA"

// Level is one instruction-set level: its name, the CPU features that it needs, and its bit.
type Level struct {
	Name, Text string
	Mask       ISA
}

// DefaultISA returns the detected levels, restricted by the environment variable ISAVariable. An
// unknown level in it is an error.
func DefaultISA() (ISA, error) {
	list, ok := os.LookupEnv(ISAVariable)
	if !ok || list == "" {
		return DetectISA(), nil
	}
	mask, err := ParseISA(list)
	if err != nil {
		return 0, fmt.Errorf("environment variable %s: %w", ISAVariable, err)
	}
	return mask & DetectISA(), nil
}

// ParseISA parses a comma-separated list of level names. "scalar" adds no level.
func ParseISA(list string) (ISA, error) {
	var mask ISA
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		if name == "scalar" || name == "" {
			continue
		}
		found := false
		for _, l := range Levels() {
			if l.Name == name {
				mask, found = mask|l.Mask, true
			}
		}
		if !found {
			return 0, fmt.Errorf("%q is no instruction-set level; have scalar, %s", name, Levels().names())
		}
	}
	return mask, nil
}

// LevelList is the table of levels in the order of isa.inc.
type LevelList []Level

func (l LevelList) names() string {
	names := make([]string, len(l))
	for i, row := range l {
		names[i] = row.Name
	}
	return strings.Join(names, ", ")
}

// String returns the names of the levels, or "scalar".
func (m ISA) String() string {
	var names []string
	for _, l := range Levels() {
		if m&l.Mask != 0 {
			names = append(names, l.Name)
		}
	}
	if names == nil {
		return "scalar"
	}
	return strings.Join(names, ",")
}
