package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// mostBody is the longest body that is read, in bytes (section 3 of the contract).
const mostBody = 1 << 20

// hardened bounds what is read and says how the answer may be used: never as another
// type, never in a frame, and never kept by a cache unless a handler says otherwise.
func hardened(writeTime time.Duration) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			header := c.Response().Header()
			header.Set("X-Content-Type-Options", "nosniff")
			header.Set("X-Frame-Options", "DENY")
			header.Set("Referrer-Policy", "no-referrer")
			header.Set("Cache-Control", "no-store")
			request := c.Request()
			if request.ProtoMajor > 1 {
				c.Response().Writer = newPacedWriter(c.Response().Writer, writeTime)
			}
			if request.ContentLength > mostBody {
				return &http.MaxBytesError{Limit: mostBody}
			}
			request.Body = http.MaxBytesReader(c.Response().Writer, request.Body, mostBody)
			if request.Method == http.MethodOptions { // is answered by no route
				return drained(next)(c)
			}
			return next(c)
		}
	}
}
