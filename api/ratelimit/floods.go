package ratelimit

import (
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
)

const (
	// refusals is how many requests of a session's token one way in refuses within a flood's second
	// before it reads no more of them.
	refusals = 20
	// floodTime is how long refusals are counted, and how long at most nothing is read.
	floodTime = time.Second
)

// floods remember which session's token is being refused for its limits again and again, so that a
// flood costs little: no body is read and Redis is not asked for the rest of a second. A polite
// client, which waits as Retry-After says, never meets it. The keys of an app are not held to it, for
// what one session may not do another may.
type floods struct {
	now func() time.Time

	mu    sync.Mutex
	ends  time.Time
	times map[flood]int // that a token was refused since the second began
}

// flood is what one session sends to one way in.
type flood struct{ operation, app, session string }

// around stands before a way in that counts to limits.
func (f *floods) around(n Needs, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		who := auth.PrincipalOf(c)
		if !who.FrontEnd() {
			return next(c)
		}
		one := flood{n.Operation, who.AppID(), who.SessionID}
		f.mu.Lock()
		under := f.times[one] >= refusals && f.now().Before(f.ends)
		f.mu.Unlock()
		if under {
			return answer.NewProblem(answer.RateLimited, "this session keeps sending although its limits are reached: its requests are not read before the next second").With("Retry-After", answer.Soon)
		}
		err := next(c)
		if err != nil && answer.ProblemOf(err).Status == http.StatusTooManyRequests || c.Response().Status == http.StatusTooManyRequests {
			f.mu.Lock()
			defer f.mu.Unlock()
			if now := f.now(); !now.Before(f.ends) {
				f.ends, f.times = now.Add(floodTime), map[flood]int{}
			}
			f.times[one]++
		}
		return err
	}
}
