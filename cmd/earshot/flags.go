package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"earshot/cmd/earshot/client"
	"earshot/emitter"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/certfiles"
	"earshot/repositories/fault"
	"earshot/repositories/files"
	"earshot/repositories/secret"
)

const (
	envAnnotation   = "environment variable" // lists the environment variables of a flag
	groupAnnotation = "group"                // the heading of a flag in the help
	// fileAnnotation marks a credential: its variable NAME may be a file, NAME_FILE.
	fileAnnotation   = "may be in a file"
	unreadAnnotation = "could not be read" // marks a flag whose variable is at fault
)

// settings declares flags with environment variables, which their usage names.
type settings struct{ *pflag.FlagSet }

// annotate adds the variables of a flag, as "A" or "A, else B".
func (s settings) annotate(name, env string) {
	s.SetAnnotation(name, envAnnotation, strings.Split(env, ", else ")) //nolint:errcheck // the flag exists
	s.Lookup(name).Usage += " (" + env + ")"
}

// group puts the flags that declare adds under one heading of the help.
func (s settings) group(heading string, declare func(settings)) {
	added := settings{pflag.NewFlagSet(heading, pflag.ContinueOnError)}
	declare(added)
	added.SortFlags, s.SortFlags = false, false // in declaration order
	added.VisitAll(func(flag *pflag.Flag) {
		s.AddFlag(flag)
		s.SetAnnotation(flag.Name, groupAnnotation, []string{heading}) //nolint:errcheck // the flag exists
	})
}

// byGroup returns flags by heading, in declaration order. Flags without a heading come first.
func byGroup(flags *pflag.FlagSet) (headings []string, groups map[string]*pflag.FlagSet) {
	groups = map[string]*pflag.FlagSet{}
	flags.VisitAll(func(flag *pflag.Flag) {
		heading := ""
		if named := flag.Annotations[groupAnnotation]; len(named) > 0 {
			heading = named[0]
		}
		if groups[heading] == nil {
			groups[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
			groups[heading].SortFlags = flags.SortFlags
			headings = append(headings, heading)
		}
		groups[heading].AddFlag(flag)
	})
	slices.SortStableFunc(headings, func(a, b string) int { return cmp.Compare(min(len(a), 1), min(len(b), 1)) })
	return headings, groups
}

func (s settings) text(target *string, name, env, fallback, usage string) {
	s.StringVar(target, name, fallback, usage)
	s.annotate(name, env)
}

func (s settings) credential(target *secret.Secret, name, env, usage string) {
	s.TextVar(target, name, secret.Secret{}, usage)
	s.annotate(name, env)
	s.SetAnnotation(name, fileAnnotation, []string{"yes"}) //nolint:errcheck // the flag exists
}

func (s settings) duration(target *time.Duration, name, env string, fallback time.Duration, usage string) {
	s.DurationVar(target, name, fallback, usage)
	s.annotate(name, env)
}

func (s settings) number(target *int, name, env string, fallback int, usage string) {
	s.IntVar(target, name, fallback, usage)
	s.annotate(name, env)
}

func (s settings) flagValue(target pflag.Value, name, env, usage string) {
	s.Var(target, name, usage)
	s.annotate(name, env)
}

func (s settings) service(c *client.Client) {
	s.text(&c.Server, "server", "EARSHOT_URL", "http://127.0.0.1:8080", "`URL` of the service")
	s.credential(&c.Key, "key", keyVariables, "bearer `KEY`: the admin's or an app's")
}

const keyVariables = "EARSHOT_KEY, else EARSHOT_ADMIN_KEY"

func (s settings) redis(c *config) {
	s.credential(&c.RedisURL, "redis-url", "REDIS_URL", "`URL` of the Redis of the service, as serve reads it")
	s.tls("Redis", &c.RedisTLS)
	s.secretKeys(c)
}

func (s settings) secretKeys(c *config) {
	s.credential(&c.SecretKey, "secret-key", "EARSHOT_SECRET_KEY", "`KEY` that encrypts stored credentials, 32 bytes in base64")
	s.credential(&c.OldSecretKey, "secret-key-old", "EARSHOT_SECRET_KEY_OLD", "`KEY` before a rotation: it decrypts what it has encrypted, until earshot reseal has run")
}

func (s settings) tls(server string, target *certfiles.Files) {
	for _, file := range []struct {
		file  string
		into  *string
		usage string
	}{
		{"ca", &target.CA, "PEM `FILE` with the certificate authorities to trust for " + server + "; default: those of the system"},
		{"cert", &target.Cert, "PEM `FILE` with the client certificate for " + server + ", and its chain"},
		{"key", &target.Key, "PEM `FILE` with the private key of that certificate"},
	} {
		s.text(file.into, strings.ToLower(server)+"-"+file.file+"-file", strings.ToUpper(server+"_"+file.file)+"_FILE", "", file.usage)
	}
}

func (s settings) login(target *emitter.Login) {
	s.text(&target.Creds, "nats-creds-file", "NATS_CREDS_FILE", "", "`FILE` with the credentials of a NATS user, as nsc writes it, or with an nkey seed")
	s.tls("NATS", &target.TLS)
}

// fromEnvironment sets flags that were not given from the first of their environment variables that is set. It
// returns all faults.
func fromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var faults []error
	flags.VisitAll(func(flag *pflag.Flag) {
		for _, name := range flag.Annotations[envAnnotation] {
			if flag.Changed {
				return
			}
			value, err := variableOf(name, flag, lookup)
			if err == nil && value == "" {
				continue
			}
			if err == nil && flag.Value.Set(value) != nil {
				err = unreadable(name, value, flag)
			}
			if err != nil {
				faults = append(faults, err)
				flags.SetAnnotation(flag.Name, unreadAnnotation, []string{"yes"}) //nolint:errcheck // the flag exists
				return
			}
			flag.Changed = true
		}
	})
	return errors.Join(faults...)
}

