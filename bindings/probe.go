package bindings

import "time"

// ProbeFMA returns the rate, in operations per second, of float32 multiply-adds on one thread, with
// the best levels in isa. A multiply-add is two operations. The rate is the upper bound of dense
// float32 kernels. ProbeFMA takes about a millisecond.
func ProbeFMA(isa ISA) (float64, error) { return probe("f32_fma_rate", isa, 50e6) }

// ProbeDot is ProbeFMA for products of bytes that are summed in int32. The rate is the upper bound of
// dense int8 kernels.
func ProbeDot(isa ISA) (float64, error) { return probe("i8_dot_rate", isa, 400e6) }

// probe returns the rate of an op, in operations per second.
func probe(op string, isa ISA, ops int) (float64, error) {
	k, err := Select(op, isa)
	if err != nil {
		return 0, err
	}
	rate(k.row, ops) // until the clock rate settles
	start := time.Now()
	done := rate(k.row, ops)
	return float64(done) / time.Since(start).Seconds(), nil
}

// ProbeRead returns the rate, in bytes per second, at which one thread reads buf. To measure
// memory, buf must be much larger than the caches; to measure a cache, as large as it. It panics
// unless Available returns nil.
func ProbeRead(buf []byte) float64 {
	start := time.Now()
	readAll(buf)
	return float64(len(buf)) / time.Since(start).Seconds()
}
