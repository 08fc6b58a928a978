package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"earshot/repositories/version"
)

// release is what is made: of which commit, and under which name.
type release struct {
	options
	version  string // 1.2.3
	commit   string
	made     time.Time // the commit; everything in an archive has this time
	modified bool
	say      io.Writer
}

// versions are those that a release may have: of Semantic Versioning.
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// identify finds out which commit is checked out, and what a release of it is called.
func identify(ctx context.Context, o options) (*release, error) {
	r := &release{options: o, commit: o.commit}
	if o.commit == "" || o.date == "" {
		if err := r.readHistory(ctx); err != nil {
			return nil, err
		}
	}
	if o.date != "" {
		made, err := time.Parse(time.RFC3339, o.date)
		if err != nil {
			return nil, fmt.Errorf("-date: %q is no time; give it as 2026-12-01T08:30:00Z", o.date)
		}
		r.made = made.UTC()
	}
	return r, r.name(ctx)
}

// readHistory asks git for the commit, its time, and whether files were changed since.
func (r *release) readHistory(ctx context.Context) error {
	head, err := git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return fmt.Errorf("%w; where there is no history, name the commit with -commit and -date", err)
	}
	var seconds int64
	if _, err := fmt.Sscanf(head, "%s %d", &r.commit, &seconds); err != nil {
		return fmt.Errorf("git says %q of the commit: %w", head, err)
	}
	r.made = time.Unix(seconds, 0).UTC()
	changed, err := git(ctx, "status", "--porcelain")
	r.modified = changed != ""
	return err
}

// name finds the version: what was asked for, the tag of the commit, or the commit's name.
func (r *release) name(ctx context.Context) error {
	asked := r.options.version
	if asked == "" && r.options.commit == "" && !r.modified {
		asked = tagOf(ctx)
	}
	if asked == "" {
		r.version = version.Unreleased(r.commit, r.made.Format(time.RFC3339), r.modified)
		return nil
	}
	if !versions.MatchString(asked) {
		return fmt.Errorf("%q is no version of a release; give one as v1.2.3 or v1.2.3-rc.1 (semver.org)", asked)
	}
	if r.modified {
		return fmt.Errorf("files were changed since commit %.12s, so that this is not %s; commit or stash them, or leave out -version", r.commit, asked)
	}
	r.version = strings.TrimPrefix(asked, "v")
	return r.checkTag(ctx, asked)
}

// tagOf is the version that the commit is tagged with, the last one where there are several.
func tagOf(ctx context.Context) string {
	tags, err := git(ctx, "tag", "--points-at", "HEAD", "--sort=version:refname")
	found := ""
	for tag := range strings.Lines(tags) {
		if tag = strings.TrimSpace(tag); err == nil && versions.MatchString(tag) {
			found = tag
		}
	}
	return found
}

// checkTag refuses a version whose tag is that of another commit.
func (r *release) checkTag(ctx context.Context, tag string) error {
	if r.options.commit != "" {
		return nil // there may be no history
	}
	tagged, err := git(ctx, "rev-parse", "--verify", "--quiet", tag+"^{commit}")
	if err == nil && tagged != r.commit {
		return fmt.Errorf("the tag %s is commit %.12s, and %.12s is checked out; check out the tag, or choose another version", tag, tagged, r.commit)
	}
	return nil
}

// git runs git and returns what it printed.
func git(ctx context.Context, arguments ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", arguments...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("git %s: %w: %s", arguments[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
