package files

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

// An imported file ends with a line for each of its documents with a checksum of each field. They tell a later
// import which fields users have edited and which the document has changed.
const importedWith = "# imported with: "

// sumOf returns the checksum of a value, independent of the order of fields.
func sumOf(value *node) string {
	read, _ := exactjson.Decode(value.json()) // is JSON
	ordered, _ := json.Marshal(read)          // with fields by name
	return fmt.Sprintf("%x", sha256.Sum256(ordered))[:8]
}

func titleOf(one *node) string { return one.textOf("kind") + " " + one.textOf("name") }

// sums are the checksums of the fields of each document, by its kind and name.
type sums map[string]map[string]string

func sumsOf(documents []*node) sums {
	all := sums{}
	for _, one := range documents {
		of := map[string]string{}
		for _, f := range one.fields {
			of[f.name] = sumOf(f.value)
		}
		all[titleOf(one)] = of
	}
	return all
}

func (s sums) String() string {
	var lines strings.Builder
	for _, title := range slices.Sorted(maps.Keys(s)) {
		lines.WriteString(importedWith + title)
		for _, name := range slices.Sorted(maps.Keys(s[title])) {
			lines.WriteString(" " + name + "=" + s[title][name])
		}
		lines.WriteString("\n")
	}
	return lines.String()
}

func readSums(source string) sums {
	all := sums{}
	for line := range strings.Lines(source) {
		message, ok := strings.CutPrefix(line, importedWith)
		parts := strings.Fields(message)
		if !ok || len(parts) < 2 {
			continue
		}
		of := map[string]string{}
		for _, part := range parts[2:] {
			name, sum, _ := strings.Cut(part, "=")
			of[name] = sum
		}
		all[parts[0]+" "+parts[1]] = of
	}
	return all
}

// edited reports whether users have changed a document since its import with these checksums.
func edited(one *node, with map[string]string) bool {
	return len(one.fields) != len(with) || slices.ContainsFunc(one.fields, func(f field) bool { return sumOf(f.value) != with[f.name] })
}

// mergeInto merges the converted document into the existing file. Users' edits, removals and own documents are
// kept.
func (im *openapi) mergeInto(made []*node) (merged []*node) {
	current := readValues(im.options.Into.Path, im.options.Into.Text, nil, &im.faults)
	before := readSums(im.options.Into.Text)
	if len(im.faults) == 0 && len(before) == 0 {
		im.faults.add(position{file: im.options.Into.Path}, "does not say what it was imported with, in lines that begin with %q: it was written by hand or by an earlier version; import it anew with --force, and edit that", importedWith)
	}
	named, kept, fresh := map[string]*node{}, map[string]bool{}, []*node{}
	for _, one := range made {
		named[titleOf(one)] = one
	}
	for _, one := range current {
		title := titleOf(one)
		with, next := before[title], named[title]
		kept[title] = true
		switch {
		case with == nil: // the user's own
			merged = append(merged, one)
		case next != nil:
			merged = append(merged, im.mergeFields(title, one, next, with))
		case edited(one, with):
			im.notes.add(one.at, "%s is not in the document any more; it was edited, and is kept", title)
			merged = append(merged, one)
		default:
			im.notes.add(one.at, "%s is not in the document any more, and is taken out", title)
		}
	}
	for _, one := range made {
		switch title := titleOf(one); {
		case kept[title]:
		case before[title] != nil:
			im.notes.add(position{file: im.options.Into.Path}, "%s was taken out of the file, and is left out", title)
		default:
			fresh = append(fresh, one)
		}
	}
	merged = append(merged, fresh...)
	im.listTools(merged, fresh, current, before)
	return merged
}

// mergeFields merges the fields of one document.
func (im *openapi) mergeFields(title string, current, next *node, with map[string]string) *node {
	merged := newObject(current.at)
	for _, f := range current.fields {
		from := next.field(f.name)
		switch {
		case with[f.name] != sumOf(f.value):
			if from != nil && f.name != "tools" && with[f.name] != sumOf(from.value) && !from.value.equal(f.value) { // listTools merges tools
				im.notes.add(f.at, "%s of %s was edited and has changed in the document as well: the edit is kept, and the document has %s", f.name, title, fault.Clip(string(from.value.json())))
			}
			merged.fields = append(merged.fields, f)
		case from != nil:
			merged.fields = append(merged.fields, *from)
		case f.name == "confirm" && f.value.text != "never": // calls must not lose their question to a forgotten flag
			im.notes.add(f.at, "confirm of %s is kept, though neither the document nor --confirm-writes sets it now: if nobody is to be asked, remove it there", title)
			merged.fields = append(merged.fields, f)
		}
	}
	for _, f := range next.fields {
		if current.get(f.name) == nil && with[f.name] == "" {
			merged.fields = append(merged.fields, f)
		}
	}
	return merged
}

// listTools updates the tools of imported repositories: a list that users have edited gets the new tools and loses
// those that are gone.
func (im *openapi) listTools(merged, fresh, current []*node, before sums) {
	tools := map[string]bool{}
	for _, one := range merged {
		if one.textOf("kind") == kindTool {
			tools[one.textOf("name")] = true
		}
	}
	for _, one := range merged {
		listed, with := one.get("tools"), before[titleOf(one)]
		if one.textOf("kind") != kindRepository || listed == nil || with == nil {
			continue
		}
		names := &node{kind: list, at: listed.at}
		for _, name := range listed.items {
			if tools[name.text] {
				names.items = append(names.items, name)
			}
		}
		index := slices.IndexFunc(current, func(old *node) bool { return titleOf(old) == titleOf(one) })
		if index >= 0 && sumOf(current[index].get("tools")) != with["tools"] {
			for _, tool := range fresh {
				if tool.textOf("kind") == kindTool {
					names.items = append(names.items, tool.get("name"))
				}
			}
		}
		one.field("tools").value = names
	}
}
