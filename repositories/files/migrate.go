package files

import (
	"path/filepath"
	"slices"
	"strings"
)

// Migration is a file and what it becomes in the newest form.
type Migration struct {
	File          string
	Before, After string
}

// Changed reports whether the file is of an older form.
func (m *Migration) Changed() bool { return m.Before != m.After }

// Migrate rewrites a file of Toolbox's older forms as flat documents with singular
// kinds, and toolsets as groups. Comments, layout and placeholders stay as they are;
// where the layout cannot be kept, as with a map in braces or an alias that would lead
// into another document, that one entry is written anew. The first line names the schema for
// editors. The file itself is not touched. Files that are of the newest form, or of SERMAS, stay as they are. Of the
// options Stdin alone counts: placeholders stay.
//
// The error is Faults. What comes out is read again and compared: text that does not
// mean the same is never returned.
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
	if !slices.ContainsFunc(before.documents, isLegacy) {
		return m, nil
	}
	if filepath.Ext(file) == ".json" {
		return nil, Faults{{file, 1, 1, "is of an older form, and JSON cannot hold the several documents of the newest; write it as YAML"}}
	}
	rewritten := rewrite(file, clean(source), false)
	if !before.means(readAll(file, rewritten)) {
		rewritten = rewrite(file, clean(source), true)
	}
	if !before.means(readAll(file, rewritten)) {
		return nil, Faults{{file, 1, 1, "cannot be rewritten without changing what it means; write it in the newest form by hand"}}
	}
	rewritten = forEditors(rewritten)
	if strings.Contains(source, "\r\n") {
		rewritten = strings.ReplaceAll(rewritten, "\n", "\r\n")
	}
	m.After = rewritten
	return m, nil
}

// isLegacy reports whether a document is of an older form.
func isLegacy(d *document) bool { return d.legacy }

// readAll reads a file as text that is to be rewritten: placeholders stay, and so do
// documents that Earshot leaves.
func readAll(file, source string) *collector {
	c := &collector{all: true}
	values := readValues(file, source, nil, &c.faults)
	if len(values) == 0 && len(c.faults) == 0 {
		c.faults.add(position{file, 1, 1}, "the file is empty; it defines nothing")
	}
	for _, value := range values {
		c.value(file, value)
	}
	seen := map[[2]string]bool{}
	for _, d := range c.documents {
		key := [2]string{d.word, d.name}
		if seen[key] {
			c.faults.add(d.at, "%s is defined twice", d.label())
		}
		seen[key] = true
	}
	return c
}

// means reports whether two files define the same in the same order.
func (c *collector) means(other *collector) bool {
	return len(other.faults) == 0 && slices.EqualFunc(c.documents, other.documents, func(a, b *document) bool {
		return a.kind == b.kind && a.name == b.name && a.body.equal(b.body)
	})
}
