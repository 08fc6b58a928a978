package files

import (
	"slices"
	"strings"
)

// rewriter writes one document of an older form anew, from its lines.
type rewriter struct {
	lines []string // of the whole file, with their ends
	first int      // line of the document's first, from 0
	last  int      // the line after its last
	anew  bool     // write every entry anew, and keep no layout
	out   []string // the documents
}

// rewrite returns the file in the newest form.
func rewrite(file, source string, anew bool) string {
	env := &environment{file: file}
	lines := strings.SplitAfter(source, "\n")
	if last := len(lines) - 1; lines[last] != "" {
		lines[last] += "\n"
	}
	var out []string
	for _, part := range chunks(env.mask(source)) {
		r := &rewriter{lines: slices.Clone(lines), first: part.before, last: part.before + len(part.lines), anew: anew}
		var faults Faults
		if value := readDocument(part, env, &faults); value != nil && value.kind == object {
			r.document(value)
		} else {
			r.out = []string{r.text(r.first, r.last)}
		}
		out = append(out, r.out...)
	}
	return strings.Join(out, "---\n")
}

func (r *rewriter) document(value *node) {
	switch {
	case value.field("kind") != nil:
		r.flat(value)
	case nestedSection(value):
		r.nested(value)
	default:
		r.out = []string{r.text(r.first, r.last)}
	}
}

