package files

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"earshot/repositories"
	"earshot/repositories/fault"
)

// Options say how files are read.
type Options struct {
	// Lookup finds environment variables, as os.LookupEnv does.
	Lookup func(variable string) (value string, set bool)
	// AppID is the app that the definitions are for where the files do not say it.
	AppID string
	// SkipUnsupported leaves out sources and tools of types that are not served, and tools
	// that need such a source, with a note each in place of a fault.
	SkipUnsupported bool
	// Tests reads tests as well, and those in the folder "tests" of a folder.
	Tests bool
	// Stdin is read where a path is Stdin; nil is empty.
	Stdin io.Reader
	// Advise says more of a repository that was decoded than it does of itself, or nothing; nil
	// for nobody.
	Advise func(app *repositories.App, repository *repositories.Repository) fault.List
}

// Stdin is the path that stands for standard input, read as YAML.
const Stdin = "-"

// Set is what the files define, ready to be sent.
type Set struct {
	// AppID is the name of the document of kind app, else the appId of a SERMAS app,
	// else what Options say, else the name of the folder that the first path is or is
	// in, or of what is Prebuilt. It is empty where that name cannot be an id.
	AppID string
	// Files are the files that were read, in their order.
	Files []string
	// App has what the files say of the app; fields that they do not mention are
	// missing.
	App *Definition
	// Repositories are sorted as the files name them; the one called default, with
	// the tools that no other names, comes last.
	Repositories []*Definition
	// Tests are the tests of the files, in their order; none where Options leave them out.
	Tests []*Test
	// Notes name what was read and left.
	Notes []Fault
	// named says that files or options name the app, and not their folder.
	named bool
	// missing are the sources and tools that were left out for their type.
	missing map[string]bool
}

// Read reads files and folders and merges what they define. The error is Faults and
// names everything that is wrong with them at once; definitions are checked as the
// API checks them, except for what they refer to in the app (see Set.Check).
func Read(paths []string, options Options) (*Set, error) {
	read := paths
	if options.Tests {
		read = withTests(paths)
	}
	names, err := Expand(read)
	faults, _ := err.(Faults)
	c := &collector{faults: faults, missing: map[string]bool{}, skip: options.SkipUnsupported, lookup: options.Lookup, tests: options.Tests}
	for _, name := range names {
		c.file(name, options)
	}
	set := c.assemble(options)
	set.Files = names
	set.named = set.AppID != ""
	if !set.named && len(paths) > 0 {
		set.AppID = folderName(paths[0], names)
	}
	c.notes = append(c.notes, leftOut(paths, options.Tests)...)
	set.decode(&c.faults, &c.notes, options.Advise)
	set.checkTests(c)
	order := append(append([]string{}, read...), names...)
	set.Notes = c.notes.sorted(order)
	if len(names) == 0 && len(c.faults) == 0 {
		c.faults.add(position{file: "-f"}, "no file is given")
	}
	return set, c.faults.sorted(order).err()
}

// file reads one file into the collector.
func (c *collector) file(name string, options Options) {
	source, err := options.load(name)
	if err != nil {
		c.faults.add(position{file: name}, "%s", err)
		return
	}
	before := len(c.faults)
	values := readValues(name, source, options.Lookup, &c.faults)
	if len(values) == 0 && len(c.faults) == before {
		c.faults.add(position{name, 1, 1}, "the file is empty; it defines nothing")
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
	if name, is := strings.CutPrefix(path, Prebuilt); is {
		return name
	}
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

// Bounds of what is read. The API takes bodies of up to 1 MiB, so that no file needs
// to be longer.
const (
	maxBytes = 1 << 20
	maxFiles = 1000
)

// Expand lists the files that the paths stand for: a file itself; of a folder its
// *.yaml and then its *.yml, by name and not recursively, and the *.json that a SERMAS
// app has. Stdin stands for itself, and so does what is Prebuilt. Its tasks and users are left to SERMAS.
func Expand(paths []string) ([]string, error) {
	var found []string
	var faults Faults
	for _, path := range paths {
		var info fs.FileInfo
		var err error
		if path != Stdin && !strings.HasPrefix(path, Prebuilt) {
			info, err = os.Stat(path)
		}
		switch {
		case err != nil:
			faults.add(position{file: path}, "%s", reason(err))
		case info != nil && info.IsDir():
			files, err := inFolder(path)
			if err != nil {
				faults.add(position{file: path}, "%s", err)
			}
			found = append(found, files...)
		case !slices.Contains(found, path):
			found = append(found, path)
		}
	}
	if len(found) > maxFiles {
		faults.add(position{file: paths[0]}, "%d files are too many; the most is %d", len(found), maxFiles)
		found = nil
	}
	return found, faults.err()
}

func inFolder(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, errors.New(reason(err))
	}
	var names []string
	for _, ending := range []string{".yaml", ".yml", ".json"} {
		for _, entry := range entries {
			if filepath.Ext(entry.Name()) == ending && !strings.HasPrefix(entry.Name(), ".") && isFile(folder, entry) {
				names = append(names, entry.Name())
			}
		}
	}
	sermas := sermasFolder(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		base := baseName(name)
		known := base == kindApp || base == "tools" || base == "modules" || base == kindSettings
		return filepath.Ext(name) == ".json" && !known || sermas && (base == "tasks" || base == "users")
	})
	if len(names) == 0 {
		return nil, errors.New("the folder has no *.yaml and no *.yml")
	}
	for i := range names {
		names[i] = filepath.Join(folder, names[i])
	}
	return names, nil
}

