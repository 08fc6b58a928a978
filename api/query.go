package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/trigger/query"
)

// Limits of a page of a list.
const (
	defaultLimit = 50
	maxLimit     = 200
	maxCursor    = 1024 // bytes: the longest messageId, 128 characters of up to 4 bytes, twice in base64
)

// pageQuery lists the parameters of every list.
var pageQuery = []string{"limit", "after"}

// checkQuery refuses unknown and repeated parameters.
func checkQuery(accepted []string) echo.MiddlewareFunc {
	if !slices.Contains(accepted, metadataQuery) {
		return answer.KnownQuery(accepted)
	}
	return answer.KnownQuery(accepted, func(name string) bool { return memberOf(name) != "" })
}

// pageOf reads limit and after of a list that checks places itself: cursors of earlier builds come as they are.
func pageOf(c echo.Context) (query.Page, error) {
	page, _, err := readPage(c)
	return page, err
}

// pageByID reads limit and after of a list whose places are ids, or other texts that it does not encode itself.
func pageByID(c echo.Context) (query.Page, error) {
	page, unmarked, err := readPage(c)
	if err == nil && unmarked {
		err = answer.BadCursor()
	}
	return page, err
}

// readPage reads limit and after. After is then a place in the list; unmarked reports that no mark says so.
func readPage(c echo.Context) (page query.Page, unmarked bool, err error) {
	page = query.Page{Limit: defaultLimit}
	if page.After, unmarked, err = decodeCursor(c, c.QueryParam("after")); err != nil {
		return page, unmarked, err
	}
	text := c.QueryParam("limit")
	if text == "" {
		return page, unmarked, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxLimit {
		return page, unmarked, answer.NewProblem(answer.InvalidQuery, "limit "+answer.Quote(text)+" is not a whole number from 1 to "+strconv.Itoa(maxLimit))
	}
	page.Limit = limit
	return page, unmarked, nil
}

// Marks at the beginning of a cursor, before base64. Behind listMark are the digest of a list and a place in it;
// idMark is that of an earlier build's id, which names no list.
const (
	listMark = "of:"
	idMark   = "id:"
)

// encodeCursor returns the cursor of a position in the requested list; empty for none. It names its list, so that
// no other list takes it for a place of its own, and leaves out what is before it.
func encodeCursor(c echo.Context, position string) string {
	if position == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(listMark + listOf(c) + position))
}

// decodeCursor returns the position in a cursor. An unmarked cursor has no mark.
func decodeCursor(c echo.Context, cursor string) (position string, unmarked bool, err error) {
	if len(cursor) > maxCursor {
		return "", false, answer.BadCursor()
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	text := string(raw)
	if id, marked := strings.CutPrefix(text, idMark); marked && err == nil {
		return id, false, nil
	}
	listed, marked := strings.CutPrefix(text, listMark)
	if !marked || err != nil {
		return cursor, cursor != "", nil
	}
	if position, marked = strings.CutPrefix(listed, listOf(c)); !marked || position == "" {
		return "", false, answer.BadCursor()
	}
	return position, false, nil
}

// listOf returns the digest of the list that a request is for: of its route and of the ids in its path.
func listOf(c echo.Context) string {
	const bytes = 4
	sum := sha256.Sum256([]byte(strings.Join(append([]string{strings.TrimSuffix(c.Path(), "/")}, c.ParamValues()...), "\n")))
	return hex.EncodeToString(sum[:bytes]) + ":"
}

// listPage answers with a page of a list; next is the place of its last item if more follow.
func listPage[T any](c echo.Context, items []T, next string, err error) error {
	return answer.List(c, items, encodeCursor(c, next), err)
}

// listNamed answers with a page of a complete list, sorted by name.
func listNamed[T any](c echo.Context, all []T, nameOf func(T) string) error {
	items, next, err := pageNamed(c, all, nameOf)
	return listPage(c, items, next, err)
}

// pageNamed returns that page, and its last name if more follow.
func pageNamed[T any](c echo.Context, all []T, nameOf func(T) string) (items []T, next string, err error) {
	page, err := pageByID(c)
	if err != nil {
		return nil, "", err
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(nameOf(a), nameOf(b)) })
	all = slices.DeleteFunc(all, func(item T) bool { return nameOf(item) <= page.After })
	budget := repositories.PageBudget{}
	for i, item := range all {
		if i == page.Limit || !budget.Fits(item) {
			return all[:i], nameOf(all[i-1]), nil
		}
	}
	return all, "", nil
}

