package main

import (
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/vulkan"
	"github.com/spf13/cobra"
)

func devicesCommand() *cobra.Command {
	var asJSON, ops, markdown, probe, kernels bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "Show the CPU, its kernels, the Vulkan devices, and the operators",
		Long: `Show the CPU with the instruction sets that kernels may use, and the Vulkan devices with their
features. Of kernels and operators only the number is shown, unless --kernels or --ops lists them.
--json has the kernels, too.`,
		Example: `nacre devices
nacre devices --kernels
nacre devices --ops --json`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := cmd.OutOrStdout()
			if markdown && !ops {
				return usagef("--markdown is a form of --ops")
			}
			if ops {
				rows := operatorRows()
				switch {
				case asJSON:
					return writeJSON(w, rows)
				case markdown:
					return operatorMarkdown(w, rows)
				}
				return operatorTable(w, rows)
			}
			c, err := describeCPU()
			if err != nil {
				return err
			}
			if probe {
				if err := c.probe(); err != nil {
					return err
				}
			}
			if asJSON {
				return writeJSON(w, c)
			}
			return c.text(w, kernels)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&kernels, "kernels", false, "list the kernels with their variants, best first, and mark the ones in use (*)")
	cmd.Flags().BoolVar(&ops, "ops", false, "print the operators: name, versions, element types")
	cmd.Flags().BoolVar(&probe, "probe", false,
		"measure the rates of memory, arithmetic and products on the Vulkan devices")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "with --ops: as a Markdown table")
	cmd.MarkFlagsMutuallyExclusive("kernels", "ops")
	cmd.MarkFlagsMutuallyExclusive("kernels", "json")
	return cmd
}

// cpuReport is the output of devices: the CPU, its kernels and the Vulkan devices.
type cpuReport struct {
	Device  string        `json:"device"`
	Name    string        `json:"name,omitempty"`
	Threads int           `json:"threads"`
	Levels  []levelReport `json:"levels"`
	InUse   string        `json:"in_use"`
	Kernels []kernelRow   `json:"kernels"`
	// Vulkan lists the devices for --device vulkan. NoVulkan is the reason if there are none.
	Vulkan   []vulkanReport `json:"vulkan"`
	NoVulkan string         `json:"no_vulkan,omitempty"`
}

// vulkanReport is one Vulkan device.
type vulkanReport struct {
	Index    int    `json:"index"`
	Name     string `json:"name"`
	Driver   string `json:"driver"`
	Type     string `json:"type"`
	Version  string `json:"version"`
	Memory   int    `json:"memory_bytes"`
	Level    string `json:"level"`
	Features string `json:"features"`
	// Subgroup is the number of invocations of a subgroup.
	Subgroup int `json:"subgroup"`
	// Units is the number of multiprocessors, compute units or shader cores, if the driver tells it.
	Units int `json:"units,omitempty"`
	// Matrices lists the products of cooperative matrices that shaders use, such as f16 16x16x16.
	Matrices []string `json:"matrices,omitempty"`
	// Defects lists the known faults of the driver.
	Defects []string `json:"defects,omitempty"`
	// Probe has the measured rates of the device, with --probe only.
	Probe *vulkan.Probe `json:"probe,omitempty"`
}

// probe measures the Vulkan devices and sets their Probe.
func (c *cpuReport) probe() error {
	for i := range c.Vulkan {
		d, err := vulkan.Open(strconv.Itoa(c.Vulkan[i].Index), vulkan.Options{Statistics: true})
		if err != nil {
			return err
		}
		c.Vulkan[i].Probe, err = d.Probe()
		d.Close()
		if err != nil {
			return fmt.Errorf("vulkan:%d: %w", c.Vulkan[i].Index, err)
		}
	}
	return nil
}

