package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// bound is how many requests of a kind a replica has at once.
type bound struct {
	into  *int
	name  string
	most  int // where nothing is said
	usage string
}

// bounds are the flags that bound what is under work.
func (c *config) bounds() []bound {
	return []bound{
		{&c.MaxTurns, "max-turns", 512, "messages and direct triggers under work on this replica at once; one app has at most half, so that a flood of one leaves room for the others"},
		{&c.MaxRequests, "max-requests", 64, "other requests under work at once, each up to some megabytes"},
		{&c.MaxWaiting, "max-waiting", 2000, "requests of either kind that wait for a place, up to 10s; further ones are answered 503 with Retry-After"},
	}
}

func (c *config) registerBounds(flags *pflag.FlagSet) {
	for _, bound := range c.bounds() {
		flags.IntVar(bound.into, bound.name, bound.most, bound.usage+" ("+bound.variable()+")")
		flags.SetAnnotation(bound.name, variable, []string{bound.variable()}) //nolint:errcheck // the flag exists
	}
}

// variable is the environment variable of the flag.
func (b bound) variable() string {
	return "EARSHOT_" + strings.ToUpper(strings.ReplaceAll(b.name, "-", "_"))
}
