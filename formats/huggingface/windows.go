package huggingface

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// window returns sliding_window, the number of keys that a query sees. It is 0 for null, and
// otherwise if the setting is missing.
func (d *design) window(otherwise int) (int, error) {
	w := d.settings.Window
	switch {
	case !w.given:
		return otherwise, nil
	case w.value == nil:
		return 0, nil
	case *w.value != math.Trunc(*w.value) || *w.value < 1 || *w.value > math.MaxInt32:
		return 0, refused(graph.ErrFormat, "sliding_window is %v; it must be a whole number above 0, or null", *w.value)
	}
	return int(*w.value), nil
}

// everyWindow gives all layers the window, if there is one.
func (d *design) everyWindow(otherwise int) error {
	w, err := d.window(otherwise)
	for i := range d.windows {
		d.windows[i] = w
	}
	return err
}

// lateWindows gives a window to the layers from max_window_layers on, if use_sliding_window is set.
func (d *design) lateWindows() (err error) {
	w := 0
	if d.UseWindow {
		if w, err = d.window(4096); err != nil {
			return err
		}
	}
	first := or(d.WindowLayers, 28)
	return d.windowsOf(w, func(i int) bool { return w > 0 && i >= first })
}

// someWindows reads the window, by default 4096, and gives it to layers as windowsOf does.
func (d *design) someWindows(slides func(layer int) bool) error {
	w, err := d.window(4096)
	if err != nil {
		return err
	}
	return d.windowsOf(w, slides)
}

// windowsOf gives a window to the sliding layers in layer_types or, without layer_types, to the
// layers for which slides is true. It fails if a layer slides without a window.
func (d *design) windowsOf(w int, slides func(layer int) bool) error {
	if d.LayerTypes != nil && len(d.LayerTypes) != d.layers {
		return refused(graph.ErrFormat, "layer_types has %d names for %d layers", len(d.LayerTypes), d.layers)
	}
	for i := range d.windows {
		sliding := slides(i)
		if d.LayerTypes != nil {
			switch d.LayerTypes[i] {
			case "sliding_attention":
				sliding = true
			case "full_attention":
				sliding = false
			default:
				return refused(graph.ErrUnsupported, "layer_types has %q; it takes full_attention, sliding_attention", d.LayerTypes[i])
			}
		}
		switch {
		case sliding && w == 0:
			return refused(graph.ErrFormat, "layer %d is of type sliding_attention, and no sliding_window is in use", i)
		case sliding:
			d.windows[i] = w
		}
	}
	return nil
}
