package chelis

import (
	"math"
	"slices"
)

func movement(name string, x *array, args []any) any {
	axis := func(i int) int { return whole(args[i], "i32") }
	switch name {
	case "not":
		require(x.kind == "bool", name, args)
		return made("bool", x.shape, func(at []int) float64 { return 1 - x.at(at) })
	case "where":
		a, b := args[1].(*array), args[2].(*array)
		require(x.kind == "bool" && a.kind == b.kind && slices.Equal(x.shape, a.shape) && slices.Equal(a.shape, b.shape), name, args)
		return made(a.kind, a.shape, func(at []int) float64 {
			if x.at(at) != 0 {
				return a.at(at)
			}
			return b.at(at)
		})
	case "cast", "cast_trunc":
		to := args[1].(string)
		require((name == "cast_trunc") == (kinds[x.kind] > 1 && kinds[to] == 1) && x.kind != "bool" && to != "bool", name, args)
		return made(to, x.shape, func(at []int) float64 {
			v := x.at(at)
			if name == "cast_trunc" {
				v = math.Trunc(v)
			}
			if to == "f32" {
				v = float64(float32(v))
			}
			return v
		})
	case "shape":
		return &array{"i64", nil, []float64{float64(x.shape[axis(1)])}}
	case "to_tensor":
		return stack(args[0])
	case "reshape":
		to := append([]int{}, list(args[1])...)
		require(x.shape != nil && count(to) == len(x.data), name, args)
		return &array{x.kind, to, x.data}
	case "permute":
		require(len(args) == len(x.shape)+1, name, args)
		shape := make([]int, len(x.shape))
		for k := range shape {
			shape[k] = x.shape[axis(k+1)]
		}
		return made(x.kind, shape, func(at []int) float64 {
			from := make([]int, len(at))
			for k := range at {
				from[axis(k+1)] = at[k]
			}
			return x.at(from)
		})
	case "expand":
		k := axis(1)
		require(x.shape[k] == 1, name, args)
		shape := slices.Clone(x.shape)
		shape[k] = whole(args[2], "i64")
		return made(x.kind, shape, func(at []int) float64 {
			from := slices.Clone(at)
			from[k] = 0
			return x.at(from)
		})
	case "pad", "shrink":
		return moved(name, x, args)
	case "stride":
		require(len(args) == len(x.shape)+1, name, args)
		shape := make([]int, len(x.shape))
		for k := range shape {
			s := whole(args[k+1], "i64")
			shape[k] = (x.shape[k] + s - 1) / s
		}
		return made(x.kind, shape, func(at []int) float64 {
			from := make([]int, len(at))
			for k := range at {
				from[k] = at[k] * whole(args[k+1], "i64")
			}
			return x.at(from)
		})
	case "concat":
		return joined(args[0].([]any), axis(1))
	case "gather":
		i, k := args[1].(*array), axis(2)
		require(len(i.shape) == 1 && kinds[i.kind] == 1, name, args)
		shape := slices.Clone(x.shape)
		shape[k] = i.shape[0]
		return made(x.kind, shape, func(at []int) float64 {
			from := slices.Clone(at)
			from[k] = int(i.data[at[k]])
			require(from[k] >= 0 && from[k] < x.shape[k], name, args)
			return x.at(from)
		})
	case "matmul":
		return product(x, args[1].(*array), args)
	case "softmax":
		return softmaxed(x, axis(1))
	case "conv":
		return convolved(x, args[1].(*array), list(args[2]), args[3].([]any))
	case "reduce_window_max", "reduce_window_sum", "reduce_window_mean":
		return windowed(name, x, list(args[1]), list(args[2]))
	}
	return reduced(name, x, axis(1))
}

// stack makes a tensor of nested lists.
func stack(v any) *array {
	var out *array
	for _, x := range v.([]any) {
		var a *array
		switch x := x.(type) {
		case []any:
			a = stack(x)
		case string:
			a = &array{"bool", nil, []float64{truth(x == "true")}}
		case *array:
			a = x
		}
		if out == nil {
			out = &array{a.kind, append([]int{0}, a.shape...), nil}
		}
		if out.kind != a.kind || !slices.Equal(out.shape[1:], a.shape) {
			panic("a list of unlike items")
		}
		out.shape[0]++
		out.data = append(out.data, a.data...)
	}
	return out
}

func moved(name string, x *array, args []any) *array {
	spans := args[1].([]any)
	require(len(spans) == len(x.shape), name, args)
	shape, from := make([]int, len(x.shape)), make([]int, len(x.shape))
	for k, s := range spans {
		p := list(s)
		if name == "pad" {
			shape[k], from[k] = p[0]+x.shape[k]+p[1], -p[0]
		} else {
			require(p[0] <= p[1] && p[1] <= x.shape[k], name, args)
			shape[k], from[k] = p[1]-p[0], p[0]
		}
	}
	return made(x.kind, shape, func(at []int) float64 {
		src := slices.Clone(at)
		for k := range at {
			src[k] += from[k]
			if src[k] < 0 || src[k] >= x.shape[k] {
				return args[2].(*array).data[0]
			}
		}
		return x.at(src)
	})
}

