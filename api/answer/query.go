package answer

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/repositories/fault"
)

// KnownQuery refuses parameters that are unknown or repeated: a misspelled dryRun would write. also takes further
// names.
func KnownQuery(taken []string, also ...func(name string) bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if c.Request().URL.RawQuery == "" {
				return next(c)
			}
			given, err := url.ParseQuery(c.Request().URL.RawQuery)
			if err != nil {
				return NewProblem(InvalidQuery, "the query is not well-formed: "+err.Error())
			}
			var wrong []string
			for name, values := range given {
				switch {
				case !slices.Contains(taken, name) && !slices.ContainsFunc(also, func(known func(string) bool) bool { return known(name) }):
					wrong = append(wrong, "query parameter "+Quote(name)+" is not known here"+fault.DidYouMean(name, taken).String())
				case len(values) > 1:
					wrong = append(wrong, "query parameter "+strconv.Quote(name)+" is given more than once")
				}
			}
			if wrong == nil {
				return next(c)
			}
			slices.Sort(wrong)
			return NewProblem(InvalidQuery, strings.Join(wrong, "; ")+"; this version takes "+cmp.Or(strings.Join(taken, ", "), "none"))
		}
	}
}
