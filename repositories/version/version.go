// Package version is the version of a program, and what it was built from. Commands, descriptions, events, calls,
// logs and metrics use it.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Set for releases, as by -ldflags "-X earshot/repositories/version.linkedVersion=1.2.3", because source archives
// and image contexts have no history.
var (
	linkedVersion string // without a leading v
	linkedCommit  string
	linkedDate    string // of the commit, RFC 3339 in UTC
)

// unknown is the version of a program built without its history, such as by go run.
const unknown = "devel"

// dirty ends the version of a build with uncommitted files.
const dirty = "+dirty"

// Build is the source and toolchain of a program.
type Build struct {
	// Version is a release's, such as 1.2.3, or 0.0.0-20261201083000-4bf92f3577b3 from the time and the id of the
	// commit, with +dirty if files were changed since. It is devel if unknown.
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // its id; empty if unknown
	Date     string `json:"date,omitempty"`   // of the commit, RFC 3339 in UTC
	Modified bool   `json:"modified"`         // files were changed since the commit
	Go       string `json:"go"`               // version of the compiler
	Platform string `json:"platform"`         // system and processor: linux/amd64
}

// Current returns the build of this program. It is read once.
var Current = sync.OnceValue(func() Build {
	info, _ := debug.ReadBuildInfo() // nil if unknown
	return read(info)
})

// Product returns the program's name for servers, as in earshot/1.2.3.
func Product() string { return "earshot/" + Current().Version }

// String returns a build as one line.
func (b Build) String() string {
	parts := []string{b.Version}
	if b.Commit != "" {
		parts = append(parts, fmt.Sprintf("(commit %.12s of %s)", b.Commit, b.Date))
	}
	return strings.Join(append(parts, b.Go, b.Platform), " ")
}

// read returns the linked values, else those that Go embeds in the program: the tag of the commit, or a name after
// the tag before it.
func read(info *debug.BuildInfo) Build {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	of := map[string]string{}
	for _, setting := range info.Settings {
		of[setting.Key] = setting.Value
	}
	b := Build{
		Commit: cmp.Or(linkedCommit, of["vcs.revision"]), Date: cmp.Or(linkedDate, of["vcs.time"]), Modified: of["vcs.modified"] == "true",
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	tagged := ""
	if info.Main.Version != "(devel)" {
		tagged = strings.TrimPrefix(info.Main.Version, "v")
	}
	// The version of an unreleased commit sorts before all releases, and by time.
	unreleased := unknown
	if at, err := time.Parse(time.RFC3339, b.Date); b.Commit != "" && err == nil {
		unreleased = fmt.Sprintf("0.0.0-%s-%.12s", at.UTC().Format("20060102150405"), b.Commit)
		if b.Modified {
			unreleased += dirty
		}
	}
	b.Version = cmp.Or(linkedVersion, tagged, unreleased)
	b.Modified = b.Modified || strings.HasSuffix(b.Version, dirty)
	return b
}
