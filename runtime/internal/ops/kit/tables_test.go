package kit_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/csrc"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestDTypeTables compares the rows of csrc/core/dtypes.inc with the Go table. Their place is the
// number of a type, so the rows are those of the first types, in order.
func TestDTypeTables(t *testing.T) {
	bits := map[string]int{"float": 32, "double": 64, "int8_t": 8, "int16_t": 16, "int32_t": 32, "int64_t": 64,
		"uint8_t": 8, "uint16_t": 16, "uint32_t": 32, "uint64_t": 64}
	kinds := map[string]tensor.Kind{"FLOAT": tensor.Float, "SIGNED": tensor.Signed, "UNSIGNED": tensor.Unsigned,
		"BOOLEAN": tensor.Boolean, "TEXT": tensor.Text, "COMPLEX": tensor.Complex}
	rows := inc(t, "core/dtypes.inc", "NACRE_(?:DTYPE|STORED)")
	for i, row := range rows {
		d, err := tensor.ParseDType(row[1])
		if err != nil {
			t.Errorf("C has %v: %v", row, err)
			continue
		}
		width, computed := bits[row[2]]
		if !computed {
			if width, err = strconv.Atoi(row[2]); err != nil {
				t.Errorf("C has %v: %v", row, err)
			}
		}
		if d != tensor.DType(i+1) {
			t.Errorf("%v is row %d of C, and %d in Go", d, i+1, d)
		}
		if d.Bits() != width || d.Kind() != kinds[row[3]] || (computed || d.Short() != "") && d.Short() != row[0] {
			t.Errorf("C has %v, Go %d bits of kind %v, called %q", row, d.Bits(), d.Kind(), d.Short())
		}
	}
	for _, d := range tensor.DTypes() {
		if int(d) > len(rows) {
			t.Errorf("C lacks %v", d)
		}
	}
}

// TestActivationTables compares the rows of csrc with the activations of recurrent networks, in
// order.
func TestActivationTables(t *testing.T) {
	var rows []string
	for _, file := range []string{"eltwise/activations.h", "rnn/rnn.h"} {
		text, err := csrc.Sources.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^    A\(ROW, t, T, (\w+),`).FindAllStringSubmatch(string(text), -1) {
			rows = append(rows, strings.ReplaceAll(m[1], "_", ""))
		}
	}
	var list []string
	for i, a := range kit.Activations() {
		if a.Of == nil {
			continue
		}
		list = append(list, strings.ToLower(a.Name))
		if a.Number() != i {
			t.Errorf("%s comes after activations that recurrent networks lack", a.Name)
		}
	}
	if !slices.Equal(rows, list) {
		t.Errorf("C has %v, Go %v", rows, list)
	}
}

// TestISATables compares the rows of csrc/core/isa.inc with the levels of the bindings.
func TestISATables(t *testing.T) {
	testenv.Need(t, bindings.Available())
	rows := inc(t, "core/isa.inc", "NACRE_ISA")
	levels := bindings.Levels()
	if len(rows) != len(levels) || len(rows) == 0 {
		t.Fatalf("C has %d rows, Go %d", len(rows), len(levels))
	}
	var seen bindings.ISA
	for i, l := range levels {
		if l.Name != rows[i][0] {
			t.Errorf("row %d is %s in C and %s in Go", i, rows[i][0], l.Name)
		}
		if seen&l.Mask != 0 {
			t.Errorf("level %s shares a bit with another", l.Name)
		}
		seen |= l.Mask
		if m, err := bindings.ParseISA(l.Name); err != nil || m != l.Mask || m.String() != l.Name {
			t.Errorf("level %s reads as %v, %v", l.Name, m, err)
		}
	}
}

func inc(t *testing.T, file, macro string) [][]string {
	t.Helper()
	text, err := csrc.Sources.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for _, m := range regexp.MustCompile(`(?m)^`+macro+`\((.*)\)$`).FindAllStringSubmatch(string(text), -1) {
		fields := strings.Split(m[1], ",")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		rows = append(rows, fields)
	}
	return rows
}
