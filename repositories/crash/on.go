//go:build crashtest

package crash

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
)

// variable names the point to die at, and how many times it is passed until then.
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

// At kills the process, as kill -9 does, where it is the point that the environment
// names, passed for the wanted time.
func At(point Point) {
	if point != target || passed.Add(1) != wanted {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // nothing of this goroutine goes on while the signal arrives
}

// Planted reports whether the process has the flaw.
func Planted(flaw Flaw) bool { return Flaw(os.Getenv("EARSHOT_FLAW")) == flaw }

// compared is the line of the commit script that holds a repository's revision against
// the one that was matched.
var compared = regexp.MustCompile(`(?m)^.*return \{'stale'\}.*$`)

// Script returns the commit script, without its comparison where that is the flaw.
func Script(lua string) string {
	if !Planted(CommitWithoutCAS) {
		return lua
	}
	if len(compared.FindAllString(lua, -1)) != 1 {
		panic("crash: the commit script does not have one line that returns stale, so " + string(CommitWithoutCAS) + " cannot be planted")
	}
	return compared.ReplaceAllString(lua, "")
}
