package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// errNoHistory means that the commit of an earlier version is not here: the clone is shallow,
// or there is no repository.
var errNoHistory = errors.New("its commit is not in this clone; get it with: git fetch --unshallow")

// Build builds the program of this source, or that of a commit, into dir, and returns its path.
// A path of a program that is there already is returned as it is. Its error wraps errNoHistory
// where the commit is not to be had.
func Build(ctx context.Context, dir, ref string) (program string, err error) {
	if strings.Contains(ref, "/") {
		return filepath.Abs(ref)
	}
	mod, err := output(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	source := filepath.Dir(strings.TrimSpace(mod))
	program = filepath.Join(dir, "earshot"+ref)
	if ref == "" {
		_, err = output(ctx, source, "go", "build", "-o", program, "./cmd/earshot")
		return program, err
	}
	if _, err := output(ctx, source, "git", "cat-file", "-e", ref+"^{commit}"); err != nil {
		return "", fmt.Errorf("earshot of %s: %w", ref, errNoHistory)
	}
	earlier, archive := filepath.Join(dir, "source-"+ref), filepath.Join(dir, ref+".tar")
	if err := os.MkdirAll(earlier, 0o700); err != nil {
		return "", err
	}
	for _, command := range [][]string{
		{source, "git", "archive", "-o", archive, ref}, {earlier, "tar", "-xf", archive}, {earlier, "go", "build", "-o", program, "./cmd/earshot"},
	} {
		if _, err := output(ctx, command[0], command[1], command[2:]...); err != nil {
			return "", err
		}
	}
	return program, os.RemoveAll(earlier)
}

func output(ctx context.Context, dir, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, out)
	}
	return string(out), nil
}
