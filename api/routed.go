package api

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
)

// routed puts the router's own errors into words: no such path, or no such method on
// it, in which case the router has set Allow already (RFC 9110, section 15.5.6).
func routed(err error, c echo.Context) error {
	var routing *echo.HTTPError
	if !errors.As(err, &routing) {
		return err
	}
	switch routing.Code {
	case http.StatusNotFound:
		return newProblem(routing.Code, "there is nothing at this path; /docs lists what there is")
	case http.StatusMethodNotAllowed:
		return newProblem(routing.Code, quoteShort(c.Request().Method)+" is not allowed here, but "+c.Response().Header().Get(echo.HeaderAllow))
	default:
		return newProblem(routing.Code, http.StatusText(routing.Code))
	}
}
