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
const checksumLine = "# imported with: "

// checksumOf returns the checksum of a value, independent of the order of fields.
func checksumOf(value *node) string {
	decoded, _ := exactjson.Decode(value.json()) // is JSON
	ordered, _ := json.Marshal(decoded)          // with fields by name
	return fmt.Sprintf("%x", sha256.Sum256(ordered))[:8]
}

func titleOf(doc *node) string { return doc.textOf("kind") + " " + doc.textOf("name") }

// checksums are the checksums of the fields of each document, by its kind and name.
type checksums map[string]map[string]string

func checksumsOf(documents []*node) checksums {
	byTitle := checksums{}
	for _, doc := range documents {
		byField := map[string]string{}
		for _, f := range doc.fields {
			byField[f.name] = checksumOf(f.value)
		}
		byTitle[titleOf(doc)] = byField
	}
	return byTitle
}

func (s checksums) String() string {
	var lines strings.Builder
	for _, title := range slices.Sorted(maps.Keys(s)) {
		lines.WriteString(checksumLine + title)
		for _, name := range slices.Sorted(maps.Keys(s[title])) {
			lines.WriteString(" " + name + "=" + s[title][name])
		}
		lines.WriteString("\n")
	}
	return lines.String()
}

func readChecksums(source string) checksums {
	byTitle := checksums{}
	for line := range strings.Lines(source) {
		message, ok := strings.CutPrefix(line, checksumLine)
		parts := strings.Fields(message)
		if !ok || len(parts) < 2 {
			continue
		}
		byField := map[string]string{}
		for _, part := range parts[2:] {
			name, sum, _ := strings.Cut(part, "=")
			byField[name] = sum
		}
		byTitle[parts[0]+" "+parts[1]] = byField
	}
	return byTitle
}

// edited reports whether users have changed a document since its import with these checksums.
func edited(doc *node, imported map[string]string) bool {
	return len(doc.fields) != len(imported) || slices.ContainsFunc(doc.fields, func(f field) bool { return checksumOf(f.value) != imported[f.name] })
}

// mergeInto merges the converted document into the existing file. Users' edits, removals and own documents are
// kept.
func (im *openapi) mergeInto(imported []*node) (merged []*node) {
	current := readValues(im.options.Into.Path, im.options.Into.Text, nil, &im.faults)
	checksumsBefore := readChecksums(im.options.Into.Text)
	if len(im.faults) == 0 && len(checksumsBefore) == 0 {
		im.faults.add(position{file: im.options.Into.Path}, "does not say what it was imported with, in lines that begin with %q: it was written by hand or by an earlier version; import it anew with --force, and edit that", checksumLine)
	}
	byTitle, kept, added := map[string]*node{}, map[string]bool{}, []*node{}
	for _, doc := range imported {
		byTitle[titleOf(doc)] = doc
	}
	for _, doc := range current {
		title := titleOf(doc)
		with, next := checksumsBefore[title], byTitle[title]
		kept[title] = true
		switch {
		case with == nil: // the user's own
			merged = append(merged, doc)
		case next != nil:
			merged = append(merged, im.mergeFields(title, doc, next, with))
		case edited(doc, with):
			im.notes.add(doc.at, "%s is not in the document any more; it was edited, and is kept", title)
			merged = append(merged, doc)
		default:
			im.notes.add(doc.at, "%s is not in the document any more, and is taken out", title)
		}
	}
	for _, doc := range imported {
		switch title := titleOf(doc); {
		case kept[title]:
		case checksumsBefore[title] != nil:
			im.notes.add(position{file: im.options.Into.Path}, "%s was taken out of the file, and is left out", title)
		default:
			added = append(added, doc)
		}
	}
	merged = append(merged, added...)
	im.listTools(merged, added, current, checksumsBefore)
	return merged
}

func (im *openapi) mergeFields(title string, current, next *node, imported map[string]string) *node {
	merged := newObject(current.at)
	for _, f := range current.fields {
		source := next.field(f.name)
		switch {
		case imported[f.name] != checksumOf(f.value):
			if source != nil && f.name != "tools" && imported[f.name] != checksumOf(source.value) && !source.value.equal(f.value) { // listTools merges tools
				im.notes.add(f.at, "%s of %s was edited and has changed in the document as well: the edit is kept, and the document has %s", f.name, title, fault.Clip(string(source.value.json())))
			}
			merged.fields = append(merged.fields, f)
		case source != nil:
			merged.fields = append(merged.fields, *source)
		case f.name == "confirm" && f.value.text != "never": // calls must not lose their question to a forgotten flag
			im.notes.add(f.at, "confirm of %s is kept, though neither the document nor --confirm-writes sets it now: if nobody is to be asked, remove it there", title)
			merged.fields = append(merged.fields, f)
		}
	}
	for _, f := range next.fields {
		if current.get(f.name) == nil && imported[f.name] == "" {
			merged.fields = append(merged.fields, f)
		}
	}
	return merged
}

// listTools updates the tools of imported repositories: a list that users have edited gets the new tools and loses
// those that are gone.
func (im *openapi) listTools(merged, added, current []*node, checksumsBefore checksums) {
	tools := map[string]bool{}
	for _, doc := range merged {
		if doc.textOf("kind") == kindTool {
			tools[doc.textOf("name")] = true
		}
	}
	for _, doc := range merged {
		listed, imported := doc.get("tools"), checksumsBefore[titleOf(doc)]
		if doc.textOf("kind") != kindRepository || listed == nil || imported == nil {
			continue
		}
		names := &node{kind: listValue, at: listed.at}
		for _, name := range listed.items {
			if tools[name.text] {
				names.items = append(names.items, name)
			}
		}
		index := slices.IndexFunc(current, func(old *node) bool { return titleOf(old) == titleOf(doc) })
		if index >= 0 && checksumOf(current[index].get("tools")) != imported["tools"] {
			for _, tool := range added {
				if tool.textOf("kind") == kindTool {
					names.items = append(names.items, tool.get("name"))
				}
			}
		}
		doc.field("tools").value = names
	}
}
