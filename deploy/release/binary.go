package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
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
	path := filepath.Join(r.out, r.title(platform), program)
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

// pack writes the archive of a program, and returns its path. All files in it have the time of
// the commit and belong to root.
func (r *release) pack(platform, built string) (string, error) {
	var packed bytes.Buffer
	squeezed, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is one that there is
	archive := tar.NewWriter(squeezed)
	for _, path := range append([]string{built}, beside...) {
		if err := r.add(archive, r.title(platform)+"/"+filepath.Base(path), path); err != nil {
			return "", err
		}
	}
	if err := archive.Close(); err != nil {
		return "", err
	}
	if err := squeezed.Close(); err != nil {
		return "", err
	}
	path := filepath.Join(r.out, r.title(platform)+".tar.gz")
	return path, os.WriteFile(path, packed.Bytes(), 0o644)
}

func (r *release) add(archive *tar.Writer, name, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o644, ModTime: r.made, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
	if filepath.Base(path) == program {
		header.Mode = 0o755
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(text)
	return err
}
