package ratelimit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"earshot/api/admission"
)

// Table formats operations as a Markdown table. Operations of a surface with equal requirements share a row.
func Table(all []Needs) string {
	rows := map[string][]string{}
	for _, n := range all {
		size := "-"
		switch {
		case n.Body >= 1<<20:
			size = fmt.Sprintf("%d MiB", n.Body>>20)
		case n.Body > 0:
			size = fmt.Sprintf("%d KiB", n.Body>>10)
		}
		row := fmt.Sprintf("%s | %s | %s | %s | %s", n.who(), size, n.share(), cmp.Or(string(n.Counts), "-"), cmp.Or(n.Bounds, "-"))
		key := string(n.Surface) + " | " + row
		rows[key] = append(rows[key], "`"+n.Operation+"`")
	}
	lines := make([]string, 0, len(rows))
	for key, operations := range rows {
		surface, rest, _ := strings.Cut(key, " | ")
		slices.Sort(operations)
		lines = append(lines, "| "+surface+" | "+strings.Join(operations, ", ")+" | "+rest+" |\n")
	}
	slices.Sort(lines)
	return "| surface | ways in | who may come | longest body | whose share | counts to | and |\n| --- | --- | --- | --- | --- | --- | --- |\n" + strings.Join(lines, "")
}

// who describes who may call.
func (n Needs) who() string {
	switch {
	case n.Open:
		return "anybody"
	case n.Surface == Console:
		return "who is signed in, as far as REST lets the key"
	case n.May.Anyone:
		return "any key or token"
	case len(n.May.Scopes) == 0:
		return "the operator"
	}
	scopes := make([]string, len(n.May.Scopes))
	for i, one := range n.May.Scopes {
		scopes[i] = "`" + string(one) + "`"
	}
	keys := "keys with " + strings.Join(scopes, " or ")
	if n.Surface == NATS {
		keys = "who may publish there; where keys are asked for, " + keys
	}
	if n.May.FrontEnd {
		return keys + ", tokens of the session"
	}
	return keys
}

// share describes the admission share.
func (n Needs) share() string {
	switch {
	case n.Share == admission.Grant:
		return "its address's, of 64 requests for tokens"
	case n.Open || n.Surface == Console:
		return "none"
	case n.Share == admission.Stream && n.Surface == MCP:
		return "a call: its app's, of messages and triggers; a subscription: its app's, of streams"
	case n.Share == admission.Stream:
		return "its app's, of streams"
	case n.Share == admission.Turn:
		return "its app's, of messages and triggers"
	case n.Share == admission.Relay:
		return "its app's, of relayed chats"
	case n.Share == admission.Rehearsal:
		return "its app's, of rehearsals"
	}
	return "its app's, of other requests"
}