// isSet reads a boolean parameter. Only true and false are accepted: a misunderstood dryRun would write.
func isSet(c echo.Context, name string) (bool, error) {
	if c.Request().URL.RawQuery == "" {
		return false, nil
	}
	values, present := c.QueryParams()[name]
	switch {
	case !present || values[0] == "false":
		return false, nil
	case values[0] == "true":
		return true, nil
	}
	return false, answer.NewProblem(answer.InvalidQuery, name+" "+answer.Quote(values[0])+" is neither true nor false")
}

// handleByID returns the handler of a list whose cursors are valid ids.
func handleByID[T any](valid func(id string) bool, read func(ctx context.Context, scope repositories.Scope, page query.Page) (items []T, next string, err error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		page, err := pageByID(c)
		if err != nil {
			return err
		}
		if page.After != "" && !valid(page.After) {
			return answer.BadCursor()
		}
		items, next, err := read(c.Request().Context(), scopeOf(c), page)
		return listPage(c, items, next, err)
	}
}

// finds returns the handler that reads the object of an app with the path parameter id.
func finds[S, T any](from S, read func(from S, ctx context.Context, appID, id string) (T, error), id string) echo.HandlerFunc {
	return func(c echo.Context) error {
		found, err := read(from, c.Request().Context(), c.Param("appId"), c.Param(id))
		return answer.Result(c, http.StatusOK, found, err)
	}
}

// removes returns the handler that deletes the object of an app with the path parameter id.
func removes[S any](from S, remove func(from S, ctx context.Context, appID, id string) error, id string) echo.HandlerFunc {
	return func(c echo.Context) error {
		return answer.Done(c, http.StatusNoContent, remove(from, c.Request().Context(), c.Param("appId"), c.Param(id)))
	}
}

var orders = []string{"asc", "desc"}

// maxSearched is the longest search text, in characters, as long as a messageId.
const maxSearched = 128

// searchQuery reads query parameters and collects their faults.
type searchQuery struct {
	c        echo.Context
	problems []string
	cursor   *answer.Problem // the fault of after, which has a code of its own
}

func (a *searchQuery) page(read func(echo.Context) (query.Page, error)) query.Page {
	page, err := read(a.c)
	if problem := (*answer.Problem)(nil); errors.As(err, &problem) && problem.Code == answer.InvalidCursor {
		a.cursor = problem
	} else if err != nil {
		a.fault(err.Error())
	}
	return page
}

// oneOf reads an optional parameter with a fixed set of values.
func (a *searchQuery) oneOf(name string, words []string) string {
	value := a.c.QueryParam(name)
	if value != "" && !slices.Contains(words, value) {
		a.fault(name + " " + answer.Quote(value) + " is none of " + strings.Join(words, ", ") + fault.DidYouMean(value, words).String())
	}
	return value
}

// valid reads an optional parameter that must pass check.
func (a *searchQuery) valid(name string, check func(string) error) string {
	value := a.c.QueryParam(name)
	if value == "" {
		return ""
	}
	if err := check(value); err != nil {
		a.fault(err.Error())
	}
	return value
}

// text reads an optional parameter with any short text.
func (a *searchQuery) text(name string) string {
	value := a.c.QueryParam(name)
	if !utf8.ValidString(value) || utf8.RuneCountInString(value) > maxSearched {
		a.fault(name + " must be a text of up to " + strconv.Itoa(maxSearched) + " characters")
	}
	return value
}

// metadataQuery represents the parameters that name a member of metadata.
const metadataQuery = "metadata.*"

// memberOf returns the member that a parameter names: metadata.visitor, or metadata[visitor] as in OpenAPI.
func memberOf(parameter string) string {
	if name, isMember := strings.CutPrefix(parameter, "metadata."); isMember {
		return name
	}
	name, isMember := strings.CutPrefix(parameter, "metadata[")
	if name, closed := strings.CutSuffix(name, "]"); isMember && closed {
		return name
	}
	return ""
}

