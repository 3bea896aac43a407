package main

import (
	"context"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/cmd/nacre/demo"
	"github.com/nacre-ml/nacre/internal/printable"
)

func demoCommand() *cobra.Command {
	var ascii bool
	var f sessionFlags
	cmd := &cobra.Command{
		Use:   "demo [PICTURE...]",
		Short: "Read handwritten digits: pictures that the program carries, or your own",
		Example: `nacre demo
nacre demo --ascii digit.png`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o, err := f.options()
			if err != nil {
				return err
			}
			pictures, err := demoPictures(args)
			if err != nil {
				return err
			}
			m, err := nacre.Decode("digits.onnx", demo.Model)
			if err != nil {
				return err
			}
			s, err := m.NewSessionContext(cmd.Context(), o)
			if err != nil {
				return join(err, m)
			}
			defer func() { err = join(err, s, m) }()
			w := cmd.OutOrStdout()
			return showDigits(cmd.Context(), w, s, pictures, !ascii && unicodeTerminal(w))
		},
	}
	cmd.Flags().BoolVar(&ascii, "ascii", false, "draw with plain characters")
	f.add(cmd.Flags())
	return cmd
}

func demoPictures(paths []string) ([]demo.Picture, error) {
	if len(paths) == 0 {
		return demo.Pictures()
	}
	var list []demo.Picture
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		p, err := demo.Decode(filepath.Base(path), f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// answer is the network's answer for one picture.
type answer struct {
	digit      int
	confidence float32
	time       time.Duration
}

// readDigit runs the network on one picture.
func readDigit(ctx context.Context, s *nacre.Session, p demo.Picture) (answer, error) {
	counts, err := demo.Counts(p.Grey)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", p.Name, err)
	}
	t, err := nacre.NewTensor(counts, 1, 1, demo.Side, demo.Side)
	if err != nil {
		return answer{}, err
	}
	start := time.Now()
	out, err := s.Run(ctx, map[string]*nacre.Tensor{"image": t})
	took := time.Since(start)
	if err != nil {
		return answer{}, err
	}
	scores, err := nacre.Data[float32](out["probabilities"])
	if err != nil {
		return answer{}, err
	}
	top := slices.Max(scores)
	return answer{slices.Index(scores, top), top, took}, nil
}

// perRow is the number of pictures side by side.
const perRow = 3

func showDigits(ctx context.Context, w io.Writer, s *nacre.Session, pictures []demo.Picture, unicode bool) error {
	var times []time.Duration
	right, known := 0, 0
	for row := range slices.Chunk(pictures, perRow) {
		var drawings [][]string
		var captions []string
		for _, p := range row {
			a, err := readDigit(ctx, s, p)
			if err != nil {
				return err
			}
			times = append(times, a.time)
			caption := fmt.Sprintf("%s: %d (%.1f %%)", p.Name, a.digit, 100*a.confidence)
			if p.Digit >= 0 {
				known++
				if a.digit == p.Digit {
					right++
				} else {
					caption += " WRONG"
				}
			}
			captions = append(captions, caption)
			drawings = append(drawings, drawing(p.Grey, unicode))
		}
		beside(w, drawings, captions)
	}
	slices.Sort(times)
	if known > 0 {
		printable.Fprintf(w, "%d of %d read right; ", right, known)
	}
	printable.Fprintf(w, "one run takes %v (median of %d)\n", times[len(times)/2].Round(time.Microsecond), len(times))
	if right < known {
		return errReported
	}
	return nil
}

// A drawing is dotsWide by dotsHigh dots; a character is one dot wide and two high.
const dotsWide, dotsHigh = 24, 24

// drawing renders a picture as lines of characters, all equally wide.
func drawing(g *image.Gray, unicode bool) []string {
	const threshold = 96
	dot := func(x, y int) bool {
		px := (2*x + 1) * g.Rect.Dx() / (2 * dotsWide)
		py := (2*y + 1) * g.Rect.Dy() / (2 * dotsHigh)
		return g.GrayAt(px, py).Y > threshold
	}
	marks := [4]string{" ", "▀", "▄", "█"}
	if !unicode {
		marks = [4]string{" ", "\"", ",", "#"}
	}
	var lines []string
	for y := 0; y < dotsHigh; y += 2 {
		var b strings.Builder
		for x := range dotsWide {
			mark := 0
			if dot(x, y) {
				mark |= 1
			}
			if dot(x, y+1) {
				mark |= 2
			}
			b.WriteString(marks[mark])
		}
		lines = append(lines, b.String())
	}
	return lines
}

// beside prints drawings next to each other, with their captions below.
func beside(w io.Writer, drawings [][]string, captions []string) {
	for y := range drawings[0] {
		var line string
		for _, d := range drawings {
			line += d[y] + "  "
		}
		printable.Fprintln(w, strings.TrimRight(line, " "))
	}
	var line string
	for _, c := range captions {
		line += fmt.Sprintf("%-*s", dotsWide+2, c)
	}
	printable.Fprintf(w, "%s\n\n", strings.TrimRight(line, " "))
}

// unicodeTerminal reports whether w is a terminal and the locale is UTF-8.
func unicodeTerminal(w io.Writer) bool {
	if !terminal(w) {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			v = strings.ToUpper(v)
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return false
}
