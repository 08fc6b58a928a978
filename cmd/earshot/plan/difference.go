package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"earshot/cmd/earshot/terminal"
	"earshot/repositories/secret"
)

// differences lists the fields in which two definitions differ, one per line, such as tools/book/description:
// "old" → "new". Named list members are compared by name. Credentials are masked on both sides.
func differences(at string, before, after any) []string {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	beforeObject, beforeIsObject := before.(map[string]any)
	afterObject, afterIsObject := after.(map[string]any)
	if beforeIsObject && afterIsObject {
		names := maps.Clone(beforeObject)
		maps.Copy(names, afterObject)
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(names)) {
			lines = append(lines, differences(strings.TrimPrefix(at+"/"+name, "/"), beforeObject[name], afterObject[name])...)
		}
		return lines
	}
	if lines, ok := memberDifferences(at, before, after); ok {
		return lines
	}
	switch {
	case before == secret.Masked || after == secret.Masked:
		return []string{at + ": a credential is another"}
	case before == nil:
		return []string{at + ": " + terminal.Value(after) + " is new"}
	case after == nil:
		return []string{at + ": " + terminal.Value(before) + " is gone"}
	}
	return []string{fmt.Sprintf("%s: %s → %s", at, terminal.Value(before), terminal.Value(after))}
}

// memberDifferences compares lists in which every member has a unique name.
func memberDifferences(at string, before, after any) ([]string, bool) {
	beforeMembers, beforeNames, ok := members(before)
	if !ok {
		return nil, false
	}
	afterMembers, afterNames, ok := members(after)
	if !ok || len(beforeNames)+len(afterNames) == 0 {
		return nil, false
	}
	var lines []string
	for _, name := range beforeNames {
		if afterMembers[name] == nil {
			lines = append(lines, at+"/"+name+" is gone")
		}
	}
	for _, name := range afterNames {
		if beforeMembers[name] == nil {
			lines = append(lines, at+"/"+name+" is new")
			continue
		}
		lines = append(lines, differences(at+"/"+name, beforeMembers[name], afterMembers[name])...)
	}
	if len(lines) == 0 {
		lines = []string{at + ": the order is another"}
	}
	return lines, true
}

// members returns the members of a list by name; false if a name is missing or repeated.
func members(value any) (map[string]any, []string, bool) {
	list, ok := value.([]any)
	if !ok && value != nil {
		return nil, nil, false
	}
	byName := map[string]any{}
	var names []string
	for _, item := range list {
		name := nameOf(item)
		if name == "" || byName[name] != nil {
			return nil, nil, false
		}
		byName[name] = item
		names = append(names, name)
	}
	return byName, names, true
}

func nameOf(item any) string {
	object, _ := item.(map[string]any)
	for _, field := range []string{"name", "moduleId", "parameter"} {
		if name, ok := object[field].(string); ok {
			return name
		}
	}
	return ""
}
