package device

import "context"

// Watch returns a flag of the device that is set when the context is done, and a
// function that ends the watch. The flag is nil for a context that cannot end.
func Watch(ctx context.Context, d Device) (flag Flag, end func(), err error) {
	if ctx.Done() == nil {
		return nil, func() {}, nil
	}
	return watch(ctx, d)
}

// watch is Watch of a context that can end. Alone it allocates.
func watch(ctx context.Context, d Device) (Flag, func(), error) {
	flag, err := d.NewFlag()
	if err != nil {
		return nil, nil, err
	}
	unwatch := context.AfterFunc(ctx, flag.Set)
	return flag, func() {
		if unwatch() {
			flag.Free()
		}
		// Else the context's goroutine sets the flag, now or later, and it must stay.
	}, nil
}
