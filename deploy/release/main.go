// Command release makes what a version of Earshot is published as: programs for Linux and
// macOS on two processors and for Windows, packed with their licences and documents, a list of all
// that is in them (CycloneDX), the checksums of it all, and where it comes from (SLSA).
//
//	go run ./deploy/release -version v1.2.3
//
// The one who publishes it signs the checksums, and names what else is published:
//
//	go run ./deploy/release -version v1.2.3 -with dist/earshot_1.2.3_amd64.deb -sign release-key -builder https://ci.example/earshot -source https://git.example/earshot
//
// The same commit gives the same bytes, on any machine and from any folder. With -compare
// and the checksums of a release that somebody has published, it says whether that was made
// of the commit that is checked out:
//
//	go run ./deploy/release -version v1.2.3 -compare SHA256SUMS
//
// With -notice it writes the file NOTICE, which has the licences of all that is linked in.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"earshot/deploy/release/licences"
)

// everywhere are the platforms that a release is for.
const everywhere = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"

// options are what was asked for.
type options struct {
	version   string // v1.2.3; empty: the tag of the commit, or its name
	commit    string // if there is no history to read it from
	date      string // likewise
	out       string // folder
	platforms string
	tags      string // build tags
	compare   string // file of checksums
	notice    bool
	with      string // further files that get a checksum
	key       string // file of the key that signs; empty: nothing is signed
	builder   string // URI
	source    string // address of the repository
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run does what the arguments say, in the module that the working directory is the root of.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	if o.notice {
		return licences.Write(ctx, "NOTICE", platformsOf(o.platforms))
	}
	r, err := identify(ctx, o)
	if err != nil {
		return err
	}
	r.say = out
	if err := r.make(ctx); err != nil {
		return err
	}
	if o.compare != "" {
		return r.compare(o.compare)
	}
	return nil
}

func parse(args []string, out io.Writer) (options, error) {
	o, flags := options{}, flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.version, "version", "", "of the release, as v1.2.3; without it the tag of the commit, or else a name after its time")
	flags.StringVar(&o.commit, "commit", "", "full name of the commit, where there is no history; git says it otherwise")
	flags.StringVar(&o.date, "date", "", "time of the commit, as 2026-12-01T08:30:00Z, where there is no history")
	flags.StringVar(&o.out, "out", "dist", "folder that it is written to")
	flags.StringVar(&o.platforms, "platforms", everywhere, "systems and processors, separated by commas")
	flags.StringVar(&o.tags, "tags", "", "build tags, as nodev for a program that leaves out what only earshot dev needs")
	flags.StringVar(&o.compare, "compare", "", "file SHA256SUMS of a release; exits with 1 where what was made differs from it")
	flags.StringVar(&o.with, "with", "", "further files that are published, separated by commas, as packages, the chart and an image: they get a checksum")
	flags.StringVar(&o.key, "sign", "", "file of an OpenSSH key that signs the checksums and the provenance")
	flags.StringVar(&o.builder, "builder", "urn:earshot:builder:unnamed", "URI of the builder, for the provenance")
	flags.StringVar(&o.source, "source", "", "address of the repository, as https://git.example/earshot, for the provenance")
	flags.BoolVar(&o.notice, "notice", false, "write the file NOTICE, and nothing else")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is not expected; a version is given as -version %s", flags.Arg(0), flags.Arg(0))
	}
	return o, checkPlatforms(o.platforms)
}

func checkPlatforms(given string) error {
	for _, platform := range platformsOf(given) {
		if system, processor, ok := strings.Cut(platform, "/"); !ok || system == "" || processor == "" {
			return fmt.Errorf("-platforms: %q is no platform; they are given as in %s", platform, everywhere)
		}
	}
	return nil
}

func platformsOf(given string) []string { return strings.Split(given, ",") }
