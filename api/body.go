package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// bodyTime is how long a client may take to send its body: 1 MiB at 35 KiB/s. The
// server has no such limit of its own, since that would end event streams and calls
// that wait for a slow tool as well.
const bodyTime = 30 * time.Second

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
	// A recorder, unlike a connection, has no deadlines: the error says only that.
	controller := http.NewResponseController(c.Response())
	_ = controller.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(request.Body)
	_ = controller.SetReadDeadline(time.Time{})
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
		return newProblem(http.StatusRequestTimeout, "the body did not arrive within "+bodyTime.String())
	default:
		return badRequest("the body broke off before its end")
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
