package sqlquery

import (
	"errors"
	"io/fs"
	"path/filepath"

	"earshot/repositories"
	"earshot/trigger/effect"
)

// sqlitePath returns the file of a source: under the operator's folder, also where
// links lead, since whoever owns an app may name any file of the machine. A file that
// is not there yet is waited for.
func sqlitePath(source repositories.Source, dir string) (string, error) {
	if dir == "" {
		return "", dead(effect.ReasonBlocked, "the source %q is a file, and this service opens none; an operator can name a folder with EARSHOT_SQLITE_DIR (--sqlite-dir)", source.Name)
	}
	folder, err := filepath.Abs(dir)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return "", retry(effect.ReasonRequest, "the folder of EARSHOT_SQLITE_DIR cannot be read")
	}
	path := source.Database
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	found, err := filepath.EvalSymlinks(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		found = filepath.Clean(path)
	} else if err != nil {
		return "", retry(effect.ReasonRequest, "the file of source %q cannot be read", source.Name)
	}
	if relative, err := filepath.Rel(folder, found); err != nil || !filepath.IsLocal(relative) || relative == "." {
		return "", dead(effect.ReasonBlocked, "the file of source %q is not in the folder that EARSHOT_SQLITE_DIR (--sqlite-dir) opens", source.Name)
	}
	if missing {
		return "", retry(effect.ReasonRequest, "the file of source %q is not there", source.Name)
	}
	return found, nil
}
