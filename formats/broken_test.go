package formats_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// TestBroken reads files of every format that are cut short, and files with a bit flipped. They are
// read, or refused by an error of the file, which verifying finds, too. Long files are cut and
// flipped at some bytes only.
func TestBroken(t *testing.T) {
	for _, f := range formats.Formats {
		t.Run(f.Name, func(t *testing.T) {
			dir := t.TempDir()
			whole, broken := filepath.Join(dir, "whole"), filepath.Join(dir, "broken")
			if err := formats.SaveAs(whole, f.Name, sample(t, f.Name, 8), formats.Options{}); err != nil {
				t.Fatal(err)
			}
			data := contents(t, whole)
			check := func(at int, data []byte) {
				m, err := formats.Decode(broken, data)
				if err == nil {
					if err := m.Close(); err != nil {
						t.Error(err)
					}
					return
				}
				var e *graph.Error
				if !errors.As(err, &e) || errors.Is(err, guard.ErrInternal) || e.Offset > int64(len(data)) {
					t.Errorf("byte %d of %d: %v", at, len(data), err)
				}
				if err := os.WriteFile(broken, data, 0o666); err != nil {
					t.Fatal(err)
				}
				if len(formats.Verify(broken)) == 0 {
					t.Errorf("byte %d of %d: verifying does not find %v", at, len(data), err)
				}
			}
			const each = 200 // bytes at the beginning that are all changed
			for at := 0; at < len(data); at += 1 + max(0, at-each)/8 {
				check(at, data[:at:at])
				flipped := bytes.Clone(data)
				flipped[at] ^= 1 << (at % 8)
				check(at, flipped)
			}
		})
	}
}
