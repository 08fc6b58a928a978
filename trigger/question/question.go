// Package question words what a user is asked before a trigger takes effect.
package question

import (
	"cmp"
	"fmt"
	"strings"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// Of returns the question whether the tool may be fired with the values, in the language of
// what the user has said.
func Of(tool *repositories.Tool, values map[string]any, said string) string {
	var shown []string
	for _, name := range tool.Params().Names() {
		if value := values[name]; value != nil && !tool.Params().Hidden(name) {
			shown = append(shown, fmt.Sprintf("%s %v", name, value))
		}
	}
	what := strings.TrimRight(cmp.Or(tool.Description, tool.Name), ". ")
	if len(shown) > 0 {
		what += ": " + fault.ClipTo(strings.Join(shown, ", "), 500)
	}
	return what + ". Shall I go ahead? (yes / no)"
}
