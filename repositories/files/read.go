// Package files reads definitions from files: apps of SERMAS, tools of Toolbox in every generation of its format,
// and Earshot's own documents. It makes the bodies of the REST API from them, and reports every fault of every file
// at once, each with file, line and column.
//
// Reading has three steps. A file becomes a tree with the position of each value (yaml.go, node.go). A tree becomes
// documents: each is one app, module, source, authentication service, tool or repository, in any form (document.go,
// toolbox.go). Documents become the body of one app and of its repositories (assemble.go). The decoders
// of package repositories check those bodies; the tree converts their JSON pointers to positions (definition.go).
//
// ${NAME} and ${NAME:default} are filled in from the environment after parsing, in values only: a variable cannot
// change the structure around it.
//
// Migrate rewrites a file of an older form as text, so that comments and layout stay, and verifies the result by
// reading both.
package files

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

// Options configure how files are read.
type Options struct {
	// Lookup returns environment variables, like os.LookupEnv.
	Lookup func(variable string) (value string, set bool)
	AppID  string // the app of the definitions if the files do not name it
	// SkipUnsupported leaves out sources and tools of unsupported types, and all that needs them, with notes.
	SkipUnsupported bool
	// Tests also reads tests, including those in the folder "tests" of a folder.
	Tests bool
	Stdin io.Reader // read if a path is Stdin; nil is empty
	// Advise returns more notes on a decoded repository; nil for none.
	Advise func(app *repositories.App, repository *repositories.Repository) fault.List
}

// Set is the content of the files, ready to be sent.
type Set struct {
	// AppID is the name of the document of kind app, else the appId of a SERMAS app, else Options.AppID, else the
	// name of the folder or of the Prebuilt definition; empty if that is not an id.
	AppID        string
	Files        []string      // the files that were read, in order
	App          *Definition   // has only the fields that the files set
	Repositories []*Definition // in the files' order; default, with the tools that no other names, is last
	Tests        []*Test       // the tests of the files, in order; none if Options exclude them
	// Notes name the parts that were left out.
	Notes []Fault
	// appNamed means that files or options name the app, and not only their folder.
	appNamed bool
	missing  map[string]bool
}

// Read reads files and folders and merges their definitions. The error is Faults. It checks definitions like the
// API, except references to the app (see Set.Check).
func Read(paths []string, options Options) (*Set, error) {
	var inputs []string
	for _, path := range paths {
		inputs = append(inputs, path)
		if folder := filepath.Join(path, testsFolder); options.Tests && path != Stdin {
			if _, err := inFolder(folder); err == nil {
				inputs = append(inputs, folder)
			}
		}
	}
	names, err := Expand(inputs)
	faults, _ := err.(Faults)
	c := &collector{faults: faults, missing: map[string]bool{}, skipUnsupported: options.SkipUnsupported, lookup: options.Lookup, readTests: options.Tests}
	for _, name := range names {
		source, err := options.load(name)
		if err != nil {
			c.faults.add(position{file: name}, "%s", err)
			continue
		}
		c.readSource(name, source)
	}

	set := c.assemble(options)
	set.Files = names
	set.appNamed = set.AppID != ""
	if !set.appNamed && len(paths) > 0 {
		set.AppID = folderName(paths[0], names)
	}
	c.notes = append(c.notes, ignoredFileNotes(paths, options.Tests)...)
	set.decode(&c.faults, &c.notes, options.Advise)
	set.checkTests(c)
	order := slices.Concat(inputs, names)
	set.Notes = c.notes.sorted(order)
	if len(names) == 0 && len(c.faults) == 0 {
		c.faults.add(position{file: "-f"}, "no file is given")
	}
	return set, c.faults.sorted(order).err()
}

