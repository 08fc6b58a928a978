package api

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/labstack/echo/v4"
)

// answered turns the error of a handler into an answer, so that the middleware around
// it sees the status that the client saw. A body that is still on its way is waited for
// first, as where there is no fault: whoever sends none is told so whatever else holds.
func answered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		if err == nil {
			return nil
		}
		var size *http.MaxBytesError
		if !c.Response().Committed && !errors.As(err, &size) {
			if unread := drain(c.Request()); unread != nil {
				err = unread
			}
		}
		c.Set(errorKey, err)
		writeError(err, c)
		return nil
	}
}

// recovered turns a panic into an error. Where the answer has begun already, it cuts
// the connection instead, so that no client takes half an answer for a whole one.
func recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			if value == http.ErrAbortHandler || c.Response().Committed {
				panic(http.ErrAbortHandler)
			}
			err = fmt.Errorf("panic: %s\n%s", panicText(value), debug.Stack())
		}()
		return next(c)
	}
}

// panicText shows the runtime's own words. Any other value is shown by its type only:
// it may hold what a user said. The stack says where it came from.
func panicText(value any) string {
	if err, ok := value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", value)
}