// isFile follows links: configuration that Kubernetes mounts is links.
func isFile(folder string, entry fs.DirEntry) bool {
	info, err := os.Stat(filepath.Join(folder, entry.Name()))
	return err == nil && info.Mode().IsRegular()
}

// reason is what went wrong with a file, without its name.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// openFile opens a file to be read. What is no regular file is refused: a pipe may never end, and nor
// does a device. It is opened without waiting for whoever would write to it.
func openFile(file string) (*os.File, error) {
	opened, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.New(reason(err))
	}
	info, err := opened.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is no regular file; what a program writes is read from standard input, as in: program | earshot … -f -")
	}
	if err != nil {
		opened.Close()
		return nil, err
	}
	return opened, nil
}

// load reads the text of a file.
func load(file string) (string, error) {
	opened, err := openFile(file)
	if err != nil {
		return "", err
	}
	defer opened.Close()
	return readText(opened, maxBytes, severalFiles)
}

// load reads the text of a file, or of standard input.
func (o Options) load(name string) (string, error) {
	switch {
	case strings.HasPrefix(name, Prebuilt):
		return readPrebuilt(name)
	case name != Stdin:
		return load(name)
	case o.Stdin == nil:
		return "", nil
	}
	return readText(o.Stdin, maxBytes, severalFiles)
}

// severalFiles is what to do about a file that is too long.
const severalFiles = "write several files"

// readText reads a text up to a length; the hint says what to do about one that is longer.
func readText(from io.Reader, most int, hint string) (string, error) {
	read, err := io.ReadAll(io.LimitReader(from, int64(most)+1))
	switch {
	case err != nil:
		return "", errors.New(reason(err))
	case len(read) > most:
		return "", fmt.Errorf("is longer than %d bytes; %s", most, hint)
	case !utf8.Valid(read):
		return "", errors.New("is not UTF-8")
	}
	return string(read), nil
}

// Fingerprint is the same for as long as the files that the paths stand for, and what is
// in them, are the same. Files that cannot be read count as they are.
func Fingerprint(paths []string) string {
	names, err := Expand(paths)
	sum := sha256.New()
	fmt.Fprintln(sum, names, err)
	for _, name := range names {
		content, err := Options{}.load(name)
		fmt.Fprintf(sum, "%q %d %v\n%s", name, len(content), err, content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// clean takes off what editors of other systems leave: a mark of the byte order and
// carriage returns. Places stay true.
func clean(source string) string {
	return strings.ReplaceAll(strings.TrimPrefix(source, "\ufeff"), "\r\n", "\n")
}

// Prebuilt begins the path that stands for definitions that come with Earshot, for a database
// that environment variables name: Prebuilt + "postgres", "mysql" or "sqlite".
const Prebuilt = "prebuilt:"

var prebuiltNames = []string{"postgres", "mysql", "sqlite"}

//go:embed prebuilt/*.yaml
var prebuiltFiles embed.FS

// readPrebuilt returns the text that a path with Prebuilt stands for.
func readPrebuilt(path string) (string, error) {
	name := strings.TrimPrefix(path, Prebuilt)
	source, err := prebuiltFiles.ReadFile("prebuilt/" + name + ".yaml")
	if err != nil {
		return "", fmt.Errorf("there is no such prebuilt: %s%s", fault.OneOf(prebuiltNames), fault.DidYouMean(name, prebuiltNames))
	}
	return string(source), nil
}
