package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what is read. The API takes bodies of up to 1 MiB, so that no file needs
// to be longer.
const (
	mostBytes = 1 << 20
	mostFiles = 1000
)

// Expand lists the files that the paths stand for: a file itself; of a folder its
// *.yaml and then its *.yml, by name and not recursively, and the *.json that a SERMAS
// app has. Its tasks and users are left to SERMAS.
func Expand(paths []string) ([]string, error) {
	var found []string
	var faults Faults
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			faults.add(place{file: path}, "%s", reason(err))
		case info.IsDir():
			files, err := inFolder(path)
			if err != nil {
				faults.add(place{file: path}, "%s", err)
			}
			found = append(found, files...)
		case !slices.Contains(found, path):
			found = append(found, path)
		}
	}
	if len(found) > mostFiles {
		faults.add(place{file: paths[0]}, "%d files are too many; the most is %d", len(found), mostFiles)
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

// load reads the text of a file.
func load(file string) (string, error) {
	opened, err := os.Open(file)
	if err != nil {
		return "", errors.New(reason(err))
	}
	defer opened.Close()
	read, err := io.ReadAll(io.LimitReader(opened, mostBytes+1))
	switch {
	case err != nil:
		return "", errors.New(reason(err))
	case len(read) > mostBytes:
		return "", fmt.Errorf("is longer than %d bytes; write several files", mostBytes)
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
		content, err := load(name)
		fmt.Fprintf(sum, "%q %d %v\n%s", name, len(content), err, content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// clean takes off what editors of other systems leave: a mark of the byte order and
// carriage returns. Places stay true.
func clean(source string) string {
	return strings.ReplaceAll(strings.TrimPrefix(source, "\ufeff"), "\r\n", "\n")
}