func (c *collector) readSource(name, source string) {
	before := len(c.faults)
	values := readValues(name, source, c.lookup, &c.faults)
	if len(values) == 0 && len(c.faults) == before {
		c.faults.add(position{name, 1, 1}, "the file is empty; it defines nothing")
	}
	base := baseName(name)
	for _, value := range values { // its structure and the file's name identify its form
		switch {
		case value.kind == listValue:
			c.sermasList(base, value)
		case value.kind != objectValue:
			c.faults.add(value.at, "is %s; a file must hold a map or a list of definitions", value.kind)
		case value.field("kind") != nil:
			c.readFlat(value)
		case value.field("chat") != nil && (c.readTests || c.keepUnused):
			testName := cmp.Or(value.get("name"), newText(base, value.at))
			d := c.newDocument(kindTest, kindTest, testName, value.without("name"))
			d.sermas = true
			c.readTest(d)
		case value.field("chat") != nil: // used by earshot eval only
		case nestedSection(value):
			c.readSections(value)
		case base == kindApp:
			c.sermasApp(value)
		case base == kindSettings:
			c.add(&document{kind: kindSettings, term: kindSettings, at: value.at, body: c.sermasSettings(value), sermas: true})
		case value.field("name") != nil || len(value.fields) == 0:
			c.faults.add(value.at, "has no kind; every document needs one, as kind: tool")
		case value.field("openapi") != nil || value.field("swagger") != nil:
			c.faults.add(value.at, "is an OpenAPI document; make tools of it with: earshot import openapi %s", name)
		case value.field("function") != nil:
			c.faults.add(value.at, "has no kind; for a function of OpenAI, write kind: tool beside function")
		default:
			for _, f := range value.fields {
				if slices.Contains(sectionNames, f.name) {
					c.faults.add(f.at, "%q is a list, but a section of a file is a map with a name for each entry; for the body of a REST call, add kind: repository beside it", f.name)
					continue
				}
				c.faults.add(f.at, "unknown section %q; the sections of a file are %s%s", fault.Clip(f.name), strings.Join(sectionNames, ", "),
					fault.DidYouMean(f.name, sectionNames))
			}
		}
	}
}

// readValues parses a text into trees, ignoring a byte order mark and carriage returns. Positions are unaffected.
func readValues(name, source string, lookup func(string) (string, bool), faults *Faults) []*node {
	env := &environment{file: name, lookup: lookup}
	source = clean(source)
	if strings.TrimSpace(source) == "" {
		return nil
	}
	if filepath.Ext(name) == ".json" {
		if value := readJSON(source, env, faults); value != nil {
			return []*node{value}
		}
		return nil
	}
	if at := strings.IndexFunc(source, func(r rune) bool { return r >= markFirst && r <= markLast }); at >= 0 {
		faults.add(newCursor(name).advance(source, at), "holds a character of the private plane U+F0000, which is reserved for Earshot itself; remove it")
		return nil
	}
	var values []*node
	for _, part := range splitYAML(env.mask(source)) {
		if value := readDocument(part, env, faults); value != nil {
			values = append(values, value)
		}
	}
	return values
}

func clean(source string) string {
	return strings.ReplaceAll(strings.TrimPrefix(source, "\ufeff"), "\r\n", "\n")
}

// Fault is an error in a file, or a note.
type Fault struct {
	File string // as the caller named it
	// Line and Column count from 1, in characters; both are 0 for the whole file.
	Line, Column int
	Detail       string
	// unset reports that the environment lacks a variable here.
	unset bool
}

// String returns file:line:column: detail, which editors can follow.
func (f Fault) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Detail
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Detail)
}

// Faults are sorted by file and position. They are an error, and never returned empty.
type Faults []Fault

// Error lists the faults, one per line.
func (f Faults) Error() string { return strings.Join(lists.Map(f, Fault.String), "\n") }

// maxFaults bounds the listed faults.
const maxFaults = 1000

func (f *Faults) add(at position, format string, args ...any) {
	if len(*f) < maxFaults {
		*f = append(*f, Fault{File: at.file, Line: at.line, Column: at.column, Detail: fmt.Sprintf(format, args...)})
	}
}

