//go:build crashtest

package failpoint

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// variable names the point to die at, and the number of passes until then.
const variable = "EARSHOT_CRASH"

var (
	target, wanted = read(os.Getenv(variable))
	passed         atomic.Int64
)

func read(text string) (Point, int64) {
	name, count, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		n = 1
	}
	return Point(name), n
}

// At kills the process like kill -9 at the point that the environment names, at the given pass.
func At(point Point) {
	if point != target || passed.Add(1) != wanted {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // this goroutine must not continue until the signal arrives
}

// Planted reports whether the process has the flaw.
func Planted(flaw Flaw) bool { return Flaw(os.Getenv("EARSHOT_FLAW")) == flaw }

// compared matches the lines of scripts that compare a plan with the present state: a repository's revision, a
// trigger's state, the first trigger with equal values, and a call that lacks values.
var compared = map[Flaw]*regexp.Regexp{
	CommitWithoutCAS: regexp.MustCompile(`(?m)^.*return \{'stale'\}.*$`),
	MoveWithoutState: regexp.MustCompile(`(?m)^.*return \{'moved', 'state', state\}.*$`),
	UnfencedFirst:    regexp.MustCompile(`(?m)^.*if holder ~= m\.first then.*$`),
	ChangeWithoutCAS: regexp.MustCompile(`(?m)^.*then return 'changed' end.*$`),
}

// Script returns a script, without its comparison if that is the flaw.
func Script(flaw Flaw, lua string) string {
	if !Planted(flaw) {
		return lua
	}
	if len(compared[flaw].FindAllString(lua, -1)) != 1 {
		panic("crash: the script does not have one line of the form " + compared[flaw].String() + ", so " + string(flaw) + " cannot be planted")
	}
	return compared[flaw].ReplaceAllString(lua, "")
}

// panics holds the places that the environment makes panic, once each.
var panics = func() *sync.Map {
	planted := &sync.Map{}
	for in := range strings.SplitSeq(os.Getenv("EARSHOT_PANIC"), ",") {
		planted.Store(in, true)
	}
	return planted
}()

// Panic panics once if the environment names the kind of work.
func Panic(in string) {
	if _, planted := panics.LoadAndDelete(in); planted && in != "" {
		panic("planted: " + in)
	}
}
