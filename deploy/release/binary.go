package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// program is what is built, and how it is called in an archive.
	program = "earshot"
	// versionPackage is told what the program is.
	versionPackage = "earshot/repositories/version"
)

// beside are the files that an archive has beside the program.
var beside = []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "SECURITY.md"}

// build compiles the program for a platform, into a folder of its own, and returns its path.
// What the environment says of builds is not followed: the commit alone decides.
func (r *release) build(ctx context.Context, platform string) (string, error) {
	system, processor, _ := strings.Cut(platform, "/")
	path := filepath.Join(r.out, r.title(platform), nameOn(platform))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	compiler, err := toolchain()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", r.tags, "-ldflags", r.linked(), "-o", path, "./cmd/earshot")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor, "GOTOOLCHAIN="+compiler,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOWORK=off", "GOFIPS140=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build for %s: %w\n%s", platform, err, out)
	}
	return path, nil
}

// title is how what is made for a platform is called.
func (r *release) title(platform string) string {
	return fmt.Sprintf("%s_%s_%s", program, r.version, strings.ReplaceAll(platform, "/", "_"))
}

// linked are the flags of the linker: no tables for debuggers, and what the program is.
func (r *release) linked() string {
	told := []string{"-s", "-w", "-buildid="}
	for _, value := range [][2]string{{"linkedVersion", r.version}, {"linkedCommit", r.commit}, {"linkedDate", r.made.Format(time.RFC3339)}} {
		told = append(told, "-X", versionPackage+"."+value[0]+"="+value[1])
	}
	return strings.Join(told, " ")
}

// toolchain is the compiler that go.mod names, as GOTOOLCHAIN takes it: another one makes
// other bytes.
func toolchain() (string, error) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		return "", fmt.Errorf("%w; run this in the root of the module", err)
	}
	for line := range strings.Lines(string(text)) {
		if named, ok := strings.CutPrefix(line, "go "); ok {
			return "go" + strings.TrimSpace(named), nil
		}
	}
	return "", fmt.Errorf("go.mod names no version of Go")
}

// nameOn is how the program is called on a platform.
func nameOn(platform string) string {
	if strings.HasPrefix(platform, "windows/") {
		return program + ".exe"
	}
	return program
}

// archive is a file that others are put into.
type archive interface {
	add(name string, executable bool, text []byte) error
	Close() error
}

// pack writes the archive of a program with its documents, and returns its path: a zip for
// Windows, which opens nothing else by itself. All files in it have the time of the commit and, where
// that can be said, belong to root.
func (r *release) pack(platform, built string) (string, error) {
	files, err := documents()
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	ending, into := ".tar.gz", newTarball(&packed, r.made)
	if strings.HasPrefix(platform, "windows/") {
		ending, into = ".zip", zipped{zip.NewWriter(&packed), r.made}
	}
	if err := addFile(into, r.title(platform)+"/"+filepath.Base(built), true, built); err != nil {
		return "", err
	}
	for _, path := range files {
		if err := addFile(into, r.title(platform)+"/"+path, false, path); err != nil {
			return "", err
		}
	}
	if err := into.Close(); err != nil {
		return "", err
	}
	path := filepath.Join(r.out, r.title(platform)+ending)
	return path, os.WriteFile(path, packed.Bytes(), 0o644)
}

func addFile(into archive, name string, executable bool, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return into.add(name, executable, text)
}

// tarball is an archive for all systems but Windows.
type tarball struct {
	*tar.Writer
	squeezed *gzip.Writer
	made     time.Time
}

func newTarball(out io.Writer, made time.Time) archive {
	squeezed, _ := gzip.NewWriterLevel(out, gzip.BestCompression) // the level is one that there is
	return tarball{tar.NewWriter(squeezed), squeezed, made}
}

func (t tarball) add(name string, executable bool, text []byte) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o644, ModTime: t.made, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
	if executable {
		header.Mode = 0o755
	}
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	_, err := t.Write(text)
	return err
}

// Close ends the archive.
func (t tarball) Close() error { return errors.Join(t.Writer.Close(), t.squeezed.Close()) }

// zipped is an archive for Windows.
type zipped struct {
	*zip.Writer
	made time.Time
}

func (z zipped) add(name string, executable bool, text []byte) error {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: z.made}
	header.SetMode(0o644)
	if executable {
		header.SetMode(0o755)
	}
	entry, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = entry.Write(text)
	return err
}
