package files

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// Migration is a file before and after its conversion to the newest form.
type Migration struct {
	File          string
	Before, After string
}

// Changed reports whether the file has an older form.
func (m *Migration) Changed() bool { return m.Before != m.After }

// Faulty returns, by file, the faults of files that are to be migrated: those that Read and Set.Check find in all of
// them together, as one may name what another has. Variables need not be set where files are migrated, so lines with
// one that is not are not judged.
func Faulty(paths []string, options Options) map[string]Faults {
	set, err := Read(paths, options)
	var all Faults
	errors.As(set.JoinCheck(err), &all)
	type line struct {
		file string
		at   int
	}
	unset := map[line]bool{}
	for _, reported := range all {
		if reported.unset {
			unset[line{reported.File, reported.Line}] = true
		}
	}
	faulty := map[string]Faults{}
	for _, reported := range all {
		if !unset[line{reported.File, reported.Line}] {
			faulty[reported.File] = append(faulty[reported.File], reported)
		}
	}
	return faulty
}

// Migrate rewrites a file of Toolbox's older forms as flat documents with singular kinds, and toolsets as groups.
// It keeps comments, layout and placeholders; an entry whose layout cannot be kept, such as a map in braces, is
// rewritten. The first line names the schema for editors. The file is not modified. Of the options only Stdin is
// used. The error is Faults about the form; Faulty has those of the content. The result is read again and compared, so
// that its meaning never differs.
func Migrate(file string, options Options) (*Migration, error) {
	source, err := options.load(file)
	if err != nil {
		return nil, Faults{{File: file, Detail: err.Error()}}
	}
	m := &Migration{File: file, Before: source, After: source}
	before := readAll(file, source)
	if err := before.faults.sorted([]string{file}).err(); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(before.documents, func(d *document) bool { return d.legacy }) {
		return m, nil
	}
	if filepath.Ext(file) == ".json" {
		return nil, Faults{{File: file, Line: 1, Column: 1, Detail: "is of an older form, and JSON cannot hold the several documents of the newest; write it as YAML"}}
	}
	rewritten := rewrite(file, clean(source), false)
	if !before.sameMeaning(readAll(file, rewritten)) {
		rewritten = rewrite(file, clean(source), true)
	}
	if !before.sameMeaning(readAll(file, rewritten)) {
		return nil, Faults{{File: file, Line: 1, Column: 1, Detail: "cannot be rewritten without changing what it means; write it in the newest form by hand"}}
	}
	rewritten = forEditors(rewritten)
	if strings.Contains(source, "\r\n") {
		rewritten = strings.ReplaceAll(rewritten, "\n", "\r\n")
	}
	m.After = rewritten
	return m, nil
}

// readAll reads a file for rewriting: it keeps placeholders, and documents that Earshot does not use.
func readAll(file, source string) *collector {
	c := &collector{keepUnused: true}
	c.readSource(file, source)
	seen := map[[2]string]bool{}
	for _, d := range c.documents {
		key := [2]string{d.term, d.name}
		if seen[key] {
			c.faults.add(d.at, "%s is defined twice", d.label())
		}
		seen[key] = true
	}
	return c
}

func (c *collector) sameMeaning(other *collector) bool {
	return len(other.faults) == 0 && slices.EqualFunc(c.documents, other.documents, func(a, b *document) bool {
		return a.kind == b.kind && a.name == b.name && a.body.equal(b.body)
	})
}

type rewriter struct {
	lines         []string // of the whole file, with line ends
	end           int      // the line after the document's last, from 0
	discardLayout bool     // rewrite every entry without its layout
}

func rewrite(file, source string, anew bool) string {
	env := &environment{file: file}
	lines := strings.SplitAfter(source, "\n")
	if last := len(lines) - 1; lines[last] != "" {
		lines[last] += "\n"
	}
	var out []string
	for _, doc := range splitYAML(env.mask(source)) {
		r := &rewriter{lines: slices.Clone(lines), end: doc.lineOffset + len(doc.lines), discardLayout: anew}
		var faults Faults
		value := readDocument(doc, env, &faults)
		if value != nil && value.kind == objectValue && value.field("kind") == nil && nestedSection(value) {
			out = append(out, r.nested(value, doc.lineOffset)...)
			continue
		}
		if value != nil && value.field("kind") != nil { // a flat document gets the newest term for its kind
			kind := value.get("kind")
			word, _ := kind.scalarText()
			if newest := kindWords[word]; newest != "" {
				r.replace(kind.at, word, newest)
			}
		}
		var flat strings.Builder
		for _, line := range r.lines[doc.lineOffset:min(r.end, len(r.lines))] {
			isMarker := marker.MatchString(line)
			if isMarker {
				line = strings.TrimLeft(line[3:], " \t")
			}
			if isMarker && strings.TrimSpace(line) == "" || !isMarker && directive.MatchString(line) {
				continue
			}
			flat.WriteString(line)
		}
		out = append(out, flat.String())
	}
	return strings.Join(out, "---\n")
}

// replace replaces a word at a position, where the parser has found it.
func (r *rewriter) replace(at position, old, new string) {
	line := []rune(r.lines[at.line-1])
	start := min(at.column-1, len(line))
	r.lines[at.line-1] = string(line[:start]) + strings.Replace(string(line[start:]), old, new, 1)
}