// text joins lines without the markers of documents.
func (r *rewriter) text(from, to int) string {
	var b strings.Builder
	for _, line := range r.lines[from:min(to, len(r.lines))] {
		if documentStart.MatchString(line) || documentEnd.MatchString(line) {
			line = strings.TrimLeft(line[3:], " \t")
			if strings.TrimSpace(line) == "" {
				continue
			}
		} else if directive.MatchString(line) {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// flat gives a flat document the newest word for its kind.
func (r *rewriter) flat(value *node) {
	kind := value.field("kind")
	word, _ := kind.value.scalarText()
	newest := kindWords[word]
	if newest == word || newest == "" {
		r.out = []string{r.text(r.first, r.last)}
		return
	}
	r.replace(kind.value.at, word, newest)
	r.out = []string{r.text(r.first, r.last)}
}

// trimmed is the line after the last one of what begins at a place: blank lines and
// comments no deeper than its key belong to what follows.
func (r *rewriter) trimmed(at position, next int) int {
	for next > at.line {
		line := r.lines[next-1]
		bare := strings.TrimLeft(line, " ")
		deeper := len(line)-len(bare) >= at.column
		if !isMarker(line) && strings.TrimSpace(bare) != "" && (!strings.HasPrefix(bare, "#") || deeper) {
			break
		}
		next--
	}
	return next
}

func isMarker(line string) bool {
	return documentStart.MatchString(line) || documentEnd.MatchString(line)
}

// replace changes a word at a place of a line. It is there: the parser has read it.
func (r *rewriter) replace(at position, old, new string) {
	line := []rune(r.lines[at.line-1])
	from := min(at.column-1, len(line))
	r.lines[at.line-1] = string(line[:from]) + strings.Replace(string(line[from:]), old, new, 1)
}

// nested writes every entry of every section as a document.
func (r *rewriter) nested(value *node) {
	at := r.first
	for _, section := range value.fields {
		heading := section.at.line - 1
		lead := r.comments(at, heading) + commentOf(r.lines[heading])
		at = max(at, heading+1)
		for i, entry := range section.value.fields {
			next := r.last
			if i+1 < len(section.value.fields) {
				next = section.value.fields[i+1].at.line - 1
			} else if after := following(value, section); after != nil {
				next = after.at.line - 1
			}
			line := entry.at.line - 1
			lead += r.comments(at, line)
			end := max(r.trimmed(entry.at, next), line+1)
			r.out = append(r.out, lead+r.entry(sections[section.name], entry, line, end))
			lead, at = "", end
		}
		if lead != "" && len(r.out) > 0 {
			r.out[len(r.out)-1] += lead
		}
	}
	if len(r.out) > 0 {
		r.out[len(r.out)-1] += r.comments(at, r.last)
	}
}

// following is the section after another.
func following(value *node, section field) *field {
	for i := range value.fields {
		if value.fields[i].at.line > section.at.line {
			return &value.fields[i]
		}
	}
	return nil
}

// comments returns the comments and blank lines between two entries, at the margin.
func (r *rewriter) comments(from, to int) string {
	var b strings.Builder
	for _, line := range r.lines[min(from, len(r.lines)):min(max(from, to), len(r.lines))] {
		if isMarker(line) {
			line = line[3:]
		}
		if bare := strings.TrimSpace(line); strings.HasPrefix(bare, "#") {
			b.WriteString(bare + "\n")
		}
	}
	return b.String()
}

// entry writes one entry: from its own lines where these mean the same by themselves,
// else anew, as what is in braces, and aliases of what stands in another document.
func (r *rewriter) entry(kind string, entry field, from, to int) string {
	var c collector
	body := c.renamed(entry.value)
	if kind == kindGroup && body.kind == list {
		made := newObject(entry.at)
		made.add("tools", entry.at, body)
		body = made
	}
	rest, comment := afterKey(r.lines[from], entry)
	head := "kind: " + kind + "\nname: " + renderText(entry.name, "")
	kept := r.asItStands(kind, entry, rest, comment, from, to)
	if kept != "" && !r.anew && says(head+kept, kind, entry.name, body) {
		return head + kept
	}
	return head + comment + "\n" + render(body, "")
}

// asItStands takes the lines of an entry to the margin.
func (r *rewriter) asItStands(kind string, entry field, rest, comment string, from, to int) string {
	body := entry.value
	switch {
	case kind == kindGroup && body.kind == list && rest == "":
		return comment + "\ntools:\n" + strings.Join(r.lines[from+1:to], "")
	case kind == kindGroup && body.kind == list:
		return "\ntools: " + rest + comment + "\n" + strings.Join(r.lines[from+1:to], "")
	case body.kind == object && len(body.fields) > 0 && rest == "":
		return comment + "\n" + r.block(body, from+1, to)
	}
	return ""
}

// says reports whether a text is one document that defines this and nothing else.
func says(written, kind, name string, body *node) bool {
	var faults Faults
	values := readValues("", written, nil, &faults)
	if len(faults) > 0 || len(values) != 1 || values[0].kind != object {
		return false
	}
	want := body.with("name", newText(name, body.at)).with("kind", newText(kind, body.at))
	return len(want.fields) == len(body.fields)+2 && want.equal(values[0])
}

// afterKey returns what stands on the line of a key behind it, and the comment.
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
			if comment := commentOf(" " + cut); comment != "" {
				return strings.TrimSpace(strings.TrimSuffix(cut, strings.TrimSpace(comment))), " " + strings.TrimSpace(comment)
			}
			return cut, ""
		}
	}
	return "?", "" // is written in another way: write the entry anew
}

// commentOf returns the comment of a line that has no text in quotes, as a line.
func commentOf(line string) string {
	if strings.ContainsAny(line, `"'`) {
		return ""
	}
	if _, comment, found := strings.Cut(line, " #"); found {
		return "#" + strings.TrimRight(comment, "\r\n") + "\n"
	}
	return ""
}

// block takes the lines of a block to the margin, with the keys renamed.
func (r *rewriter) block(body *node, from, to int) string {
	first := body.fields[0].at
	if first.line-1 < from || first.line-1 >= to {
		return "" // is an alias of what stands elsewhere
	}
	r.rename(body)
	lines := slices.Clone(r.lines[from:to])
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		lines[i] = line[min(indent, first.column-1):]
	}
	return strings.Join(lines, "")
}

// rename renames the keys that have another word now, wherever they stand.
func (r *rewriter) rename(value *node) {
	for i := len(value.fields) - 1; i >= 0; i-- {
		f := value.fields[i]
		r.rename(f.value)
		switch f.name {
		case "kind":
			r.replace(f.at, "kind", "type")
		case "authSources":
			r.replace(f.at, "authSources", "authServices")
		}
	}
	for i := len(value.items) - 1; i >= 0; i-- {
		r.rename(value.items[i])
	}
}
