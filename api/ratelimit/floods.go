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
	// refusals is how many refused requests of a session's token an operation reads within floodTime.
	refusals = 20
	// floodTime is how long refusals are counted, and the longest time without reading.
	floodTime = time.Second
)

// floods tracks session tokens that are refused for limits again and again, so that a flood is cheap: for the
// rest of a second, no body is read and Redis is not asked. Clients that respect Retry-After are never
// affected. Apps' keys are exempt, as they act for many sessions.
type floods struct {
	now func() time.Time

	mu    sync.Mutex
	ends  time.Time
	times map[flood]int // refusals of a token in the current second
}

// flood identifies the requests of a session to an operation.
type flood struct{ operation, app, session string }

// around wraps an operation that counts towards limits.
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
