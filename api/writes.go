package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/store"
)

// Headers of conditions (RFC 9110, sections 8.8.3 and 13.1).
const (
	headerETag        = "ETag"
	headerIfMatch     = "If-Match"
	headerIfNoneMatch = "If-None-Match"
)

// tagOf is the entity tag of what is stored under a revision, empty for none.
func tagOf(revision string) string {
	if revision == "" {
		return ""
	}
	return `"` + revision + `"`
}

// tagged answers with what is stored under a revision, and says which that is. A client
// that has it already is told so in place of it.
func tagged(c echo.Context, status int, revision string, value any) error {
	tag := tagOf(revision)
	if tag != "" {
		c.Response().Header().Set(headerETag, tag)
	}
	if reads := c.Request().Method; reads == http.MethodGet || reads == http.MethodHead {
		known, err := tagsIn(c, headerIfNoneMatch)
		if err != nil {
			return err
		}
		if known.has(tag) || known.has("W/"+tag) {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return answer.JSON(c, status, value)
}

// conditionOf reads of which state a write may be made: that which If-Match names, and none
// that If-None-Match does. It is nil if there is neither.
func conditionOf(c echo.Context) (store.Condition, error) {
	wanted, err := tagsIn(c, headerIfMatch)
	if err != nil {
		return nil, err
	}
	unwanted, err := tagsIn(c, headerIfNoneMatch)
	if err != nil || wanted == nil && unwanted == nil {
		return nil, err
	}
	return func(revision string) error {
		tag := tagOf(revision)
		switch {
		case wanted != nil && tag == "":
			return failedCondition("there is nothing here, and " + headerIfMatch + " asks for something that was read: leave it out to create it")
		case wanted.has("W/" + tag):
			return failedCondition("a weak " + headerETag + " is no condition of a write, and ours are strong: something on the way has made " + tag + " a weak one; send it without W/")
		case wanted != nil && !wanted.has(tag):
			return failedCondition("it was changed by another since it was read: its " + headerETag + " is " + tag + " now. Read it again, make the change in what it is now, and send that with the new one as " + headerIfMatch)
		case unwanted.has(tag), unwanted.has("W/" + tag):
			return failedCondition("it is there already, and " + headerIfNoneMatch + " asks that it is not: leave it out to replace it")
		}
		return nil
	}, nil
}

// withCondition is the handler of a write without a body.
func withCondition(handle func(c echo.Context, on store.Condition) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		on, err := conditionOf(c)
		if err != nil {
			return err
		}
		return handle(c, on)
	}
}

// ifThere leaves it to the change what to say of something that is not there, whatever the
// condition: it is not found (RFC 9110, section 13.2.1).
func ifThere(on store.Condition) store.Condition {
	if on == nil {
		return nil
	}
	return func(revision string) error {
		if revision == "" {
			return nil
		}
		return on(revision)
	}
}

func failedCondition(detail string) error {
	return answer.NewProblem(answer.PreconditionFailed, detail)
}

// tags are the entity tags of a header; nil if there is none. "*" stands for any.
type tags []string

// has reports whether a tag is among them; the empty one never is, and a weak one (W/) is
// another than the strong one.
func (t tags) has(tag string) bool {
	anything := slices.Contains(t, "*") && !strings.HasPrefix(tag, "W/")
	return tag != "" && (slices.Contains(t, tag) || anything)
}

// tagsIn reads a header of entity tags.
func tagsIn(c echo.Context, header string) (tags, error) {
	given := strings.TrimSpace(strings.Join(c.Request().Header.Values(header), ","))
	if given == "*" {
		return tags{"*"}, nil
	}
	var found tags
	for rest := given; rest != ""; rest = strings.TrimLeft(rest, ", \t") {
		opaque := strings.TrimPrefix(rest, "W/")
		end := strings.IndexByte(strings.TrimPrefix(opaque, `"`), '"')
		if !strings.HasPrefix(opaque, `"`) || end < 0 {
			return nil, answer.NewProblem(answer.InvalidHeader, header+" "+answer.Quote(given)+` is no list of entity tags: send the `+headerETag+` as it came, with its quotation marks, or *`)
		}
		length := len(rest) - len(opaque) + end + len(`""`)
		found = append(found, rest[:length])
		rest = rest[length:]
	}
	return found, nil
}

// previewed answers with what the write would do.
func previewed(c echo.Context, operation string, err error) error {
	return answer.Result(c, http.StatusOK, struct {
		Operation string `json:"operation"`
	}{operation}, err)
}

// SameNamer says which of the tools that have one name in several repositories of a scope
// hold: of those of one repository, or of all where that is empty.
type SameNamer interface {
	SameNames(ctx context.Context, scope repositories.Scope, repositoryID string) ([]string, error)
}

// Prepare has databases prepare the statements of tools, in a short time, and says what
// would not run; nothing runs.
type Prepare func(ctx context.Context, app *repositories.App, tools []repositories.Tool) []string

// notes say of what was written what its author may not expect.
type notes struct {
	names   SameNamer
	apps    appReader
	engine  Tools
	prepare Prepare // nil: statements are not looked at
}

// notedApp is the answer to a write of an app.
type notedApp struct {
	*repositories.App
	Notes []string `json:"notes,omitempty"`
}

// notedRepository is the answer to a write of a repository.
type notedRepository struct {
	repositories.Repository
	Notes []string `json:"notes,omitempty"`
}

// on collects the notes on a repository, or where none is given on all of a scope. The write
// is done: a store that goes away in between costs the notes alone.
func (n notes) on(ctx context.Context, scope repositories.Scope, written *repositories.Repository) []string {
	if written == nil {
		found, _ := n.names.SameNames(ctx, scope, "")
		return found
	}
	var found []string
	if !written.Options.Template {
		found, _ = n.names.SameNames(ctx, scope, written.ID)
	}
	found = append(written.NotesInWords(), found...)
	found = append(found, n.unconfirmed(ctx, written)...)
	found = append(found, n.engine.Examples(ctx, scope, written.ID)...)
	runs := func(t repositories.Tool) bool { return t.RunsStatement() }
	if n.prepare == nil || !slices.ContainsFunc(written.Tools, runs) {
		return found
	}
	app, err := n.apps.App(ctx, scope.AppID)
	if err != nil {
		return found
	}
	return append(found, n.prepare(ctx, app, written.Tools)...)
}

// unconfirmed advises a confirm for each tool of the repository that does what nobody takes back,
// and has nobody asked first.
func (n notes) unconfirmed(ctx context.Context, written *repositories.Repository) []string {
	if len(matcher.Unconfirmed(&repositories.App{}, written)) == 0 {
		return nil // whatever the app says
	}
	app, err := n.apps.App(ctx, written.AppID)
	if err != nil {
		return nil
	}
	advised, more := matcher.Unconfirmed(app, written).Listed()
	found := make([]string, 0, len(advised)+1)
	for _, note := range advised {
		i, _ := strconv.Atoi(strings.TrimPrefix(note.Pointer, "/tools/"))
		found = append(found, fmt.Sprintf("tool %q %s", written.Tools[i].Name, note.Detail))
	}
	if more > 0 {
		found = append(found, fmt.Sprintf("and %d tools more do what nobody takes back, without a question", more))
	}
	return found
}