const maxMembers = 8

// metadata reads the metadata members to search for.
func (a *searchQuery) metadata() map[string]string {
	members := map[string]string{}
	for parameter, values := range a.c.QueryParams() {
		name := memberOf(parameter)
		if name == "" {
			continue
		}
		if earlier, repeated := members[name]; repeated && earlier != values[0] {
			a.fault("metadata." + answer.Quote(name) + " is given twice, with two values")
		}
		members[name] = values[0]
		if len(name)+len(values[0]) > repositories.MaxMetadata || !utf8.ValidString(name+values[0]) {
			a.fault("metadata." + answer.Quote(name) + " is longer than metadata may be, or no text")
		}
	}
	if len(members) > maxMembers {
		a.fault("metadata: at most " + strconv.Itoa(maxMembers) + " members are asked for")
	}
	return members
}

func (a *searchQuery) time(name string) time.Time {
	return a.parsedTime(name, time.RFC3339, "is not a time, as 2026-12-01T09:00:00Z (a + in it is written %2B)")
}

// day reads an optional day in UTC; zero if missing.
func (a *searchQuery) day(name string) time.Time {
	return a.parsedTime(name, time.DateOnly, "is no day, as 2026-11-30")
}

// parsedTime reads an optional time in a layout; zero if missing.
func (a *searchQuery) parsedTime(name, layout, reason string) time.Time {
	value := a.c.QueryParam(name)
	if value == "" {
		return time.Time{}
	}
	parsed, err := time.Parse(layout, value)
	if err != nil {
		a.fault(name + " " + answer.Quote(value) + " " + reason)
	}
	return parsed
}

// fault adds a fault once: a parameter may be read twice.
func (a *searchQuery) fault(detail string) {
	if !slices.Contains(a.problems, detail) {
		a.problems = append(a.problems, detail)
	}
}

// problem reports all faults at once; nil without any.
func (a *searchQuery) problem() error {
	switch {
	case a.problems == nil && a.cursor == nil:
		return nil
	case a.problems == nil:
		return a.cursor
	case a.cursor != nil:
		a.fault(a.cursor.Detail)
	}
	return answer.NewProblem(answer.InvalidQuery, strings.Join(a.problems, "; "))
}

// idsKey is the context key of the path's ids, for the log.
const idsKey = "earshot.ids"

// checkIDs refuses a path with invalid ids, naming each. Afterwards c.Param returns ids that are safe in
// subjects and keys.
func checkIDs(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		values := c.ParamValues()
		ids := make([]slog.Attr, 0, len(values))
		var problems []string
		for i, name := range c.ParamNames() {
			// The router matches the raw path, so that an encoded slash stays within its segment.
			if unescaped, err := url.PathUnescape(values[i]); err == nil && c.Request().URL.RawPath != "" {
				values[i] = unescaped
			}
			var err error
			switch name {
			case "messageId":
				err = faultOf(name, checkMessageID(values[i]))
			case "modelId":
				err = faultOf(name, checkModelID(values[i]))
			case "toolName":
				err = repositories.CheckToolName(values[i])
			case "testName":
				err = faultOf(name, checkTestName(values[i]))
			case "version":
				err = faultOf(name, checkVersion(values[i]))
			case "user":
				if err = repositories.CheckUser(name, values[i]); err == nil {
					continue // names of persons are never logged
				}
			default:
				err = repositories.CheckID(name, values[i])
			}
			if err != nil {
				problems = append(problems, err.Error())
			}
			ids = append(ids, slog.String(name, values[i]))
		}
		if len(problems) > 0 {
			return answer.NewProblem(answer.InvalidPath, strings.Join(problems, "; "))
		}
		c.Set(idsKey, ids)
		return next(c)
	}
}

func faultOf(name string, fault error) error {
	if fault == nil {
		return nil
	}
	return fmt.Errorf("%s %w", name, fault)
}

func scopeOf(c echo.Context) repositories.Scope {
	return repositories.Scope{AppID: c.Param("appId"), SessionID: c.Param("sessionId")}
}
