// Package version says which version of Earshot a program is, and what it was built from. Commands,
// descriptions, events, calls, logs and metrics all take their version from here.
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

// What a release is built with, as -ldflags "-X earshot/repositories/version.linkedVersion=1.2.3".
// It is linked in, since a source archive or the context of an image has no history to read.
var (
	linkedVersion string // without a leading v
	linkedCommit  string
	linkedDate    string // of the commit, RFC 3339 in UTC
)

// unknown is the version of a program that was built without its history, as go run does.
const unknown = "devel"

// dirty ends the version of what was built with files that no commit has.
const dirty = "+dirty"

// Build is what a program was built from.
type Build struct {
	// Version is that of a release, such as 1.2.3, or 0.0.0-20261201083000-4bf92f3577b3 after
	// the time and the name of the commit, with +dirty after it if files were changed
	// since. It is devel if nothing is known.
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // its name; empty if it is not known
	Date     string `json:"date,omitempty"`   // of the commit, RFC 3339 in UTC
	Modified bool   `json:"modified"`         // files were changed since the commit
	Go       string `json:"go"`               // the version of the compiler
	Platform string `json:"platform"`         // the system and the processor: linux/amd64
}

// Current is the build of this program. It is read once.
var Current = sync.OnceValue(func() Build {
	info, _ := debug.ReadBuildInfo() // nil: nothing is known
	return read(info)
})

// Product is how the program calls itself to the servers that it asks, as in earshot/1.2.3.
func Product() string { return "earshot/" + Current().Version }

// String writes a build as one line, for people.
func (b Build) String() string {
	parts := []string{b.Version}
	if b.Commit != "" {
		parts = append(parts, fmt.Sprintf("(commit %.12s of %s)", b.Commit, b.Date))
	}
	return strings.Join(append(parts, b.Go, b.Platform), " ")
}

// read takes what was linked in, and else what Go has written into the program: the tag of the
// commit, or a name after the tag before it.
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
	// The version of a commit that no release was made of sorts before all releases, and by time.
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