// nested writes every entry as a document. Comments between two entries belong to the second.
func (r *rewriter) nested(value *node, first int) (out []string) {
	at := first
	for _, section := range value.fields {
		heading := section.at.line - 1
		lead := r.comments(at, heading) + commentOf(r.lines[heading])
		at = max(at, heading+1)
		end := r.end // the line of the next section, which may not be the next field
		if i := slices.IndexFunc(value.fields, func(f field) bool { return f.at.line > section.at.line }); i >= 0 {
			end = value.fields[i].at.line - 1
		}
		for i, entry := range section.value.fields {
			next := end
			if i+1 < len(section.value.fields) {
				next = section.value.fields[i+1].at.line - 1
			}
			line := entry.at.line - 1
			lead += r.comments(at, line)
			for ; next > entry.at.line; next-- { // blank lines and comments not deeper than the key belong to the next entry
				last := r.lines[next-1]
				bare := strings.TrimLeft(last, " ")
				deeper := len(last)-len(bare) >= entry.at.column
				if !marker.MatchString(last) && strings.TrimSpace(bare) != "" && (!strings.HasPrefix(bare, "#") || deeper) {
					break
				}
			}
			at = max(next, line+1)
			out = append(out, lead+r.entry(sections[section.name], entry, line, at))
			lead = ""
		}
		if lead != "" && len(out) > 0 {
			out[len(out)-1] += lead
		}
	}
	if len(out) > 0 {
		out[len(out)-1] += r.comments(at, r.end)
	}
	return out
}

// comments returns the comments and blank lines between two entries, without indentation.
func (r *rewriter) comments(from, to int) string {
	var b strings.Builder
	for _, line := range r.lines[min(from, len(r.lines)):min(max(from, to), len(r.lines))] {
		if marker.MatchString(line) {
			line = line[3:]
		}
		if bare := strings.TrimSpace(line); strings.HasPrefix(bare, "#") {
			b.WriteString(bare + "\n")
		}
	}
	return b.String()
}

// commentOf returns the comment at the end of a line without quoted text, as its own line.
func commentOf(line string) string {
	if strings.ContainsAny(line, `"'`) {
		return ""
	}
	if _, comment, found := strings.Cut(line, " #"); found {
		return "#" + strings.TrimRight(comment, "\r\n") + "\n"
	}
	return ""
}

// entry writes one entry: from its own lines if these alone mean the same, else without its layout.
func (r *rewriter) entry(kind string, entry field, from, to int) string {
	body := new(collector).withTypes(entryBody(kind, entry))
	inline, comment := afterKey(r.lines[from], entry)
	head := "kind: " + kind + "\nname: " + renderText(entry.name, "")
	layout := ""
	switch isList := kind == kindGroup && entry.value.kind == listValue; {
	case isList && inline == "":
		layout = comment + "\ntools:\n" + strings.Join(r.lines[from+1:to], "")
	case isList:
		layout = "\ntools: " + inline + comment + "\n" + strings.Join(r.lines[from+1:to], "")
	case entry.value.kind == objectValue && len(entry.value.fields) > 0 && inline == "":
		layout = comment + "\n"
		first := entry.value.fields[0].at
		if first.line-1 <= from || first.line-1 >= to {
			break // an alias of another value
		}
		r.rename(entry.value)
		for _, line := range r.lines[from+1 : to] { // dedent
			layout += line[min(len(line)-len(strings.TrimLeft(line, " ")), first.column-1):]
		}
	}
	if layout == "" || r.discardLayout {
		return head + comment + "\n" + render(body, "")
	}
	var faults Faults
	values := readValues("", head+layout, nil, &faults)
	expected := body.with("name", newText(entry.name, body.at)).with("kind", newText(kind, body.at))
	if len(faults) == 0 && len(values) == 1 && len(expected.fields) == len(body.fields)+2 && expected.equal(values[0]) {
		return head + layout
	}
	return head + comment + "\n" + render(body, "")
}

// afterKey returns the text after a key on its line, and the comment.
func afterKey(line string, entry field) (rest, comment string) {
	runes := []rune(strings.TrimRight(line, "\r\n"))
	behind := string(runes[min(entry.at.column-1, len(runes)):])
	for _, written := range []string{entry.name, `"` + entry.name + `"`, "'" + entry.name + "'"} {
		cut, found := strings.CutPrefix(behind, written)
		if !found {
			continue
		}
		if cut, found = strings.CutPrefix(strings.TrimLeft(cut, " "), ":"); found {
			cut = strings.TrimSpace(cut)
			if comment := strings.TrimSpace(commentOf(" " + cut)); comment != "" {
				return strings.TrimSpace(strings.TrimSuffix(cut, comment)), " " + comment
			}
			return cut, ""
		}
	}
	return "?", "" // the key is written differently: rewrite the entry
}

// rename renames the keys with a new term, the last of a line first.
func (r *rewriter) rename(value *node) {
	for _, f := range slices.Backward(value.fields) {
		r.rename(f.value)
		switch f.name {
		case "kind":
			r.replace(f.at, "kind", "type")
		case "authSources":
			r.replace(f.at, "authSources", "authServices")
		}
	}
	for _, item := range slices.Backward(value.items) {
		r.rename(item)
	}
}
