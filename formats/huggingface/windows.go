package huggingface

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// window returns how many keys sliding_window lets a query see; 0 for null. Otherwise
// stands for a setting that is not there.
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

// lateWindows gives the layers from max_window_layers on a window, if the configuration
// uses it.
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

// someWindows gives a window to layers as windowsOf does.
func (d *design) someWindows(slides func(layer int) bool) error {
	w, err := d.window(4096)
	if err != nil {
		return err
	}
	return d.windowsOf(w, slides)
}

// windowsOf gives a window to the layers that layer_types says or, without it, to those
// for which slides is true. The error is that of layers that slide without a window.
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