func joined(parts []any, k int) *array {
	first := parts[0].(*array)
	shape := slices.Clone(first.shape)
	shape[k] = 0
	for _, p := range parts {
		shape[k] += p.(*array).shape[k]
	}
	return made(first.kind, shape, func(at []int) float64 {
		from := slices.Clone(at)
		for _, p := range parts {
			a := p.(*array)
			if from[k] < a.shape[k] {
				return a.at(from)
			}
			from[k] -= a.shape[k]
		}
		panic("concat")
	})
}

func product(a, b *array, args []any) *array {
	r := len(a.shape)
	require(r >= 2 && len(b.shape) == r && slices.Equal(a.shape[:r-2], b.shape[:r-2]) && a.shape[r-1] == b.shape[r-2] && kinds[a.kind] > 1 && a.kind == b.kind, "matmul", args)
	shape := append(slices.Clone(a.shape[:r-1]), b.shape[r-1])
	return made(a.kind, shape, func(at []int) float64 {
		sum := 0.0
		x, y := slices.Clone(at), slices.Clone(at)
		for i := range a.shape[r-1] {
			x[r-1], y[r-2] = i, i
			sum += a.at(x) * b.at(y)
		}
		return sum
	})
}

func softmaxed(x *array, k int) *array {
	top := reduced("max_reduce", x, k)
	e := made(x.kind, x.shape, func(at []int) float64 { return math.Exp(x.at(at) - top.at(slices.Delete(slices.Clone(at), k, k+1))) })
	sum := reduced("sum", e, k)
	return made(x.kind, x.shape, func(at []int) float64 { return e.at(at) / sum.at(slices.Delete(slices.Clone(at), k, k+1)) })
}

// reduced reduces one axis and removes it.
func reduced(name string, x *array, k int) *array {
	kind := x.kind
	if name == "argmax_reduce" || name == "argmin_reduce" {
		kind = "i64"
	}
	return made(kind, slices.Delete(slices.Clone(x.shape), k, k+1), func(at []int) float64 {
		best, which := 0.0, 0
		for i := range x.shape[k] {
			v := x.at(slices.Insert(slices.Clone(at), k, i))
			switch {
			case i == 0:
				best = v
			case name == "sum" || name == "mean":
				best += v
			case name == "prod_reduce":
				best *= v
			case (name == "max_reduce" || name == "argmax_reduce") && v > best, (name == "min_reduce" || name == "argmin_reduce") && v < best:
				best, which = v, i
			}
		}
		if kind == "i64" && kind != x.kind || name == "argmax_reduce" || name == "argmin_reduce" {
			return float64(which)
		}
		if name == "mean" {
			best /= float64(x.shape[k])
		}
		return best
	})
}

func convolved(x, w *array, strides []int, padding []any) *array {
	before, shape := make([]int, 2), []int{x.shape[0], w.shape[0], 0, 0}
	if w.shape[1] != x.shape[1] {
		panic("conv of other channels")
	}
	for k := range 2 {
		p := list(padding[k])
		before[k] = p[0]
		shape[k+2] = (x.shape[k+2]+p[0]+p[1]-w.shape[k+2])/strides[k] + 1
	}
	return made(x.kind, shape, func(at []int) float64 {
		sum := 0.0
		for i, v := range w.data[at[1]*count(w.shape[1:]) : (at[1]+1)*count(w.shape[1:])] {
			c := index(i, w.shape[1:])
			r, q := at[2]*strides[0]+c[1]-before[0], at[3]*strides[1]+c[2]-before[1]
			if r >= 0 && r < x.shape[2] && q >= 0 && q < x.shape[3] {
				sum += v * x.at([]int{at[0], c[0], r, q})
			}
		}
		return sum
	})
}

func windowed(name string, x *array, window, strides []int) *array {
	lead := len(x.shape) - len(window)
	shape := slices.Clone(x.shape)
	for k := range window {
		shape[lead+k] = (x.shape[lead+k]-window[k])/strides[k] + 1
	}
	return made(x.kind, shape, func(at []int) float64 {
		top, sum := math.Inf(-1), 0.0
		for i := range count(window) {
			from := slices.Clone(at)
			for k, d := range index(i, window) {
				from[lead+k] = at[lead+k]*strides[k] + d
			}
			top, sum = max(top, x.at(from)), sum+x.at(from)
		}
		switch name {
		case "reduce_window_max":
			return top
		case "reduce_window_mean":
			return sum / float64(count(window))
		}
		return sum
	})
}
