package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// quantised is a report of nacre quantize --json.
type quantised struct {
	Type   string
	Layers []struct {
		Name, To    string
		Bits, Error float64
	}
	Bytes, Before int64
	Error         float64
}

// loadQuantised reads a report. It returns nil if the file holds other JSON.
func loadQuantised(path string) (*quantised, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var q quantised
	if err := json.Unmarshal(data, &q); err != nil || q.Layers == nil {
		return nil, nil
	}
	return &q, nil
}

// picture returns bars of the errors of weights, with a colour for each type, and the number of
// weights.
func (q *quantised) picture() (*plot.Plot, int, error) {
	var names, types []string
	for _, l := range slices.Backward(q.Layers) {
		names = append(names, l.Name)
		if !slices.Contains(types, l.To) {
			types = append(types, l.To)
		}
	}
	if len(names) == 0 {
		return nil, 0, errors.New("no weights")
	}
	slices.Sort(types)
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Weights as %s: %d bytes of %d, error %.2f %%", q.Type, q.Bytes, q.Before, 100*q.Error)
	p.X.Label.Text = "error in %"
	p.X.Min = 0
	p.NominalY(names...)
	p.Legend.Top = true
	for i, to := range types {
		values := make(plotter.Values, len(names))
		bits := 0.0
		for k, l := range q.Layers {
			if l.To == to {
				values[len(names)-1-k], bits = 100*l.Error, l.Bits
			}
		}
		bars, err := plotter.NewBarChart(values, vg.Points(12))
		if err != nil {
			return nil, 0, err
		}
		bars.Horizontal = true
		bars.Color = shades[i%len(shades)]
		bars.LineStyle.Width = 0
		p.Add(bars)
		p.X.Max = max(p.X.Max, 1.25*slices.Max(values)) // room for the legend
		p.Legend.Add(fmt.Sprintf("%s, %.3g bits", to, bits), bars)
	}
	return p, len(names), nil
}