// unreadable returns the fault of a variable that its flag refuses, and gives the flag its default: a fault would
// otherwise be told of what it keeps of the value.
func unreadable(name, value string, flag *pflag.Flag) error {
	if _, isSlice := flag.Value.(pflag.SliceValue); !isSlice { // one of these keeps nothing
		_ = flag.Value.Set(flag.DefValue)
	}
	form := cmp.Or(formOf(flag), strings.ReplaceAll(flag.Usage, "`", ""))
	if len(flag.Annotations[fileAnnotation]) > 0 {
		return fmt.Errorf("%s (--%s) cannot be used; it must be: %s", name, flag.Name, form)
	}
	return fmt.Errorf("%s (--%s) is %q; it must be %s", name, flag.Name, fault.Clip(value), form)
}

// maxCredentialFile bounds a credential file, in bytes: a longer one is the wrong file.
const maxCredentialFile = 64 << 10

// variableOf returns the value of a variable, or without line ends the credential in the file that NAME_FILE
// names, as containers and systemd pass it. It is empty if neither is set.
func variableOf(name string, flag *pflag.Flag, lookup func(string) (string, bool)) (string, error) {
	value, _ := lookup(name)
	path, _ := lookup(name + "_FILE")
	if path == "" || len(flag.Annotations[fileAnnotation]) == 0 {
		return value, nil
	}
	if value != "" {
		return "", fmt.Errorf("%s and %s_FILE are both set: leave one of them out", name, name)
	}
	var content []byte
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		var info os.FileInfo
		switch info, err = file.Stat(); {
		case err != nil:
		case info.Mode().IsRegular(), info.Mode()&os.ModeNamedPipe != 0: // a device may be endless
			content, err = io.ReadAll(io.LimitReader(file, maxCredentialFile+1))
		default:
			err = fmt.Errorf("%s is neither a regular file nor a pipe", path)
		}
	}
	switch text := strings.TrimRight(string(content), "\r\n"); {
	case err != nil:
		return "", fmt.Errorf("%s_FILE: %w; name a file that this user may read", name, err)
	case len(content) > maxCredentialFile:
		return "", fmt.Errorf("%s_FILE: %s has more than %d bytes; it must hold the credential alone", name, path, maxCredentialFile)
	case text == "":
		return "", fmt.Errorf("%s_FILE: %s has %d bytes and no credential; it must hold the credential alone, at most %d bytes", name, path, len(content), maxCredentialFile)
	default:
		return text, nil
	}
}

