package vulkan

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/shaders"
)

// Level is a set of device features that shaders may use. Each level includes the levels below it.
type Level int

// The levels.
const (
	AllLevels Level = iota // all features of the device
	L0                     // float32 and integers of 32 bits
	L1                     // elements of 8, 16 and 64 bits, arithmetic on them, and subgroups
	L2                     // dot products of packed integers
	L3                     // cooperative matrices
)

// levelFeatures is the features that each level adds, from L0 on.
var levelFeatures = []shaders.Feature{
	0,
	shaders.Storage16 | shaders.Storage8 | shaders.Int64 | shaders.Float64 | shaders.Float16 | shaders.Int16 | shaders.Int8 |
		shaders.Subgroup | shaders.SubgroupArithmetic | shaders.SubgroupShuffle |
		shaders.Clock,
	shaders.IntDot,
	shaders.CoopMatrix | shaders.CoopBF16,
}

// features returns the features that shaders may use at a level.
func (l Level) features() (f shaders.Feature) {
	if l == AllLevels {
		return ^f
	}
	for _, x := range levelFeatures[:min(int(l), len(levelFeatures))] {
		f |= x
	}
	return f
}

// LevelOf returns the highest level that adds a feature in f. If there is none, it is L0.
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

// CutLevel splits a device's name with an optional level, such as 0/L1, into the name for Open and
// the level. Without a level it returns AllLevels.
func CutLevel(name string) (device string, l Level) {
	i := strings.LastIndexByte(name, '/')
	for l := L0; i >= 0 && l <= L3; l++ {
		if strings.EqualFold(name[i+1:], l.String()) {
			return name[:i], l
		}
	}
	return name, AllLevels
}
