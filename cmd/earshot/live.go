package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/plan"
	"earshot/repositories/files"
)

// debounce is how long files must stay unchanged before a load: editors and checkouts write in several steps.
const debounce = 100 * time.Millisecond

type liveFiles struct {
	source  sourceFlags
	service *client.Client
	env     environment
	log     *slog.Logger
	applied map[string]map[plan.Member]bool // what was applied, by app
	seen    string                          // fingerprint of the files at the last load
}

// run loads the files at start and after each change, until ctx ends. It fails only if the first load does;
// later, faulty files change nothing, and the faults are printed.
func (l *liveFiles) run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher() // before the first load, so that no change is missed
	if err != nil {
		return fmt.Errorf("watch the files: %w", err)
	}
	for _, path := range l.source.paths {
		if strings.HasPrefix(path, files.Prebuilt) {
			continue // it never changes
		}
		folder := path // a watch on a file would miss its replacement
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			folder = filepath.Dir(path)
		}
		if err := watcher.Add(folder); err != nil {
			return errors.Join(fmt.Errorf("watch %s: %w", folder, err), watcher.Close())
		}
	}
	if err := l.load(ctx); err != nil {
		return errors.Join(err, watcher.Close())
	}
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return watcher.Close()
		case event := <-watcher.Events:
			if event.Op != fsnotify.Chmod {
				quiet.Reset(debounce)
			}
		case err := <-watcher.Errors:
			l.log.Warn("files.unwatched", "error", fmt.Sprint(err))
		case <-quiet.C:
			if files.Fingerprint(l.source.paths) == l.seen {
				continue // another file of the folder, or no change
			}
			if err := l.load(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintf(l.env.err, "%v\nthe files were not loaded; what is running stays as it was\n", err)
			}
		}
	}
}

// load applies the files, and removes what an earlier load applied and they no longer define.
func (l *liveFiles) load(ctx context.Context) error {
	l.seen = files.Fingerprint(l.source.paths) // before reading, so that a change during the load is seen
	set, err := l.source.readFor(l.env)
	if err != nil {
		return err
	}
	ours := l.applied[set.AppID]
	p := &plan.Planner{Service: l.service, Set: set, Pause: l.env.pause, Removable: func(m plan.Member) bool { return ours[m] }}
	made, err := p.Plan(ctx)
	if err != nil {
		return err
	}
	if err := made.Apply(ctx, l.service, l.env.out); err != nil {
		return err
	}
	l.applied[set.AppID] = plan.DefinedBy(set)
	if made.Changes() > 0 {
		made.Print(l.env.out)
	}
	fmt.Fprintf(l.env.out, "%s loaded: %s\n", plural(len(set.Files), "file"), made.Summary())
	return nil
}
