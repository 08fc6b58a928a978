package files

import (
	"path/filepath"
	"strings"

	"earshot/repositories"
)

// Options say how files are read.
type Options struct {
	// Lookup finds environment variables, as os.LookupEnv does.
	Lookup func(variable string) (value string, set bool)
	// AppID is the app that the definitions are for where the files do not say it.
	AppID string
}

// Set is what the files define, ready to be sent.
type Set struct {
	// AppID is the name of the document of kind app, else the appId of a SERMAS app,
	// else what Options say, else the name of the folder that the first path is or is
	// in. It is empty where that name cannot be an id.
	AppID string
	// Files are the files that were read, in their order.
	Files []string
	// App has what the files say of the app; fields that they do not mention are
	// missing.
	App *Definition
	// Repositories are sorted as the files name them; the one called default, with
	// the tools that no other names, comes last.
	Repositories []*Definition
	// Notes name what was read and left.
	Notes []Fault
}

// Read reads files and folders and merges what they define. The error is Faults and
// names everything that is wrong with them at once; definitions are checked as the
// API checks them, except for what they refer to in the app (see Set.Check).
func Read(paths []string, options Options) (*Set, error) {
	names, err := Expand(paths)
	faults, _ := err.(Faults)
	c := &collector{faults: faults}
	for _, name := range names {
		c.file(name, options.Lookup)
	}
	set := c.assemble(options)
	set.Files = names
	if set.AppID == "" && len(paths) > 0 {
		set.AppID = folderName(paths[0], names)
	}
	set.decode(&c.faults)
	order := append(append([]string{}, paths...), names...)
	set.Notes = c.notes.sorted(order)
	if len(names) == 0 && len(c.faults) == 0 {
		c.faults.add(place{file: "-f"}, "no file is given")
	}
	return set, c.faults.sorted(order).err()
}

// file reads one file into the collector.
func (c *collector) file(name string, lookup func(string) (string, bool)) {
	source, err := load(name)
	if err != nil {
		c.faults.add(place{file: name}, "%s", err)
		return
	}
	before := len(c.faults)
	values := readValues(name, source, lookup, &c.faults)
	if len(values) == 0 && len(c.faults) == before {
		c.faults.add(place{name, 1, 1}, "the file is empty; it defines nothing")
	}
	for _, value := range values {
		c.value(name, value)
	}
}

// readValues makes trees of the text of a file.
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
	if at := strings.IndexFunc(source, isMark); at >= 0 {
		start := newCursor(name)
		faults.add(start.to(source, at), "holds a character of the private plane U+F0000, which means nothing to anybody else")
		return nil
	}
	return readYAML(source, env, faults)
}

// folderName is the name of the folder that is given, or that the first file is in.
func folderName(path string, names []string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	if len(names) > 0 && names[0] == path {
		absolute = filepath.Dir(absolute)
	}
	name := filepath.Base(absolute)
	if repositories.CheckID("app", name) != nil {
		return ""
	}
	return name
}