// probeRows adds the measured rates of a probe, each product's with its share of the ceiling.
func (s *sheet) probeRows(p *vulkan.Probe) {
	const giga = 1e9
	s.row("  copy", "%.2f GB/s, read and written", p.CopyBytes/giga)
	s.row("  fma", "%.2f GFLOPS of float32", 2*p.Multiplies/giga)
	s.row("  gemv", "%.2f GB/s with side %d, %.0f %% of the copy", p.GEMVBytes/giga, p.GEMVSide, 100*p.GEMVBytes/p.CopyBytes)
	s.row("  gemm", "%.2f GFLOPS with side %d, %.0f %% of the multiply-adds", 2*p.GEMM/giga, p.GEMMSide, 100*p.GEMM/p.Multiplies)
	for _, m := range p.Matrices {
		s.row("  matrices", "%.2f GFLOPS of %s", 2*m.Multiplies/giga, m.Matrix)
		s.row("  gemm", "%.2f GFLOPS with side %d, %.0f %% of the matrices, by %s", 2*m.GEMM/giga, p.GEMMSide,
			100*m.GEMM/m.Multiplies, m.Shader)
	}
	for _, shader := range p.Shaders {
		s.row("  local", "%d bytes of memory of an invocation of %s", shader.LocalBytes, shader.Shader)
	}
}

// describeVulkan lists the Vulkan devices.
func (c *cpuReport) describeVulkan() {
	c.Vulkan = []vulkanReport{}
	list, err := vulkan.Devices()
	if err != nil {
		c.NoVulkan = err.Error()
		return
	}
	for i := range list {
		d := &list[i]
		f := vulkan.Features(d)
		var defects []string
		for _, x := range vulkan.Defects(d) {
			defects = append(defects, x.What)
		}
		c.Vulkan = append(c.Vulkan, vulkanReport{d.Index, d.Name, d.Driver, d.Type, d.Version, d.Caps.HeapBytes,
			vulkan.LevelOf(f).String(), f.String(), d.Caps.SubgroupSize, d.Caps.Units, vulkan.Matrices(d), defects, nil})
	}
}

type levelReport struct {
	Name    string `json:"name"`
	Text    string `json:"text"`
	Present bool   `json:"present"`
}

// kernelRow is one op of csrc with its variants, best first, and the variant in use.
type kernelRow struct {
	Op       string   `json:"op"`
	Variants []string `json:"variants"`
	InUse    string   `json:"in_use"`
}

func describeCPU() (*cpuReport, error) {
	if err := bindings.Available(); err != nil {
		return nil, err
	}
	mask, err := bindings.DefaultISA()
	if err != nil {
		return nil, err
	}
	c := &cpuReport{Device: "cpu", Name: cpuName(), Threads: goruntime.GOMAXPROCS(0), InUse: mask.String()}
	detected := bindings.DetectISA()
	for _, l := range bindings.Levels() {
		c.Levels = append(c.Levels, levelReport{l.Name, l.Text, detected&l.Mask != 0})
	}
	index := map[string]int{}
	for _, k := range bindings.Variants() {
		i, ok := index[k.Op()]
		if !ok {
			i = len(c.Kernels)
			index[k.Op()] = i
			best, err := bindings.Select(k.Op(), mask)
			if err != nil {
				return nil, err
			}
			c.Kernels = append(c.Kernels, kernelRow{Op: k.Op(), InUse: best.Variant()})
		}
		c.Kernels[i].Variants = append(c.Kernels[i].Variants, k.Variant())
	}
	c.describeVulkan()
	return c, nil
}

