package page

import (
	_ "embed" // the page of a profile
	"encoding/json"
	"html/template"
	"io"
	"slices"

	"github.com/nacre-ml/nacre/internal/diagram"
)

// Profile is the steps of one run in the order of their begin.
type Profile struct {
	Facts []string      `json:"facts"` // sentences about the run
	Steps []ProfileStep `json:"steps"`
}

// ProfileStep is one step. Times are in milliseconds.
type ProfileStep struct {
	Node   string   `json:"node"`
	Op     string   `json:"op"`
	How    string   `json:"how"` // device and kernels
	Inputs string   `json:"inputs"`
	Within string   `json:"within,omitempty"` // path of the graph, empty for the main one
	Layer  []string `json:"layer"`            // groups around the node, the outermost first
	Start  float64  `json:"start_ms"`
	Time   float64  `json:"ms"`
	Own    float64  `json:"own_ms"` // without steps of graphs of the node
}

// The parts of the page.
var (
	//go:embed profile.html
	profileLayout string
	//go:embed profile.css
	profileStyle string
	//go:embed profile.js
	profileScript string
	//go:embed timeline.js
	timelineScript string
)

var profilePage = template.Must(template.New("profile").Parse(profileLayout))

// WriteProfile writes a page of one file that shows where the time of a run went, and a drawing of the
// model. It sets the drawing's steps.
func WriteProfile(w io.Writer, title string, p *Profile, d *diagram.Drawing) error {
	steps := slices.Clone(p.Steps)
	d.Steps = nil
	for i := range steps {
		s := &steps[i]
		shown := diagram.StepOf(s.Node, s.Within, s.Op, s.How, &s.Time)
		s.Node, s.Within, s.Op, s.How = shown.Node, shown.Within, shown.Op, shown.How
		d.Steps = append(d.Steps, shown)
	}
	drawing, err := json.Marshal(d) // without <, > and &
	if err != nil {
		return err
	}
	profile, err := json.Marshal(Profile{Facts: p.Facts, Steps: steps})
	if err != nil {
		return err
	}
	return profilePage.Execute(w, map[string]any{
		"Title": title, "Style": template.CSS(diagram.Colours + diagram.Style + profileStyle),
		"Drawing": template.JS(drawing), "Profile": template.JS(profile),
		"Script": template.JS(diagram.Viewer + timelineScript + profileScript),
	})
}
