package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// sumsName is the file of checksums, in the form that sha256sum -c reads.
const sumsName = "SHA256SUMS"

// make builds and packs the program for all platforms, and writes what is in it, the checksums,
// and where it comes from.
func (r *release) make(ctx context.Context) error {
	var built, made []string
	for _, platform := range platformsOf(r.platforms) {
		fmt.Fprintf(r.say, "release: %s %s\n", r.version, platform)
		path, err := r.build(ctx, platform)
		if err != nil {
			return err
		}
		packed, err := r.pack(platform, path)
		if err != nil {
			return err
		}
		built, made = append(built, path), append(made, packed)
	}
	list, err := r.writeSBOM(ctx, built)
	if err != nil {
		return err
	}
	made = append(made, list)
	if r.with != "" {
		made = append(made, strings.Split(r.with, ",")...)
	}
	if err := r.writeSums(made); err != nil {
		return err
	}
	provenance, err := r.writeProvenance(built)
	if err != nil || r.key == "" {
		return err
	}
	return r.sign(ctx, filepath.Join(r.out, sumsName), provenance)
}

// writeSums writes the checksums of files, by their names.
func (r *release) writeSums(files []string) error {
	var lines []string
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(text), filepath.Base(path)))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	text := strings.Join(lines, "")
	fmt.Fprint(r.say, text)
	return os.WriteFile(filepath.Join(r.out, sumsName), []byte(text), 0o644)
}

// madeHere are the names of what this command makes itself.
var madeHere = regexp.MustCompile(`^earshot_.*(_(linux|darwin)_\w+\.tar\.gz|_windows_\w+\.zip|\.cdx\.json)$`)

// compare returns an error that names what differs from the checksums in a file: other bytes,
// and what is on one side alone.
func (r *release) compare(published string) error {
	theirs, err := readSums(published)
	if err != nil {
		return err
	}
	ours, err := readSums(filepath.Join(r.out, sumsName))
	if err != nil {
		return err
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if theirs[name] != ours[name] {
			differ = append(differ, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		switch {
		case ours[name] != "":
		case !madeHere.MatchString(name):
			fmt.Fprintf(r.say, "release: not compared: %s, which other commands make\n", name)
		default:
			differ = append(differ, name+" (was not made)")
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("not as in %s: %s", published, strings.Join(differ, ", "))
	}
	fmt.Fprintf(r.say, "release: all as in %s\n", published)
	return nil
}

// readSums reads a file of checksums, by the names of what they are of.
func readSums(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			return nil, fmt.Errorf("%s: %q is no checksum of a file; lines are as sha256sum writes them", path, strings.TrimSpace(line))
		}
		sums[strings.TrimPrefix(fields[1], "*")] = fields[0]
	}
	return sums, nil
}

// signedAs is the namespace of signatures: one for something else, by the same key, is none of a
// release.
const signedAs = "earshot-release"

// sign signs files by OpenSSH, beside each as NAME.sig. It is on most machines already, also on
// those that verify, and takes keys of agents and of hardware.
func (r *release) sign(ctx context.Context, files ...string) error {
	if r.modified {
		return errors.New("-sign: files were changed since the commit, so that nobody could build this again; commit or stash them")
	}
	for _, path := range files {
		if err := os.Remove(path + ".sig"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err // ssh-keygen would ask whether to write over it
		}
		if out, err := exec.CommandContext(ctx, "ssh-keygen", "-Y", "sign", "-q", "-n", signedAs, "-f", r.key, path).CombinedOutput(); err != nil {
			return fmt.Errorf("-sign %s: ssh-keygen: %w: %s; make a key with: ssh-keygen -t ed25519 -f release-key", r.key, err, out)
		}
		fmt.Fprintf(r.say, "release: signed %s.sig\n", path)
	}
	return nil
}