// sorted orders the faults by the files in reading order and drops repetitions.
func (f Faults) sorted(order []string) Faults {
	rank := map[string]int{}
	for i, file := range order {
		rank[file] = i
	}
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(rank[a.File], rank[b.File]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(f)
}

func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// placeholder is ${NAME} or ${NAME:default}. A default ends at the first brace, on the same line.
var placeholder = regexp.MustCompile(`\$\{(\w+)(:[^}\n]*)?\}`)

// Characters for placeholders while YAML is parsed: a first one, two for the number, and padding that preserves
// columns. They are from a plane for private use.
const (
	markFirst = '\U000F0000'
	markPad   = '\U000F0001'
	markDigit = '\U000F0100'
	markBase  = 0x8000
	markLast  = '\U000FFFFF'
)

// environment resolves placeholders of variables. They are masked before parsing and filled in afterwards, in
// values only, so that no variable changes the structure.
type environment struct {
	file   string
	lookup func(string) (string, bool) // nil if placeholders stay unchanged
	masked []maskedVariable
}

type maskedVariable struct {
	text string
	at   position
}

// mask replaces every placeholder by characters of the same length without meaning in YAML.
func (e *environment) mask(source string) string {
	at := newCursor(e.file)
	var out strings.Builder
	end := 0
	for _, found := range placeholder.FindAllStringIndex(source, -1) {
		if len(e.masked) == markBase*markBase {
			break
		}
		variable := source[found[0]:found[1]]
		out.WriteString(source[end:found[0]])
		n := len(e.masked)
		out.WriteRune(markFirst)
		out.WriteRune(markDigit + rune(n/markBase))
		out.WriteRune(markDigit + rune(n%markBase))
		for range len([]rune(variable)) - 3 {
			out.WriteRune(markPad)
		}
		e.masked = append(e.masked, maskedVariable{variable, at.advance(source, found[0])})
		end = found[1]
	}
	out.WriteString(source[end:])
	return out.String()
}

func (e *environment) split(masked string) (texts []string, marks []maskedVariable) {
	if !strings.ContainsRune(masked, markFirst) {
		return []string{masked}, nil
	}
	runes := []rune(masked)
	start := 0
	for i := 0; i < len(runes); i++ {
		if runes[i] != markFirst || i+2 >= len(runes) {
			continue
		}
		texts = append(texts, string(runes[start:i]))
		marks = append(marks, e.masked[int(runes[i+1]-markDigit)*markBase+int(runes[i+2]-markDigit)])
		i += 2
		for i+1 < len(runes) && runes[i+1] == markPad {
			i++
		}
		start = i + 1
	}
	return append(texts, string(runes[start:])), marks
}

// fillMasked replaces the placeholders of a masked value, and reports whether the value is one placeholder alone.
func (e *environment) fillMasked(masked string, faults *Faults) (filled string, isPlaceholder bool) {
	texts, marks := e.split(masked)
	var out strings.Builder
	for i, mark := range marks {
		out.WriteString(texts[i] + e.value(mark, faults))
	}
	out.WriteString(texts[len(marks)])
	return out.String(), len(marks) == 1 && texts[0] == "" && texts[1] == ""
}

func (e *environment) value(mark maskedVariable, faults *Faults) string {
	if e.lookup == nil {
		return mark.text
	}
	parts := placeholder.FindStringSubmatch(mark.text)
	if value, set := e.lookup(parts[1]); set {
		return value
	}
	if parts[2] != "" {
		return parts[2][1:]
	}
	before := len(*faults)
	faults.add(mark.at, "environment variable %q is not set; ${%[1]s:default} gives it a default", parts[1])
	for i := range (*faults)[before:] { // none if there are too many
		(*faults)[before+i].unset = true
	}
	return ""
}
