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

// OfferedTool is an MCP server's listed tool, which is untrusted.
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
	Refused string `json:"-"` // why the tool cannot be used; empty if it can
}

const (
	// maxOffered bounds the stored tools of a server, in bytes, like the body of a repository.
	maxOffered = 1 << 20
	// maxOfferNotes bounds the omitted tools that notes name.
	maxOfferNotes = 20
)

// Offered converts a server's tools for a repository From the source, and notes the omitted ones. At most most are
// taken; 0 is any number.
func (s *Source) Offered(list []OfferedTool, most int) (tools []Tool, notes []string) {
	tools = []Tool{}
	size, budget, taken := 0, &parameters.Budget{}, map[string]string{} // local name to server's name
	list = slices.Clone(list)
	inexact := func(one OfferedTool) int {
		if invalidInName.MatchString(one.Name) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b OfferedTool) int { // an exact name wins
		return cmp.Or(cmp.Compare(inexact(a), inexact(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, one := range list {
		if !s.Allows(one.Name) {
			continue
		}
		tool, err := one.tool(s.Name)
		other, twice := taken[tool.Name]
		weight := len(tool.Description) + len(tool.Parameters)
		switch {
		case err != nil:
		case twice:
			err = fmt.Errorf("its name is that of %s as well", fault.Show(fault.Clip(other)))
		case most > 0 && len(tools) == most:
			err = &LimitError{Limit: "toolsPerRepository", Most: most}
		case size+weight > maxOffered:
			err = fmt.Errorf("the tools of a server are kept up to %d bytes; say in allow which are needed", maxOffered)
		default:
			if _, faults := tool.compile(budget); len(faults) > 0 {
				err = errors.New(strings.Replace(faults[0].Pointer, "/parameters", "inputSchema", 1) + " " + faults[0].Detail)
			}
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("the tool %s of source %q is left out: %s", fault.Show(fault.Clip(one.Name)), s.Name, err))
			continue
		}
		size += weight
		taken[tool.Name] = one.Name
		tools = append(tools, tool)
	}
	slices.SortStableFunc(tools, func(a, b Tool) int { return cmp.Compare(taken[a.Name], taken[b.Name]) })
	return tools, clipped(notes, maxOfferNotes, fmt.Sprintf("and %%d more tools of source %q are left out", s.Name))
}

// invalidInName matches characters of MCP names that tool names cannot have.
var invalidInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// tool returns the converted tool before its parameters are compiled.
func (t OfferedTool) tool(source string) (Tool, error) {
	tool := Tool{Name: invalidInName.ReplaceAllString(t.Name, "_"), Type: ToolMCP, Source: source}
	tool.Description = plaintext.Text(cmp.Or(t.Description, t.Title, t.Annotations.Title))
	if tool.Name != t.Name {
		tool.RemoteName = t.Name
	}
	switch {
	case t.Refused != "":
		return tool, errors.New(t.Refused)
	case t.Execution.TaskSupport == "required":
		return tool, errors.New("its server carries it out as a task of its own alone, which we do not ask for")
	case !namePattern.MatchString(tool.Name):
		return tool, errors.New("a name has 1 to 64 letters")
	case tool.Name == CatchAll:
		return tool, errors.New("a tool of that name takes every message that nothing else matches, and no server decides that")
	case !parameters.Present(t.InputSchema):
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, t.InputSchema); err != nil || compact.Bytes()[0] != '{' {
		return tool, errors.New("its inputSchema is no object")
	}
	tool.Parameters = compact.Bytes()

	// A call of unknown outcome is repeated with the same key, unless the server declares the tool not idempotent.
	// Most servers declare nothing.
	if t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly {
		tool.ReadOnly = new(true)
	} else if t.Annotations.Idempotent != nil && !*t.Annotations.Idempotent {
		tool.Request = &Request{Auth: AuthNone, Idempotent: new(false)}
	}
	return tool, nil
}
