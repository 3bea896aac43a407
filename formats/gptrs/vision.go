package gptrs

import (
	"fmt"
	"strings"
)

// resnetBlocks is the number of blocks in each stage of ResNet-34.
var resnetBlocks = []int{3, 4, 6, 3}

// mobileGroups lists the groups of blocks of MobileNet V2: the number of blocks, and the stride of
// the first. All blocks but the first of a group add their input.
var mobileGroups = []struct {
	blocks int
	stride int64
}{{1, 1}, {2, 2}, {3, 2}, {4, 2}, {3, 1}, {3, 2}, {1, 1}}

// conv checks the weight and the bias of a convolution. extents are the weight's, outputs first.
func (c *checker) conv(name, extents string) {
	c.want(name+".weight", extents)
	c.want(name+".bias", strings.Fields(extents)[0])
}

// resnet34 checks the tensors of ResNet-34 with normalisation folded in. Widths may be any that fit
// each other.
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

// mobilenetV2 checks the tensors of MobileNet V2 with normalisation folded in. Widths may be any
// that fit each other. The blocks of a group have one output width, because all but the first add
// their input.
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
