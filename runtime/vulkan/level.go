package vulkan

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/shaders"
)

// Level is the features that shaders may use of a device, each level those of the ones
// below it too.
type Level int

// The levels.
const (
	AllLevels Level = iota // what the device has
	L0                     // float32 and integers of 32 bits
	L1                     // elements of 8, 16 and 64 bits, arithmetic on them, and subgroups
	L2                     // dot products of packed integers
	L3                     // cooperative matrices
)

// levelFeatures is what each level adds, from L0 on.
var levelFeatures = []shaders.Feature{
	0,
	shaders.Storage16 | shaders.Storage8 | shaders.Int64 | shaders.Float64 | shaders.Float16 | shaders.Int16 | shaders.Int8 |
		shaders.Subgroup | shaders.SubgroupArithmetic | shaders.SubgroupShuffle,
	shaders.IntDot,
	shaders.CoopMatrix | shaders.CoopBF16,
}

// features returns what shaders may use at a level.
func (l Level) features() (f shaders.Feature) {
	if l == AllLevels {
		return ^f
	}
	for _, x := range levelFeatures[:min(int(l), len(levelFeatures))] {
		f |= x
	}
	return f
}

// LevelOf returns the highest level of which a device has a part.
func LevelOf(f shaders.Feature) Level {
	best := L0
	for i, x := range levelFeatures {
		if f&x != 0 {
			best = max(best, L0+Level(i))
		}
	}
	return best
}

// String returns the level's name, such as L1.
func (l Level) String() string {
	if l == AllLevels {
		return "all"
	}
	return fmt.Sprintf("L%d", int(l-L0))
}

// CutLevel splits the name of a device, such as 0/L1, into that of Open and the level that
// may follow it.
func CutLevel(name string) (device string, l Level) {
	i := strings.LastIndexByte(name, '/')
	for l := L0; i >= 0 && l <= L3; l++ {
		if strings.EqualFold(name[i+1:], l.String()) {
			return name[:i], l
		}
	}
	return name, AllLevels
}
