package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// previewQuery is the parameter of a write that can say what it would do.
var previewQuery = []string{"dryRun"}

// preview is the answer to a write that was not to be done.
type preview struct {
	Operation string `json:"operation"`
}

// isPreview reports whether a write is only to say what it would do. Anything but true
// and false is refused: a dryRun that was not understood would write.
func isPreview(c echo.Context) (bool, error) {
	given, there := c.QueryParams()["dryRun"]
	switch {
	case !there || given[0] == "false":
		return false, nil
	case given[0] == "true":
		return true, nil
	}
	return false, badRequest("dryRun " + quoteShort(given[0]) + " is neither true nor false")
}

// previewed answers with what the write would do.
func previewed(c echo.Context, err error, ask func() (string, error)) error {
	if err != nil {
		return err
	}
	operation, err := ask()
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, preview{operation})
}
