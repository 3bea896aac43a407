// Package bench measures speed: kernels against the machine's ceilings, and models against other
// runtimes.
package bench

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// Shape is the extents of a product of an M x K and a K x N matrix.
type Shape struct {
	Name     string
	M, N, K  int
	Constant string // the operand that is a weight: a, b or none
}

// ReadShapes reads a file of shapes. A line has a name, m, n, k and the constant operand. Text
// after # is a comment.
func ReadShapes(path string) ([]Shape, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []Shape
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		var s Shape
		if _, err := fmt.Sscan(text, &s.Name, &s.M, &s.N, &s.K, &s.Constant); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, text, err)
		}
		list = append(list, s)
	}
	return list, lines.Err()
}
