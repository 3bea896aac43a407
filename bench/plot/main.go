// Plot draws as a PNG the ratios of networks in results of the comparison of runtimes, or the errors
// of weights in a report of nacre quantize --json:
//
//	go -C bench/plot run . ../results/NAME.json
//
// writes ../results/NAME.png.
package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/nacre-ml/nacre/bench/report"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: plot RESULTS.json")
		os.Exit(2)
	}
	if err := draws(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

// draws writes the picture of a file of results beside it.
func draws(path string) error {
	q, err := loadQuantised(path)
	if err != nil {
		return err
	}
	if q != nil {
		p, rows, err := q.picture()
		return save(p, rows, path, err)
	}
	r, err := report.Load(path)
	if err != nil {
		return err
	}
	p, rows, err := picture(r)
	return save(p, rows, path, err)
}

// save writes a picture beside the file that it is of, unless err says that there is none.
func save(p *plot.Plot, rows int, path string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return p.Save(8*vg.Inch, vg.Inch+vg.Length(rows)*0.3*vg.Inch, strings.TrimSuffix(path, ".json")+".png")
}

// colors are for one thread and for two.
var colors = []color.Color{color.RGBA{R: 0x1b, G: 0x6c, B: 0xa8, A: 0xff},
	color.RGBA{R: 0x8f, G: 0xc1, B: 0xe3, A: 0xff}}

// shades are for types of weights.
var shades = []color.Color{color.RGBA{R: 0x1b, G: 0x6c, B: 0xa8, A: 0xff}, color.RGBA{R: 0xd9, G: 0x6b, B: 0x27, A: 0xff},
	color.RGBA{R: 0x3a, G: 0x8f, B: 0x4d, A: 0xff}, color.RGBA{R: 0x8e, G: 0x4b, B: 0xa3, A: 0xff},
	color.RGBA{R: 0x77, G: 0x77, B: 0x77, A: 0xff}}

// picture returns bars of the best ratios of networks, and the number of networks.
func picture(r *report.Results) (*plot.Plot, int, error) {
	names, threads := networks(r)
	if len(names) == 0 {
		return nil, 0, errors.New("no networks in turn with a peer")
	}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Speed, ONNX Runtime = 1, best runs\n%s, %d cores, %s, %s", r.CPU, r.Cores, r.Date,
		r.Commit)
	p.X.Label.Text = "above 1 Nacre is faster"
	p.X.Min = 0
	p.X.Tick.Marker = plot.TickerFunc(halves)
	p.NominalY(names...)
	p.Legend.Top = true
	width := vg.Points(18 / float64(len(threads)))
	for i, n := range threads {
		values := make(plotter.Values, len(names))
		for k, name := range names {
			if row := r.Find(name, n); row != nil {
				values[k] = row.Best()
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return nil, 0, err
		}
		bars.Horizontal = true
		bars.Color = colors[i%len(colors)]
		bars.LineStyle.Width = 0
		bars.Offset = width * vg.Length(float64(len(threads)-1)/2-float64(i))
		p.Add(bars)
		p.Legend.Add(fmt.Sprintf("threads: %d", n), bars)
	}
	if err := marks(p, r, names); err != nil {
		return nil, 0, err
	}
	return p, len(names), nil
}

// halves marks every half on an axis.
func halves(low, high float64) []plot.Tick {
	var list []plot.Tick
	for v := math.Ceil(2*low) / 2; v <= high; v += 0.5 {
		list = append(list, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	return list
}

// marks adds a line at 1, and the goals of one thread.
func marks(p *plot.Plot, r *report.Results, names []string) error {
	var goals plotter.XYs
	for i, name := range names {
		if row := r.Find(name, 1); row != nil && row.Goal > 0 {
			goals = append(goals, plotter.XY{X: row.Goal, Y: float64(i)})
		}
	}
	even, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(len(names)) - 0.5}})
	if err != nil {
		return err
	}
	p.Add(even)
	if len(goals) == 0 {
		return nil
	}
	points, err := plotter.NewScatter(goals)
	if err != nil {
		return err
	}
	points.Shape, points.Radius = draw.PlusGlyph{}, vg.Points(4)
	p.Add(points)
	p.Legend.Add("goal of one thread", points)
	return nil
}

// networks returns the names of networks that a peer ran too, the last first, and the numbers of
// threads. If the machine was busy, it returns one thread only.
func networks(r *report.Results) (names []string, threads []int) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Group != report.Networks || row.Best() == 0 || row.Threads > 1 && r.Busy() {
			continue
		}
		if !slices.Contains(names, row.Name) {
			names = append(names, row.Name)
		}
		if !slices.Contains(threads, row.Threads) {
			threads = append(threads, row.Threads)
		}
	}
	slices.Reverse(names)
	return names, threads
}
