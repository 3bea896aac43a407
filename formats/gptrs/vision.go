package gptrs

import (
	"fmt"
	"strings"
)

// resnetBlocks is how many blocks each stage of ResNet-34 has.
var resnetBlocks = []int{3, 4, 6, 3}

// mobileGroups are the groups of blocks of MobileNet V2: how many there are, and the stride
// of the first. All others add their input.
var mobileGroups = []struct {
	blocks int
	stride int64
}{{1, 1}, {2, 2}, {3, 2}, {4, 2}, {3, 1}, {3, 2}, {1, 1}}

// conv asks for the weight and the bias of a convolution; extents are those of the
// weight, outputs first.
func (c *checker) conv(name, extents string) {
	c.want(name+".weight", extents)
	c.want(name+".bias", strings.Fields(extents)[0])
}

// resnet34 asks for the names of ResNet-34 with normalisation folded in. The widths
// are the tensors' own, as far as they fit each other.
func (c *checker) resnet34(fields) error {
	c.conv("conv1", "c1 3 7 7")
	in := "c1"
	for stage, blocks := range resnetBlocks {
		out := fmt.Sprintf("c%d", stage+1)
		for block := range blocks {
			p := fmt.Sprintf("layer%d.%d.", stage+1, block)
			c.conv(p+"conv1", p+" "+in+" 3 3")
			c.conv(p+"conv2", out+" "+p+" 3 3")
			if stage > 0 && block == 0 {
				c.conv(p+"downsample", out+" "+in+" 1 1")
			}
			in = out
		}
	}
	c.want("fc.bias", "classes")
	if w := c.shapes["fc.weight"]; len(w) == 2 && uint64(w[0]) == c.sizes["classes"] {
		c.want("fc.weight", "classes "+in)
	} else {
		c.want("fc.weight", in+" classes")
	}
	return nil
}

// mobilenetV2 asks for the names of MobileNet V2 with normalisation folded in, of any
// widths that fit each other. Blocks of a group have the width of their output in
// common, as all but the first add their input.
func (c *checker) mobilenetV2(fields) error {
	c.conv("stem", "stem 3 3 3")
	in, i := "stem", 0
	for group, g := range mobileGroups {
		out := fmt.Sprintf("group%d", group)
		for range g.blocks {
			p := fmt.Sprintf("blocks.%d.", i)
			wide := p
			if i == 0 {
				wide = in
			} else {
				c.conv(p+"expand", wide+" "+in+" 1 1")
			}
			c.conv(p+"depthwise", wide+" 1 3 3")
			c.conv(p+"project", out+" "+wide+" 1 1")
			in = out
			i++
		}
	}
	c.conv("head", "head "+in+" 1 1")
	c.conv("classifier", "classes head")
	return nil
}
