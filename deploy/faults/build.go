package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are the paths of what a world runs.
type programs struct{ earshot, nats, redis string }

// build makes the program with its crash points, and a NATS server of the version that
// the module names. Redis is the one on the path.
func build(ctx context.Context, dir string, race bool) (programs, error) {
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		return programs{}, fmt.Errorf("%w; install it with: apt-get install redis-server, or brew install redis", err)
	}
	made := programs{earshot: filepath.Join(dir, "earshot"), nats: filepath.Join(dir, "nats-server"), redis: redis}
	arguments := []string{"-tags", "crashtest", "-o", made.earshot, "./cmd/earshot"}
	if race {
		arguments = append([]string{"-race"}, arguments...)
	}
	if err := goBuild(ctx, arguments...); err != nil {
		return made, err
	}
	return made, goBuild(ctx, "-o", made.nats, "github.com/nats-io/nats-server/v2")
}

// goBuild runs go build at the root of the module.
func goBuild(ctx context.Context, arguments ...string) error {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	command := exec.CommandContext(ctx, "go", append([]string{"build"}, arguments...)...)
	command.Dir = filepath.Dir(strings.TrimSpace(string(mod)))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", arguments[len(arguments)-1], err, out)
	}
	return nil
}
