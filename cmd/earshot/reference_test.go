package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

var update = flag.Bool("update", false, "write the reference of commands, settings and metrics")

const generated = "This page is generated from the program: do not edit it.\n"

func requirePage(t *testing.T, name, text string) {
	t.Helper()
	testbed.Kept(t, *update, filepath.Join("../../deploy/docs/reference", name), text, "go test ./cmd/earshot -run Reference -update")
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "\n", " ").Replace(text)
}

func TestReferenceOfCommandsIsUpToDate(t *testing.T) {
	var text strings.Builder
	text.WriteString("# Commands\n\nAll commands of `earshot`, with their flags, beside `earshot completion SHELL`, which prints a completion script for a shell. " + generated)
	serves := newServe(environment{out: &strings.Builder{}}).Flags()
	var write func(cmd *cobra.Command)
	write = func(cmd *cobra.Command) {
		if cmd.Name() == "help" || cmd.Name() == "completion" || !cmd.IsAvailableCommand() && cmd.HasParent() {
			return
		}
		fmt.Fprintf(&text, "\n## %s\n\n%s.\n", cmd.CommandPath(), cmd.Short)
		if cmd.Long != "" {
			fmt.Fprintf(&text, "\n%s\n", prose(cmd.Long))
		}
		if cmd.Runnable() {
			fmt.Fprintf(&text, "\n```text\n%s\n```\n", cmd.UseLine())
		}
		if cmd.HasExample() {
			fmt.Fprintf(&text, "\n```text\n%s\n```\n", unindented(cmd.Example))
		}
		headings, groups := byGroup(cmd.LocalFlags())
		var rows, shared []string
		if own := groups[""]; own != nil {
			own.VisitAll(func(flag *pflag.Flag) {
				switch setting := serves.Lookup(flag.Name); {
				case flag.Name == "help":
				case setting != nil && len(flag.Annotations[envAnnotation]) > 0 && flag.DefValue == setting.DefValue:
					shared = append(shared, flagName(flag))
				default:
					rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", flagName(flag), cell(marked(meaning(flag)))+variables(flag), cmp.Or(fallback(flag), "none")))
				}
			})
		}
		if rows != nil {
			text.WriteString("\n| flag | meaning | default |\n| --- | --- | --- |\n" + strings.Join(rows, ""))
		}
		if shared != nil {
			text.WriteString("\nThese are [settings](settings.md) of the service, which the command takes as well: " + strings.Join(shared, ", ") + ".\n")
		}
		if slices.ContainsFunc(headings, func(heading string) bool { return heading != "" }) {
			text.WriteString("\nThe other flags are its [settings](settings.md).\n")
		}
		for _, child := range cmd.Commands() {
			write(child)
		}
	}
	root := newRoot(environment{out: &strings.Builder{}})
	root.InitDefaultHelpFlag()
	write(root)
	requirePage(t, "commands.md", text.String())
}

func TestReferenceOfSettingsIsUpToDate(t *testing.T) {
	env := environment{out: &strings.Builder{}}
	serve, dev := newServe(env).Flags(), newDev(env).Flags()
	var text strings.Builder
	text.WriteString("# Settings\n\nThe settings of `earshot serve` and `earshot dev`. Each may be given by a flag or by an environment variable; the flag wins. " + generated + `
For containers, each credential may also be in a file: the variable that names the file ends with ` + "`_FILE`" + `.
Both at once are an error. The file must be a regular file or a pipe of at most 64 KiB.

Beside these settings, Go's ` + "`GOGC` and `GOMEMLIMIT`" + ` have their usual meaning, and OpenTelemetry's variables turn on [traces, and metrics by OTLP](../operations.md#traces).
`)
	headings, groups := byGroup(serve)
	for _, heading := range headings {
		fmt.Fprintf(&text, "\n## %s\n\n| variable | flag | meaning | default |\n| --- | --- | --- | --- |\n", heading)
		groups[heading].VisitAll(func(flag *pflag.Flag) {
			names := flag.Annotations[envAnnotation]
			if len(flag.Annotations[fileAnnotation]) > 0 {
				names = append(slices.Clone(names), names[0]+"_FILE")
			}
			variable := "none"
			if len(names) > 0 {
				variable = "`" + strings.Join(names, "`, `") + "`"
			}
			without, inDev := cmp.Or(fallback(flag), "none"), dev.Lookup(flag.Name)
			if other := cmp.Or(fallback(inDev), "none"); other != without {
				without += "; `dev`: " + other
			}
			if _, more, is := strings.Cut(inDev.Usage, flag.Usage+"; "); is {
				without += "; `dev`: " + more
			}
			fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", variable, flagName(flag), cell(marked(meaning(flag))), without)
		})
	}
	text.WriteString("\n`earshot dev` has [flags of its own](commands.md#earshot-dev) as well.\n")
	requirePage(t, "settings.md", text.String())
}

