package repositories

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/parameters"
	"earshot/repositories/plaintext"
)

// OfferedTool is a tool as an MCP server lists it. Nothing of it is taken on trust.
type OfferedTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations struct {
		Title      string `json:"title"`
		ReadOnly   *bool  `json:"readOnlyHint"`
		Idempotent *bool  `json:"idempotentHint"`
	} `json:"annotations"`
	Execution struct {
		TaskSupport string `json:"taskSupport"`
	} `json:"execution"`
	// Refused says why the tool cannot be used at all; empty where it can.
	Refused string `json:"-"`
}

const (
	// maxOffered is how much of a server's tools is kept, in bytes of their descriptions and
	// schemas: as much as a body may have that puts a repository.
	maxOffered = 1 << 20
	// maxOfferNotes is how many tools notes name that are left out.
	maxOfferNotes = 20
)

// Offered returns the tools that a repository From the source has of what the server offers,
// by name, and what of it was left out and why. At most so many are taken; 0 is any number.
func (s *Source) Offered(list []OfferedTool, most int) (tools []Tool, notes []string) {
	o := &offer{source: s, most: most, taken: map[string]string{}, budget: &parameters.Budget{}}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b OfferedTool) int { return cmp.Compare(a.Name, b.Name) })
	for _, one := range list {
		if !s.Allows(one.Name) {
			continue
		}
		if err := o.take(one); err != nil {
			o.note(fmt.Sprintf("the tool %s of source %q is left out: %s", fault.Show(fault.Clip(one.Name)), s.Name, err))
		}
	}
	if o.more > 0 {
		o.notes = append(o.notes, fmt.Sprintf("and %d more tools of source %q are left out", o.more, s.Name))
	}
	if o.tools == nil {
		o.tools = []Tool{}
	}
	return o.tools, o.notes
}

// offer is what was taken of an offer so far.
type offer struct {
	source *Source
	most   int
	bytes  int
	budget *parameters.Budget
	taken  map[string]string // name here to name there
	tools  []Tool
	notes  []string
	more   int // notes that are not listed
}

func (o *offer) note(text string) {
	if len(o.notes) == maxOfferNotes {
		o.more++
		return
	}
	o.notes = append(o.notes, text)
}

// take takes a tool, or says why not.
func (o *offer) take(one OfferedTool) error {
	tool, err := o.tool(one)
	if err != nil {
		return err
	}
	size := len(tool.Description) + len(tool.Parameters)
	switch other, twice := o.taken[tool.Name]; {
	case twice:
		return fmt.Errorf("its name is that of %s as well", fault.Show(fault.Clip(other)))
	case o.most > 0 && len(o.tools) == o.most:
		return (&LimitError{Limit: "toolsPerRepository", Most: o.most})
	case o.bytes+size > maxOffered:
		return fmt.Errorf("the tools of a server are kept up to %d bytes; say in allow which are needed", maxOffered)
	}
	if _, faults := tool.compile(o.budget); len(faults) > 0 {
		return errors.New(strings.Replace(faults[0].Pointer, "/parameters", "inputSchema", 1) + " " + faults[0].Detail)
	}
	o.bytes += size
	o.taken[tool.Name] = one.Name
	o.tools = append(o.tools, tool)
	return nil
}

// unfit are the letters of names on other servers that names have none of here.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// tool is the tool as it is kept, before its parameters are compiled.
func (o *offer) tool(one OfferedTool) (Tool, error) {
	tool := Tool{Name: unfit.ReplaceAllString(one.Name, "_"), Type: ToolMCP, Source: o.source.Name}
	tool.Description = plaintext.Text(cmp.Or(one.Description, one.Title, one.Annotations.Title))
	if tool.Name != one.Name {
		tool.RemoteName = one.Name
	}
	switch {
	case one.Refused != "":
		return tool, errors.New(one.Refused)
	case one.Execution.TaskSupport == "required":
		return tool, errors.New("its server carries it out as a task of its own alone, which we do not ask for")
	case !namePattern.MatchString(tool.Name):
		return tool, errors.New("a name has 1 to 64 letters")
	case tool.Name == CatchAll:
		return tool, errors.New("a tool of that name takes every message that nothing else matches, and no server decides that")
	case !parameters.Present(one.InputSchema):
		one.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, one.InputSchema); err != nil || compact.Bytes()[0] != '{' {
		return tool, errors.New("its inputSchema is no object")
	}
	tool.Parameters = compact.Bytes()
	if !one.repeatable() {
		once := false
		tool.Request = &Request{Auth: AuthNone, Idempotent: &once}
	}
	return tool, nil
}

// repeatable reports whether a call of the tool whose outcome is not known may be made again
// under the same key: unless the server says in so many words that a repeat does more. Most
// servers say nothing, and calls that ended with the first failure would be of little use.
func (t *OfferedTool) repeatable() bool {
	readOnly := t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly
	return readOnly || t.Annotations.Idempotent == nil || *t.Annotations.Idempotent
}
