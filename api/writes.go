package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/store"
)

// Headers of conditional requests (RFC 9110, sections 8.8.3 and 13.1).
const (
	headerETag        = "ETag"
	headerIfMatch     = "If-Match"
	headerIfNoneMatch = "If-None-Match"
)

// tagOf returns the entity tag of a revision; empty for none.
func tagOf(revision string) string {
	if revision == "" {
		return ""
	}
	return `"` + revision + `"`
}

// tagged answers with an object and its entity tag, or with 304 if the client has that state already.
func tagged(c echo.Context, status int, revision string, value any) error {
	tag := tagOf(revision)
	if tag != "" {
		c.Response().Header().Set(headerETag, tag)
	}
	if method := c.Request().Method; method == http.MethodGet || method == http.MethodHead {
		ifNoneMatch, err := tagsIn(c, headerIfNoneMatch)
		if err != nil {
			return err
		}
		if ifNoneMatch.match(tag) || ifNoneMatch.match("W/"+tag) {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return answer.JSON(c, status, value)
}

// preconditionOf returns the precondition of a write, from If-Match and If-None-Match; nil without both.
func preconditionOf(c echo.Context) (store.Precondition, error) {
	ifMatch, err := tagsIn(c, headerIfMatch)
	if err != nil {
		return nil, err
	}
	ifNoneMatch, err := tagsIn(c, headerIfNoneMatch)
	if err != nil || ifMatch == nil && ifNoneMatch == nil {
		return nil, err
	}
	return func(revision string) error {
		tag := tagOf(revision)
		switch {
		case ifMatch != nil && tag == "":
			return failedCondition("there is nothing here, and " + headerIfMatch + " asks for something that was read: leave it out to create it")
		case ifMatch.match("W/" + tag):
			return failedCondition("a weak " + headerETag + " cannot be the condition of a write: a proxy has made " + tag + " weak; send it without W/")
		case ifMatch != nil && !ifMatch.match(tag):
			return failedCondition("it was changed by another since it was read: its " + headerETag + " is " + tag + " now. Read it again, make the change in what it is now, and send that with the new one as " + headerIfMatch)
		case ifNoneMatch.match(tag), ifNoneMatch.match("W/" + tag):
			return failedCondition("it is there already, and " + headerIfNoneMatch + " asks that it is not: leave it out to replace it")
		}
		return nil
	}, nil
}

// withPrecondition adapts a handler of a write without a body.
func withPrecondition(handle func(c echo.Context, precondition store.Precondition) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		precondition, err := preconditionOf(c)
		if err != nil {
			return err
		}
		return handle(c, precondition)
	}
}

// ifExists skips the precondition for a missing object, so that the change answers 404 (RFC 9110, section
// 13.2.1).
func ifExists(precondition store.Precondition) store.Precondition {
	if precondition == nil {
		return nil
	}
	return func(revision string) error {
		if revision == "" {
			return nil
		}
		return precondition(revision)
	}
}

func failedCondition(detail string) error {
	return answer.NewProblem(answer.PreconditionFailed, detail)
}

// tags are the entity tags of a header; nil without the header. "*" matches any.
type tags []string

// match reports whether tag is in the list. An empty tag never is; a weak tag (W/) differs from the strong
// one.
func (t tags) match(tag string) bool {
	wildcard := slices.Contains(t, "*") && !strings.HasPrefix(tag, "W/")
	return tag != "" && (slices.Contains(t, tag) || wildcard)
}

func tagsIn(c echo.Context, header string) (tags, error) {
	value := strings.TrimSpace(strings.Join(c.Request().Header.Values(header), ","))
	if value == "*" {
		return tags{"*"}, nil
	}
	var found tags
	for rest := value; rest != ""; rest = strings.TrimLeft(rest, ", \t") {
		opaque := strings.TrimPrefix(rest, "W/")
		end := strings.IndexByte(strings.TrimPrefix(opaque, `"`), '"')
		if !strings.HasPrefix(opaque, `"`) || end < 0 {
			return nil, answer.NewProblem(answer.InvalidHeader, header+" "+answer.Quote(value)+` is not a list of entity tags: send the `+headerETag+` as it came, with its quotation marks, or *`)
		}
		length := len(rest) - len(opaque) + end + len(`""`)
		found = append(found, rest[:length])
		rest = rest[length:]
	}
	return found, nil
}

// Prepare has databases prepare the statements of tools, with a short timeout, and returns which would
// fail. It runs none.
type Prepare func(ctx context.Context, app *repositories.App, tools []repositories.Tool) []string

// writeNotes collects notes on a write that its author may not expect.
type writeNotes struct {
	store   Store
	engine  Engine
	prepare Prepare // nil: statements are not checked
}

type notedApp struct {
	*repositories.App
	Notes []string `json:"notes,omitempty"`
}

type notedRepository struct {
	repositories.Repository
	Notes []string `json:"notes,omitempty"`
}

// ofWrite collects the notes on a repository, or without one on the whole scope. The write is done: if the store
// fails now, only the notes are lost.
func (n writeNotes) ofWrite(ctx context.Context, scope repositories.Scope, written *repositories.Repository) []string {
	if written == nil {
		found, _ := n.store.SameNames(ctx, scope, "")
		return found
	}
	var found []string
	if !written.Options.Template {
		found, _ = n.store.SameNames(ctx, scope, written.ID)
	}
	found = append(written.NotesInWords(), found...)
	found = append(found, n.unconfirmed(ctx, written)...)
	found = append(found, n.engine.Examples(ctx, scope, written.ID)...)
	runsStatement := func(t repositories.Tool) bool { return t.RunsStatement() }
	if n.prepare == nil || !slices.ContainsFunc(written.Tools, runsStatement) {
		return found
	}
	app, err := n.store.App(ctx, scope.AppID)
	if err != nil {
		return found
	}
	return append(found, n.prepare(ctx, app, written.Tools)...)
}

// unconfirmed advises a confirmation for each tool that acts irreversibly without asking first.
func (n writeNotes) unconfirmed(ctx context.Context, written *repositories.Repository) []string {
	if len(matcher.Unconfirmed(&repositories.App{}, written)) == 0 {
		return nil // whatever the app's settings are
	}
	app, err := n.store.App(ctx, written.AppID)
	if err != nil {
		return nil
	}
	advised, omitted := matcher.Unconfirmed(app, written).Listed()
	texts := make([]string, 0, len(advised)+1)
	for _, note := range advised {
		i, _ := strconv.Atoi(strings.TrimPrefix(note.Pointer, "/tools/"))
		texts = append(texts, fmt.Sprintf("tool %q %s", written.Tools[i].Name, note.Detail))
	}
	if omitted > 0 {
		texts = append(texts, fmt.Sprintf("and %d tools more do what nobody takes back, without a question", omitted))
	}
	return texts
}

// versions serves the versions of the repositories of an app.
type versions struct {
	store Store
	notes writeNotes
}

func (h versions) routes() []route {
	const all = pathApp + "/repositories/:repositoryId/versions"
	return []route{
		{method: http.MethodGet, path: all, access: toolKeys, handler: h.list, query: pageQuery},
		{method: http.MethodGet, path: all + "/:version", access: toolKeys, handler: h.get},
		{method: http.MethodPost, path: all + "/:version/restore", access: toolKeys, handler: withPrecondition(h.restore), tagged: true, auditAction: audit.ChangeRepository},
	}
}

func checkVersion(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || strconv.Itoa(n) != text {
		return errors.New("must be the number of a version, 1 or more")
	}
	return nil
}

func numberOf(c echo.Context) int {
	n, _ := strconv.Atoi(c.Param("version")) // checked by checkIDs
	return n
}

func (h versions) list(c echo.Context) error {
	page, err := pageByID(c)
	if err != nil {
		return err
	}
	before := 0
	if page.After != "" {
		if checkVersion(page.After) != nil {
			return answer.BadCursor()
		}
		before, _ = strconv.Atoi(page.After)
	}
	items, next, err := h.store.Versions(c.Request().Context(), c.Param("appId"), c.Param("repositoryId"), before, page.Limit)
	cursor := ""
	if next > 0 {
		cursor = strconv.Itoa(next)
	}
	return listPage(c, items, cursor, err)
}

// shownVersion is a version with its definition, null if it has none.
type shownVersion struct {
	store.Version
	Definition *repositories.Repository `json:"definition"`
}

func (h versions) get(c echo.Context) error {
	version, definition, err := h.store.Version(c.Request().Context(), c.Param("appId"), c.Param("repositoryId"), numberOf(c))
	if err != nil {
		return err
	}
	shown := shownVersion{Version: version}
	if definition != nil {
		whole := withTools(definition)
		shown.Definition = &whole
	}
	return answer.JSON(c, http.StatusOK, shown)
}

// restore writes a version as the newest one, with the checks of a PUT.
func (h versions) restore(c echo.Context, on store.Precondition) error {
	change, err := h.store.RestoreChange(c.Request().Context(), c.Param("appId"), c.Param("repositoryId"), numberOf(c))
	if err != nil {
		return err
	}
	change.If = on
	stored, created, err := h.store.ChangeRepository(c.Request().Context(), change.WithGrantsOf(auth.PrincipalOf(c).Owner()))
	if err != nil {
		return err
	}
	return tagged(c, answer.Created(created), stored.Revision, notedRepository{withTools(stored), h.notes.ofWrite(c.Request().Context(), stored.Scope(), stored)})
}