// cpuName returns the processor's name, or "" on systems other than Linux.
func cpuName() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(data), "\n") {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// sheet is a table of two columns: names, and texts that wrap to the width.
type sheet struct {
	b           strings.Builder
	first, wide int // columns of the names, and of the table
}

// row adds a row. Spaces and line ends within the text become one space.
func (s *sheet) row(name, format string, args ...any) {
	name = fmt.Sprintf("%-*s  ", s.first, printable.Text(name))
	s.b.WriteString(fold(strings.Fields(fmt.Sprintf(format, args...)), s.wide, name, strings.Repeat(" ", s.first+2), "") + "\n")
}

func (c *cpuReport) text(w io.Writer, kernels bool) error {
	s := &sheet{first: len("avx512vnni"), wide: columns(w)}
	s.row(c.Device, "%s", c.Name)
	s.row("threads", "%d", c.Threads)
	var lacks []string
	for _, l := range c.Levels {
		if l.Present {
			s.row(l.Name, "%s", l.Text)
		} else {
			lacks = append(lacks, l.Name)
		}
	}
	s.row("not there", "%s", strings.Join(lacks, ", "))
	s.row("in use", "%s", strings.ReplaceAll(c.InUse, ",", ", "))
	for _, d := range c.Vulkan {
		s.row(fmt.Sprintf("vulkan:%d", d.Index), "%s", d.Name)
		s.row("", "level %s, %s, %s, Vulkan %s, %s", d.Level, d.Driver, d.Type, d.Version, humanize.IBytes(uint64(d.Memory)))
		units := ""
		if d.Units > 0 {
			units = fmt.Sprintf(", %d units", d.Units)
		}
		s.row("", "subgroups of %d%s", d.Subgroup, units)
		s.row("  features", "%s", d.Features)
		if len(d.Matrices) > 0 {
			s.row("  matrices", "%s", strings.Join(d.Matrices, ", "))
		}
		for _, what := range d.Defects {
			s.row("  defect", "%s", what)
		}
		if d.Probe != nil {
			s.probeRows(d.Probe)
		}
	}
	if c.NoVulkan != "" {
		s.row("vulkan", "none: %s", c.NoVulkan)
	}
	if kernels {
		c.kernelRows(s)
	} else {
		s.row("kernels", "%d; --kernels lists them", len(c.Kernels))
		s.row("operators", "%d; --ops lists them", len(standard.Registry().Rows()))
	}
	_, err := io.WriteString(w, s.b.String())
	return err
}

// kernelRows adds the kernels.
func (c *cpuReport) kernelRows(s *sheet) {
	s.b.WriteString("\n")
	for _, k := range c.Kernels {
		s.first = max(s.first, len(k.Op))
	}
	for _, k := range c.Kernels {
		list := make([]string, len(k.Variants))
		for i, v := range k.Variants {
			list[i] = v
			if v == k.InUse {
				list[i] += "*"
			}
		}
		s.row(k.Op, "%s", strings.Join(list, " "))
	}
}

// operatorRow is one operator in the output of devices --ops.
type operatorRow struct {
	Domain   string `json:"domain"`
	Name     string `json:"name"`
	Versions []int  `json:"versions"`
	Types    string `json:"types"`
}

func operatorRows() []operatorRow {
	var list []operatorRow
	for _, r := range standard.Registry().Rows() {
		list = append(list, operatorRow{domainName(r.Domain), r.Name, r.Since, typeNames(r.Types)})
	}
	return list
}

func typeNames(t op.Types) string {
	if t == nil {
		return "any"
	}
	names := make([]string, len(t))
	for i, d := range t {
		names[i] = d.String()
	}
	return strings.Join(names, " ")
}

func versionNames(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

func operatorTable(w io.Writer, rows []operatorRow) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		printable.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.Domain, r.Name, versionNames(r.Versions), r.Types)
	}
	return tw.Flush()
}

func operatorMarkdown(w io.Writer, rows []operatorRow) error {
	io.WriteString(w, "| domain | operator | versions | element types |\n|---|---|---|---|\n")
	for _, r := range rows {
		if _, err := printable.Fprintf(w, "| %s | %s | %s | %s |\n", r.Domain, r.Name, versionNames(r.Versions),
			r.Types); err != nil {
			return err
		}
	}
	return nil
}
