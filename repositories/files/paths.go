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
	"earshot/repositories/lists"
)

// Stdin is the path of standard input, read as YAML.
const Stdin = "-"

// Prebuilt begins the path of a definition that comes with Earshot: Prebuilt + "postgres", "mysql" or "sqlite".
const Prebuilt = "prebuilt:"

var prebuiltNames = []string{"postgres", "mysql", "sqlite"}

//go:embed prebuilt/*.yaml
var prebuiltFiles embed.FS

// Limits of input: the API accepts bodies of up to 1 MiB.
const (
	maxBytes = 1 << 20
	maxFiles = 1000
)

// Expand lists the files of the paths. A folder stands for its *.yaml and *.yml, and the *.json of a SERMAS app
// except its tasks and users, by name and not recursively. Stdin and Prebuilt paths stay. Of the paths of one file,
// links among them, the first counts.
func Expand(paths []string) ([]string, error) {
	var found []string
	var faults Faults
	for _, path := range paths {
		info, err := statOf(path)
		switch {
		case err != nil:
			faults.add(position{file: path}, "%s", reason(err))
		case info != nil && info.IsDir():
			files, err := inFolder(path)
			if err != nil {
				faults.add(position{file: path}, "%s", err)
			}
			found = append(found, files...)
		default:
			found = append(found, path)
		}
	}
	if len(found) > maxFiles {
		faults.add(position{file: paths[0]}, "%d files are too many; the most is %d", len(found), maxFiles)
		found = nil
	}
	return distinct(found), faults.err()
}

// statOf describes a path; nil for Stdin and what comes with Earshot.
func statOf(path string) (fs.FileInfo, error) {
	if path == Stdin || strings.HasPrefix(path, Prebuilt) {
		return nil, nil
	}
	return os.Stat(path)
}

// distinct leaves out the paths of files that an earlier path names.
func distinct(paths []string) (kept []string) {
	var known []fs.FileInfo
	for _, path := range paths {
		info, _ := statOf(path) // reading the file reports the error
		if slices.Contains(kept, path) || info != nil && slices.ContainsFunc(known, func(earlier fs.FileInfo) bool { return os.SameFile(earlier, info) }) {
			continue
		}
		kept = append(kept, path)
		if info != nil {
			known = append(known, info)
		}
	}
	return kept
}

func inFolder(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, errors.New(reason(err))
	}
	var names []string
	for _, ending := range []string{".yaml", ".yml", ".json"} {
		for _, entry := range entries {
			if filepath.Ext(entry.Name()) != ending || strings.HasPrefix(entry.Name(), ".") {
				continue
			}
			// Links are followed: Kubernetes mounts configuration as links.
			if info, err := os.Stat(filepath.Join(folder, entry.Name())); err == nil && info.Mode().IsRegular() {
				names = append(names, entry.Name())
			}
		}
	}
	sermas := sermasFolder(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		base := baseName(name)
		wanted := slices.Contains([]string{kindApp, "tools", "modules", kindSettings}, base)
		return filepath.Ext(name) == ".json" && !wanted || sermas && (base == "tasks" || base == "users")
	})
	if len(names) == 0 {
		return nil, errors.New("the folder has no *.yaml and no *.yml")
	}
	for i := range names {
		names[i] = filepath.Join(folder, names[i])
	}
	return names, nil
}

func baseName(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func sermasFolder(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains([]string{kindApp, "modules", kindSettings}, baseName(name))
	})
}

// folderName returns the name of the given folder, or of the first file's; empty if it is not an id.
func folderName(path string, names []string) string {
	if name, ok := strings.CutPrefix(path, Prebuilt); ok {
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

// testsFolder is the subfolder of a SERMAS app's tests.
const testsFolder = "tests"

// ignoredFiles tells why other files of a SERMAS app are left out, by their name without extension.
var ignoredFiles = map[string]string{
	"tasks":      "Earshot has no tasks: what asks for values one after the other is a tool with required parameters",
	"users":      "Earshot keeps no users: those of an identity provider are verified (authServices)",
	"rag":        "Earshot has no documents to retrieve from",
	"repository": "Earshot has no avatars and backgrounds",
	testsFolder:  "earshot eval -f reads it",
}

func ignoredFileNotes(paths []string, tests bool) Faults {
	var notes Faults
	for _, path := range paths {
		entries, err := os.ReadDir(path)
		if path == Stdin || err != nil {
			continue // a file, or reported as a fault
		}
		names := lists.Map(entries, os.DirEntry.Name)
		if !sermasFolder(names) {
			continue
		}
		read, _ := inFolder(path)
		for _, entry := range entries {
			name, file := entry.Name(), filepath.Join(path, entry.Name())
			known := entry.IsDir() || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
			isRead := slices.Contains(read, file) || tests && entry.IsDir() && name == testsFolder
			if !known || isRead || strings.HasPrefix(name, ".") {
				continue
			}
			why, ok := ignoredFiles[baseName(name)]
			if !ok {
				why = "it is not a part of an app that Earshot reads"
			}
			notes.add(position{file: file}, "is left out: %s", why)
		}
	}
	return notes
}

func (o Options) load(name string) (string, error) {
	prebuilt, ok := strings.CutPrefix(name, Prebuilt)
	if !ok {
		return readSource(name, o.Stdin, maxBytes, "write several files")
	}
	source, err := prebuiltFiles.ReadFile("prebuilt/" + prebuilt + ".yaml")
	if err != nil {
		return "", fmt.Errorf("unknown prebuilt; it must be %s%s", fault.OneOf(prebuiltNames), fault.DidYouMean(prebuilt, prebuiltNames))
	}
	return string(source), nil
}

// readSource reads a text up to a length; the hint tells what to do about a longer one.
func readSource(path string, stdin io.Reader, most int, hint string) (string, error) {
	from := stdin
	if path != Stdin {
		file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for the writer of a pipe
		if err != nil {
			return "", errors.New(reason(err))
		}
		defer file.Close()
		info, err := file.Stat()
		switch {
		case err != nil:
			return "", err
		case !info.Mode().IsRegular(): // a pipe or a device may never end
			return "", errors.New("is not a regular file; to read the output of a program, use standard input, as in: program | earshot … -f -")
		}
		from = file
	} else if stdin == nil {
		return "", nil
	}
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

func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// Fingerprint changes if the paths' files or their contents change.
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