// flagFault names a flag that the command does not have, or a value that is none of its flag, and the way out.
func flagFault(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if unknown := knownCommand(cmd, cmd.Flags().Args()); unknown != nil {
			return unknown // the flag belongs to a mistyped command
		}
	}
	hint := ""
	if unknown, is := errors.AsType[*pflag.NotExistError](err); is {
		var known []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { known = append(known, flag.Name) })
		name := unknown.GetSpecifiedName()
		if hint = elsewhere[cmd.Name()+" --"+name]; hint == "" {
			meant := fault.DidYouMean(name, known) // without dashes, which would make all flags alike
			if meant.Suggestion != "" {
				meant.Suggestion = "--" + meant.Suggestion
			}
			hint = meant.String()
		}
	}
	if invalid, is := errors.AsType[*pflag.InvalidValueError](err); is {
		if form := formOf(invalid.GetFlag()); form != "" { // package strconv writes for programmers
			err = fmt.Errorf("--%s is %q; it must be %s", invalid.GetFlag().Name, fault.Clip(invalid.GetValue()), form)
		}
	}
	return fmt.Errorf("%w%s (see: %s --help)", err, hint, cmd.CommandPath())
}

// formOf says what a value of the flag must be. It is empty if the flag's own errors say so.
func formOf(flag *pflag.Flag) string {
	if words := strings.Split(flag.Value.Type(), "|"); len(words) > 1 {
		return fault.OneOf(words)
	}
	return map[string]string{
		"int": "a whole number", "float64": "a number", "bool": "true or false",
		"duration": "a duration, as 30s, 15m or 24h", "size": "a size, as 4GiB, 512MiB or 1000000",
		"stringSlice": "a list with commas",
	}[flag.Value.Type()]
}

// knownCommand refuses arguments of a command that only has subcommands.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	hint := elsewhere[args[0]]
	near := fault.DidYouMean(args[0], names).String()
	switch {
	case hint != "" && !cmd.HasParent():
	case near == "" && len(names) == 1 && len(args) == 1: // the argument was meant for it
		hint = fmt.Sprintf("; write %s %s %s", cmd.CommandPath(), names[0], fault.Clip(args[0]))
	default:
		hint = cmp.Or(near, "; the commands are "+strings.Join(names, ", "))
		if len(names) == 1 {
			hint = cmp.Or(near, fmt.Sprintf("; the only command is %s %s", cmd.CommandPath(), names[0]))
		}
	}
	return fmt.Errorf("unknown command %q for %q%s (see: %s --help)", fault.Clip(args[0]), cmd.CommandPath(), hint, cmd.CommandPath())
}

// arguments takes from least to most arguments. Unlike cobra's own checks, its errors show what the command takes.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("an argument is missing: %s (see: %s --help)", cmd.UseLine(), cmd.CommandPath())
		case len(args) > most:
			return fmt.Errorf("%q is one argument too many: %s (see: %s --help)", fault.Clip(args[most]), cmd.UseLine(), cmd.CommandPath())
		default:
			return nil
		}
	}
}

// elsewhere hints at the equivalent of commands and flags that people try but that do not exist.
var elsewhere = map[string]string{
	"explain":           "; earshot chat shows why with /why, and GET /v1/apps/{appId}/sessions/{sessionId}/messages/{messageId}/explain for programs",
	"why":               "; earshot chat shows why with /why",
	"say":               "; earshot chat MESSAGE posts one message",
	"send":              "; earshot chat MESSAGE posts one message",
	"post":              "; earshot chat MESSAGE posts one message",
	"tail":              "; earshot listen shows events as they arrive",
	"events":            "; earshot listen shows events as they arrive",
	"logs":              "; earshot listen shows events as they arrive",
	"plan":              "; earshot apply --dry-run prints the plan",
	"diff":              "; earshot apply --dry-run prints the plan",
	"run":               "; earshot dev runs all in one process, earshot serve is the service",
	"start":             "; earshot dev runs all in one process, earshot serve is the service",
	"server":            "; earshot dev runs all in one process, earshot serve is the service",
	"console":           "; the service shows it at /console",
	"docs":              "; the service shows them at /docs",
	"test":              "; earshot eval runs tests",
	"dev --port":        "; use --addr, as in --addr 127.0.0.1:9000",
	"serve --port":      "; use --addr, as in --addr 127.0.0.1:9000",
	"earshot --version": "; use earshot version",
	"listen --app":      "; name the app in the SUBJECT, as in 'tool.*.APP.>'",
}

// size is a flag for a number of bytes with an optional unit: 4GiB, 512MiB, 1000000.
type size int64

