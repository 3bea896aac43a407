package vulkan

import (
	"cmp"
	"slices"
)

// ShaderStatistics is numbers that a driver tells about a compiled shader.
type ShaderStatistics struct {
	Shader    string   // name and variant, such as matmul/gemm/f32
	Constants []uint32 // specialization constants
	// LocalBytes is the memory of an invocation for variables that are not in registers: arrays that
	// a loop indexes, and registers that were too few. It is slow.
	LocalBytes int
	Numbers    map[string]uint64 // by the driver's names
}

// localNames are the names of drivers for the bytes of local memory, in the low 32 bits.
var localNames = []string{
	"Local Memory Size",   // NVIDIA
	"Scratch size",        // RADV
	"Scratch Memory Size", // ANV
}

// Shaders lists the compiled shaders by name. The list is empty unless the device was opened with
// Options.Statistics and the driver keeps statistics.
func (d *Device) Shaders() ([]ShaderStatistics, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []ShaderStatistics
	for _, p := range d.pipelines {
		if !p.isDone.Load() || p.made == nil {
			continue
		}
		numbers, err := p.made.Statistics()
		if err != nil {
			return nil, failure(err)
		}
		if numbers == nil {
			continue
		}
		s := ShaderStatistics{Shader: p.kernel.Op() + "/" + p.kernel.Variant(), Constants: p.kernel.constants,
			Numbers: numbers}
		for _, name := range localNames {
			s.LocalBytes = max(s.LocalBytes, int(uint32(numbers[name])))
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(x, y ShaderStatistics) int {
		return cmp.Or(cmp.Compare(x.Shader, y.Shader), slices.Compare(x.Constants, y.Constants))
	})
	return list, nil
}
