package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/plan"
	"earshot/cmd/earshot/terminal"
	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/repositories"
	"earshot/repositories/files"
	"earshot/repositories/locale"
	"earshot/trigger/examples"
	"earshot/trigger/scope"
)

func newValidate(env environment) *cobra.Command {
	source := &sourceFlags{}
	cmd := &cobra.Command{
		Use:         "validate FILE|DIR...",
		Annotations: offline,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := source.setPaths(args); err != nil {
				return err
			}
			source.tests, source.withAdvice = true, true
			set, err := source.read(env)
			err = set.JoinCheck(err)
			if faults, isFaults := errors.AsType[files.Faults](err); isFaults {
				fmt.Fprintln(env.out, terminal.Printable(faults.Error()))
				return fmt.Errorf("%s in the files", plural(len(faults), "error"))
			}
			if err != nil {
				return err
			}
			app, err := repositories.DecodeApp(cmp.Or(set.AppID, "app"), set.App.Body())
			if err != nil {
				return err
			}
			noteExamples(cmd.Context(), env, set, app, nil)
			summary := fmt.Sprintf("app %s, %s", cmp.Or(set.AppID, "not named"), plural(len(set.Repositories), "repository", "repositories"))
			if len(set.Tests) > 0 {
				summary += ", " + plural(len(set.Tests), "test")
			}
			fmt.Fprintf(env.out, "%s, %s: no errors\n", plural(len(set.Files), "file"), summary)
			return nil
		},
	}
	source.register(cmd.Flags())
	return cmd
}

func newMigrate(env environment) *cobra.Command {
	source, dryRun := &sourceFlags{}, false
	cmd := &cobra.Command{
		Use:         "migrate FILE|DIR...",
		Annotations: offline,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := source.setPaths(args); err != nil {
				return err
			}
			names, err := files.Expand(source.paths)
			faults := []error{err}
			var consumed bytes.Buffer // what the check has read of standard input, to be read again
			faulty := files.Faulty(source.paths, files.Options{
				Lookup: env.lookup, Stdin: io.TeeReader(env.in, &consumed), SkipUnsupported: source.skip, Tests: true,
			})
			env.in = &consumed
			for _, name := range names {
				if found := faulty[name]; found != nil {
					faults = append(faults, found)
					continue
				}
				faults = append(faults, migrateFile(name, dryRun, env))
			}
			return errors.Join(faults...)
		},
	}
	source.registerFiles(cmd.Flags())
	source.registerSkip(cmd.Flags(), "convert sources and tools of unsupported types too")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would change and change nothing")
	return cmd
}

