package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/labstack/echo/v4"
)

// readBody reads a JSON body whole; hardened has bounded it.
func readBody(c echo.Context) ([]byte, error) {
	body, err := readOptional(c)
	if err == nil && len(body) == 0 {
		return nil, badRequest("a JSON body is needed and there is none")
	}
	return body, err
}

// readOptional reads a JSON body that may be missing.
func readOptional(c echo.Context) ([]byte, error) {
	request := c.Request()
	if err := checkEncoding(request.Header); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, readingProblem(err)
	}
	return body, nil
}

func readingProblem(err error) error {
	var size *http.MaxBytesError
	switch {
	case errors.As(err, &size):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return late()
	default:
		return badRequest("the body broke off before its end")
	}
}

// late is the problem of a body that did not come in time. What is left of it would be
// read as the next request, so the connection ends.
func late() error {
	return newProblem(http.StatusRequestTimeout, "the body did not arrive within "+bodyTime.String()).with("Connection", "close")
}

// drained reads the body of a request that needs none, before it is answered: net/http
// would do so after, and nobody could be told that the body did not come.
func drained(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := drain(c.Request()); err != nil {
			return err
		}
		return next(c)
	}
}

// drain reads a body to its end and keeps nothing of it. Its error is that of a body
// which is too late or too long; one that breaks off has nobody to tell. A client that
// asks first (Expect: 100-continue) is not asked for what nobody reads.
func drain(request *http.Request) error {
	if strings.EqualFold(request.Header.Get("Expect"), "100-continue") {
		return nil
	}
	_, err := io.Copy(io.Discard, request.Body)
	var size *http.MaxBytesError
	switch {
	case errors.As(err, &size):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return late()
	default:
		return nil
	}
}

// checkEncoding refuses what is not plain JSON in UTF-8. A missing Content-Type is
// taken for JSON, which is all that is read here.
func checkEncoding(header http.Header) error {
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return unsupported("Content-Encoding "+quoteShort(encoding)+" is not read; send the body as it is").with("Accept-Encoding", "identity")
	}
	given := header.Get("Content-Type")
	if given == "" || isJSON(given) {
		return nil
	}
	return unsupported("Content-Type " + quoteShort(given) + " is not read; send application/json")
}

func unsupported(detail string) *problem {
	return newProblem(http.StatusUnsupportedMediaType, detail).with("Accept", echo.MIMEApplicationJSON)
}

// isJSON accepts application/json and its +json kin (RFC 6839) in UTF-8.
func isJSON(given string) bool {
	kind, parameters, err := mime.ParseMediaType(given)
	if err != nil {
		return false
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	return kind == echo.MIMEApplicationJSON ||
		strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}