// TestReferenceOfMetricsIsUpToDate reads the metrics of a replica that has used every feature.
func TestReferenceOfMetricsIsUpToDate(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	require.NoError(t, w.client().ConfigSet(t.Context(), "maxmemory", "1gb").Err())
	w.until("it has looked at what is sealed", func() bool { return strings.Contains(w.scrape(), "\nearshot_sealed{") })
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(w.scrape() + "# HELP " + expiryName + " " + expiryHelp + "\n# TYPE " + expiryName + " gauge\n" + expiryName + " 0\n"))
	require.NoError(t, err)
	var text strings.Builder
	text.WriteString("# Metrics\n\nThe metrics of `/metrics` for Prometheus, besides those of Go and the process. " + generated + `
[Operations](../operations.md#metrics-and-alerts) has the alerts, and how to scrape them.

| metric | type | labels | meaning |
| --- | --- | --- | --- |
`)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if family := families[name]; strings.HasPrefix(name, "earshot_") {
			labels := cmp.Or(labelsOf(family), "none")
			fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(family.GetType().String()), labels, cell(family.GetHelp()))
		}
	}
	requirePage(t, "metrics.md", text.String())
}

// labelsOf returns a family's labels, with values if these are fixed.
func labelsOf(family *dto.MetricFamily) string {
	values := map[string]map[string]bool{}
	for _, one := range family.GetMetric() {
		for _, label := range one.GetLabel() {
			if values[label.GetName()] == nil {
				values[label.GetName()] = map[string]bool{}
			}
			values[label.GetName()][label.GetValue()] = true
		}
	}
	var named []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch name {
		case "app", "commit", "go", "in", "method", "route", "status", "version":
			named = append(named, "`"+name+"`")
		default:
			named = append(named, "`"+name+"`: "+strings.Join(slices.Sorted(maps.Keys(values[name])), ", "))
		}
	}
	return strings.Join(named, "; ")
}

// code matches literal text in the help: flags, variables and commands.
var code = regexp.MustCompile(`\$\{[A-Z_]+\}|--[a-z][a-z-]*[a-z]|\b[A-Z]+_[A-Z_]*[A-Z]\b|\bearshot (?:apply|dev|reseal|triggers|verify)\b(?: --[a-z]+)?`)

func marked(text string) string { return code.ReplaceAllString(text, "`$0`") }

func flagName(flag *pflag.Flag) string {
	if flag.Shorthand != "" {
		return "`--" + flag.Name + "`, `-" + flag.Shorthand + "`"
	}
	return "`--" + flag.Name + "`"
}

// meaning is a flag's usage as a sentence, without variables and marks.
func meaning(flag *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(flag)
	if names := flag.Annotations[envAnnotation]; len(names) > 0 {
		usage, _, _ = strings.Cut(usage, " ("+strings.Join(names, ", else ")+")")
	}
	return strings.ToUpper(usage[:1]) + usage[1:] + "."
}

// variables names a flag's variables in words.
func variables(flag *pflag.Flag) string {
	if names := flag.Annotations[envAnnotation]; len(names) > 0 {
		return " By variable: `" + strings.Join(names, "`, else `") + "`."
	}
	return ""
}

// fallback is a flag's default as in the help; empty for none.
func fallback(flag *pflag.Flag) string {
	if flag.DefValue == "" || flag.DefValue == "[]" {
		return ""
	}
	value := regexp.MustCompile(`(h|m)0s$`).ReplaceAllString(flag.DefValue, "$1")
	return "`" + regexp.MustCompile(`h0m$`).ReplaceAllString(value, "h") + "`"
}

// prose is a help text as Markdown: indented parts become blocks.
func prose(long string) string {
	var parts []string
	for part := range strings.SplitSeq(long, "\n\n") {
		if strings.HasPrefix(part, "  ") {
			parts = append(parts, "```text\n"+unindented(part)+"\n```")
			continue
		}
		parts = append(parts, strings.NewReplacer("<", `\<`, "*", `\*`, "\n#", "\n"+`\#`).Replace(marked(part)))
	}
	return strings.Join(parts, "\n\n")
}

func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}
