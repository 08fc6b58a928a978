package repositories

import "slices"

// Patch is a change to a repository: tools to add or override, and options.
type Patch struct {
	// Options replace the repository's options as a whole; nil leaves them.
	Options *Options `json:"options,omitempty"`
	// Tools are added; one whose name is there overrides the tool of that name in
	// its place.
	Tools []Tool `json:"tools,omitempty"`
}

// Apply changes the repository. It does not touch the array behind to.Tools, which
// others may be reading.
func (p *Patch) Apply(to *Repository) {
	if p.Options != nil {
		to.Options = *p.Options
	}
	tools := slices.Clone(to.Tools)
	for _, tool := range p.Tools {
		i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == tool.Name })
		if i < 0 {
			tools = append(tools, tool)
		} else {
			tools[i] = tool
		}
	}
	to.Tools = tools
}