const (
	defaultStreamSize size = 4 << 30 // bounds the stream
	minSize           size = 1 << 10 // the smallest useful size; a lower number is probably a mistake
)

func (s *size) Set(text string) error {
	bytes, err := humanize.ParseBytes(text)
	if err != nil || bytes < uint64(minSize) || bytes > math.MaxInt64 {
		return fmt.Errorf("it must be a size of %s or more, as in 4GiB, 512MiB or 1000000", minSize)
	}
	*s = size(bytes)
	return nil
}

func (s size) String() string {
	for shift, unit := range map[int]string{40: "TiB", 30: "GiB", 20: "MiB", 10: "KiB"} {
		if rest := s >> shift; rest > 0 && rest < 1024 && rest<<shift == s {
			return fmt.Sprintf("%d%s", rest, unit)
		}
	}
	return fmt.Sprint(int64(s))
}

// Type implements pflag.Value.
func (*size) Type() string { return "size" }

// sourceFlags name the files to read, as flags or arguments, and their app.
type sourceFlags struct {
	paths      []string
	appID      string
	skip       bool // skip unsupported types
	tests      bool // also read the tests, which only eval runs
	prebuilt   bool // the command has the flag --prebuilt
	withAdvice bool // add the advice that the service would give on a write
}

func (s *sourceFlags) register(flags *pflag.FlagSet) {
	s.prebuilt = true
	s.registerFiles(flags)
	s.registerSkip(flags, "skip sources and tools of unsupported types, and tools that need such a source, with a note each")
	flags.Func("prebuilt", "tools for a database of `KIND` postgres, mysql or sqlite, as Toolbox's --prebuilt. POSTGRES_HOST, MYSQL_HOST or SQLITE_DATABASE, and the variables beside it, name the database; may be repeated", s.add(files.Prebuilt))
	flags.StringVar(&s.appID, "app", "", "`ID` of the app if the files name none; default: the name of their folder")
}

func (s *sourceFlags) registerFiles(flags *pflag.FlagSet) {
	flags.FuncP("file", "f", "`FILE` or folder, - for standard input; may be repeated", s.add(""))
}

func (s *sourceFlags) registerSkip(flags *pflag.FlagSet, usage string) {
	flags.BoolVar(&s.skip, "skip-unsupported", false, usage)
}

// add returns a function that adds a path, in the order of the command line.
func (s *sourceFlags) add(prefix string) func(path string) error {
	return func(path string) error {
		s.paths = append(s.paths, prefix+path)
		return nil
	}
}

// setPaths adds files from the arguments. It fails if there are none.
func (s *sourceFlags) setPaths(args []string) error {
	s.paths = append(s.paths, args...)
	if len(s.paths) == 0 {
		hint := ""
		if s.prebuilt {
			hint = ", or give --prebuilt"
		}
		return errors.New("no file is given: name files and folders, as in tools.yaml, or - for standard input" + hint)
	}
	return nil
}

func (s *sourceFlags) read(env environment) (*files.Set, error) {
	if s.appID != "" {
		if err := repositories.CheckID("--app", s.appID); err != nil {
			return &files.Set{}, err
		}
	}
	options := files.Options{Lookup: env.lookup, AppID: s.appID, Stdin: env.in, SkipUnsupported: s.skip, Tests: s.tests}
	if s.withAdvice {
		options.Advise = matcher.Unconfirmed
	}
	set, err := files.Read(s.paths, options)
	for _, note := range set.Notes {
		env.note(note.String())
	}
	return set, err
}

func (s *sourceFlags) readFor(env environment) (*files.Set, error) {
	set, err := s.read(env)
	if err == nil && set.AppID == "" {
		err = errors.New("the files name no app, and the name of their folder is not a valid id; name the app with --app")
	}
	return set, err
}

func plural(n int, noun string, irregular ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(irregular) > 0:
		return fmt.Sprintf("%d %s", n, irregular[0])
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// choice is a flag for one of the words of kind, as in on|off.
type choice struct{ word, kind string }

func (c *choice) Set(text string) error {
	words := strings.Split(c.kind, "|")
	if c.word = strings.ToLower(text); !slices.Contains(words, c.word) {
		return errors.New("it must be " + fault.OneOf(words))
	}
	return nil
}

func (c choice) on() bool { return c.word != "" && c.word != "off" }

func (c choice) String() string { return c.word }

func (c choice) Type() string { return c.kind }