func migrateFile(name string, dryRun bool, env environment) error {
	m, err := files.Migrate(name, files.Options{Stdin: env.in})
	if err != nil {
		return err
	}
	switch {
	case dryRun && m.Changed():
		diff, err := udiff.ToUnified(name, name, m.Before, udiff.Lines(m.Before, m.After), strings.Count(m.Before, "\n")) // all lines
		if err == nil {
			_, err = io.WriteString(env.out, diff)
		}
		return err
	case name == files.Stdin && !dryRun:
		_, err := io.WriteString(env.out, m.After)
		return err
	case !m.Changed():
		fmt.Fprintf(env.out, "%s is of the newest form\n", name)
		return nil
	}
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	backup := target + ".bak"
	if _, err := os.Lstat(backup); err == nil { // it may be the only copy of what somebody wrote
		return fmt.Errorf("%s: %s is there already; move it away first", name, backup)
	}
	err = writeOver(target, m.After, func() error {
		if err := os.Link(target, backup); err != nil {
			return fmt.Errorf("keep it as %s: %w", backup, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(env.out, "%s is migrated; what it was is in %s\n", name, backup)
	return nil
}

// writeOver atomically replaces a file by a new one of the same mode; a link stays one. prepare, unless nil, runs when
// the new file is written and the old one still exists.
func writeOver(name, content string, prepare func() error) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // does not exist after success
	_, err = next.WriteString(content)
	if err := errors.Join(err, next.Chmod(info.Mode().Perm()), next.Sync(), next.Close()); err != nil {
		return err
	}
	if prepare != nil {
		if err := prepare(); err != nil {
			return err
		}
	}
	return os.Rename(next.Name(), name)
}

func newApply(env environment) *cobra.Command {
	source, remote := &sourceFlags{}, &client.Client{}
	var dryRun, prune, exitCode bool
	cmd := &cobra.Command{
		Use: "apply FILE|DIR...",
		RunE: func(cmd *cobra.Command, args []string) error {
			if exitCode && !dryRun {
				return errors.New("--exit-code needs --dry-run")
			}
			if err := source.setPaths(args); err != nil {
				return err
			}
			set, err := source.readFor(env)
			if err != nil {
				return err
			}
			p := &plan.Planner{Service: remote, Set: set, Pause: env.pause, Removable: func(m plan.Member) bool { return prune && m.Kind != "app" }}
			planned, err := p.Plan(cmd.Context())
			if err != nil {
				return err
			}
			planned.Print(env.out)
			if dryRun {
				if app, unlisted, err := planned.After(); err == nil { // notes never fail a plan
					noteExamples(cmd.Context(), env, set, app, unlisted)
				}
				fmt.Fprintf(env.out, "nothing was done (--dry-run): would have %s\n", planned.Summary())
				if exitCode && planned.Changes() > 0 {
					return exitWith(2)
				}
				return nil
			}
			if err := planned.Apply(cmd.Context(), remote, env.out); err != nil {
				return err
			}
			fmt.Fprintln(env.out, planned.Summary())
			return nil
		},
	}
	source.register(cmd.Flags())
	settings{cmd.Flags()}.service(remote)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan and change nothing")
	cmd.Flags().BoolVar(&prune, "prune", false, "remove the app's repositories, modules, sources and services that are not in the files")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "with --dry-run: exit with 2 if something would change")
	return cmd
}

// noteExamples notes the examples in the files that do not set off their tool by words, with the tools of all
// files and of other remaining repositories in scope.
func noteExamples(ctx context.Context, env environment, set *files.Set, app *repositories.App, unlisted []*repositories.Repository) {
	decoded := set.Decoded()
	shared := scope.Of(app, slices.Concat(decoded, unlisted)).Shared
	now := env.now()
	stage := &examples.Stage{Matcher: chain.New(llm.Options{}), Request: matcher.Request{
		App: app, Candidates: shared.Tools, Shared: shared, Language: app.Settings.Language,
		Now: now.In(locale.Zone(app.Settings.TimeZone, now.Location())),
	}}
	printed := map[string]bool{} // tools may repeat in several repositories
	for _, repository := range decoded {
		for _, note := range set.Locate(repository.ID, stage.Faults(ctx, repository)) {
			if text := note.String(); !printed[text] {
				printed[text] = true
				env.note(text)
			}
		}
	}
}

type importOptions struct {
	files.OpenAPIOptions
	output       string
	force, merge bool
}

func newImportOpenAPI(env environment) *cobra.Command {
	o := &importOptions{}
	cmd := &cobra.Command{
		Use:         "openapi FILE",
		Annotations: offline,
		Args:        arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Stdin = env.in
			if err := o.readEarlier(); err != nil {
				return err
			}
			made, err := files.FromOpenAPI(args[0], o.OpenAPIOptions)
			if err != nil {
				return err
			}
			for _, note := range made.Notes {
				env.note(note.String())
			}
			return o.write(made, env)
		},
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to write; default: standard output")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite an existing file")
	cmd.Flags().BoolVar(&o.merge, "merge", false, "keep edits in the file of an earlier import, and update the rest from the document")
	cmd.Flags().StringVar(&o.Name, "name", "", "`ID` of the source and the repository; default: made from the document's title")
	cmd.Flags().StringArrayVar(&o.Paths, "path", nil, "take only operations whose path begins with `PATH`, as /pets; may be repeated")
	cmd.Flags().StringArrayVar(&o.Overlays, "overlay", nil, "`FILE` of an OpenAPI Overlay, version 1.0 or 1.1, to apply first; may be repeated, in order")
	cmd.Flags().BoolVar(&o.ConfirmWrites, "confirm-writes", false, "make each tool that is not a GET ask first, unless the document sets x-earshot-confirm")
	cmd.Flags().StringVar(&o.BaseURL, "base-url", "", "`URL` of the API; default: the document's first server")
	return cmd
}

// readEarlier reads the file to merge into. A missing file is created later.
func (o *importOptions) readEarlier() error {
	switch {
	case !o.merge:
		return nil
	case o.output == "":
		return errors.New("--merge needs a file to merge into: name it with --output")
	case o.force:
		return errors.New("--merge keeps edits and --force overwrites them: give only one of them")
	}
	text, err := os.ReadFile(o.output)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	o.Into = &files.Imported{Path: o.output, Text: string(text)}
	return err
}

func (o *importOptions) write(made *files.OpenAPI, env environment) error {
	where := "standard output"
	if o.Into != nil {
		where = o.output
		if err := writeOver(o.output, made.Text, nil); err != nil {
			return err
		}
	} else if o.output != "" {
		flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
		if o.force {
			flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		}
		file, err := os.OpenFile(o.output, flags, 0o600)
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%s is there already, perhaps with changes of yours: name another file, keep them with --merge, or give --force", o.output)
		}
		if err != nil {
			return err
		}
		where = o.output
		_, err = io.WriteString(file, made.Text)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	} else if _, err := io.WriteString(env.out, made.Text); err != nil {
		return err
	}
	fmt.Fprintf(env.err, "%s of %s written to %s\n", plural(made.Tools, "tool"), plural(made.Operations, "operation"), where)
	if len(made.Variables) > 0 {
		fmt.Fprintf(env.err, "to be set where it is read: %s\n", strings.Join(made.Variables, ", "))
	}
	return nil
}
