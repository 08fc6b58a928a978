package api

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// What triggers are searched by, in all lists of them and for all that is done to many at
// once; what a list takes beside; and whose triggers they are, where the path does not say so.
var (
	triggerQuery = []string{"state", "name", "since", "until", "value", "reason", "source", "messageId"}
	listedQuery  = slices.Concat(pageQuery, triggerQuery, []string{"order"})
	appQuery     = slices.Concat(listedQuery, []string{"session"})
	bulkQuery    = slices.Concat(triggerQuery, []string{"session", "dryRun"})
)

// historyQuery is what a history takes.
var historyQuery = slices.Concat(pageQuery, []string{"since", "order"})

// What the parameters of a search may be.
var (
	triggerStates = []string{
		query.StatePending, query.StateDelivered, query.StateFailed, query.StateConfirming, query.StateCancelled, query.StateDuplicate,
	}
	triggerSources = []string{query.SourceMessage, query.SourceUI, query.SourceTask, query.SourceAgent}
	failureReasons = []string{
		string(effect.ReasonAuth), string(effect.ReasonRequest), string(effect.ReasonTimeout), string(effect.ReasonBlocked), string(effect.ReasonUnknown),
	}
	orders = []string{"asc", "desc"}
)

// maxSearched is the maximum length of a text that is searched for, in characters: that of a
// messageId.
const maxSearched = 128

// searchQuery reads the parameters of a query, and collects what is wrong with them.
type searchQuery struct {
	c     echo.Context
	wrong []string
}

// triggersAsked reads what is searched for, and the page of it.
func triggersAsked(c echo.Context) (query.Triggers, error) {
	a := &searchQuery{c: c}
	q := a.triggers()
	page, err := pageOf(c)
	if q.Page = page; err != nil {
		a.fault(err.Error())
	}
	q.Oldest = a.oneOf("order", orders) == "asc"
	return q, a.problem()
}

// historyAsked reads which part of a history is asked for, and in which order.
func historyAsked(c echo.Context) (query.History, error) {
	a := &searchQuery{c: c}
	q := query.History{
		AppID: c.Param("appId"), SessionID: c.Param("sessionId"), Since: a.time("since"), Newest: a.oneOf("order", orders) == "desc",
	}
	page, err := pageOf(c)
	if q.Page = page; err != nil {
		a.fault(err.Error())
	}
	return q, a.problem()
}

// failuresAsked reads which failed triggers are meant, and whether they are only counted.
func failuresAsked(c echo.Context) (q query.Triggers, dryRun bool, err error) {
	a := &searchQuery{c: c}
	q = a.triggers()
	if q.State != "" && q.State != query.StateFailed {
		a.fault("state " + answer.Quote(q.State) + " is not failed, as only failed triggers are retried and purged")
	}
	q.State = query.StateFailed
	dryRun, err = isSet(c, "dryRun")
	if err != nil {
		a.fault(err.Error())
	}
	return q, dryRun, a.problem()
}

func (a *searchQuery) triggers() query.Triggers {
	q := query.Triggers{
		AppID: a.c.Param("appId"), SessionID: a.c.Param("sessionId"),
		State: a.oneOf("state", triggerStates), Source: a.oneOf("source", triggerSources), Reason: effect.Reason(a.oneOf("reason", failureReasons)),
		Name: a.valid("name", repositories.CheckToolName), MessageID: a.text("messageId"), Value: a.text("value"),
		Since: a.time("since"), Until: a.time("until"),
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && q.Until.Before(q.Since) {
		a.fault("until is before since")
	}
	if q.SessionID == "" {
		q.SessionID = a.valid("session", func(id string) error { return repositories.CheckID("session", id) })
		q.Closed = q.SessionID != ""
	}
	return q
}

// oneOf reads a parameter that is one of some words, or left out.
func (a *searchQuery) oneOf(name string, words []string) string {
	given := a.c.QueryParam(name)
	if given != "" && !slices.Contains(words, given) {
		a.fault(name + " " + answer.Quote(given) + " is none of " + strings.Join(words, ", "))
	}
	return given
}

// valid reads a parameter that a check lets through, or that is left out.
func (a *searchQuery) valid(name string, check func(string) error) string {
	given := a.c.QueryParam(name)
	if given == "" {
		return ""
	}
	if err := check(given); err != nil {
		a.fault(err.Error())
	}
	return given
}

// text reads a parameter that may be any short text.
func (a *searchQuery) text(name string) string {
	given := a.c.QueryParam(name)
	if !utf8.ValidString(given) || utf8.RuneCountInString(given) > maxSearched {
		a.fault(name + " is no text of up to " + strconv.Itoa(maxSearched) + " characters")
	}
	return given
}

// time reads a parameter that is a time, or left out.
func (a *searchQuery) time(name string) time.Time {
	given := a.c.QueryParam(name)
	if given == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, given)
	if err != nil {
		a.fault(name + " " + answer.Quote(given) + " is no time as 2026-12-01T09:00:00Z (a + in it is written %2B)")
	}
	return at
}

func (a *searchQuery) fault(detail string) { a.wrong = append(a.wrong, detail) }

// problem names all faults at once; nil if there are none.
func (a *searchQuery) problem() error {
	if a.wrong == nil {
		return nil
	}
	return answer.BadRequest(strings.Join(a.wrong, "; "))
}
