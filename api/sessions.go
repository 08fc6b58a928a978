package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/mcp"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/bodies"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/erasure"
	"earshot/trigger/pendingcalls"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

// Memory erases and exports the data of sessions.
type Memory interface {
	// Erase returns when nothing of the session is left, or erasure.ErrStreams if the stream could not be
	// cleared.
	Erase(ctx context.Context, appID, sessionID string) error
	// EraseUser erases all sessions of a user, and returns their number.
	EraseUser(ctx context.Context, appID, user string) (erased int, err error)
	// Stored passes the session's events to do in order, until do fails.
	Stored(ctx context.Context, appID, sessionID string, do func(effect.Published) error) error
}

// PendingCalls keeps and lists the calls of agents that lack values. pendingcalls.Calls implements it.
type PendingCalls interface {
	mcp.PendingCalls
	Waiting(ctx context.Context, of repositories.Scope) ([]pendingcalls.Waiting, error)
}

// sessions serves, closes, erases and exports sessions. A session begins with its first use and need not be
// put.
type sessions struct {
	store        Store
	engine       Engine
	memory       Memory       // nil: erasure and export answer 503
	pendingCalls PendingCalls // nil: no agent's call can wait
	bodies       *bodies.Definitions
}

func (h sessions) routes() []route {
	return []route{
		{method: http.MethodPut, path: pathSession, access: messageKeys, handler: withBody(h.put), natsName: "session", readsBody: true},
		{method: http.MethodGet, path: pathSession, access: messageCallers, handler: func(c echo.Context) error { return h.show(c, http.StatusOK) }, natsName: "get-session"},
		{method: http.MethodGet, path: pathApp + "/sessions", access: messageKeys, handler: h.list, natsName: "sessions", query: slices.Concat(pageQuery, []string{"user", "state", "usedSince", "usedBefore", "text", "outcome", "order", metadataQuery})},
		{method: http.MethodDelete, path: pathSession, access: messageKeys, handler: h.close, natsName: "close-session", query: []string{"erase"}, auditAction: audit.EraseSession},
		{method: http.MethodGet, path: pathSession + "/export", access: messageKeys, handler: h.export},
		{method: http.MethodGet, path: pathUser + "/export", access: messageKeys, handler: h.exportUser},
		{method: http.MethodDelete, path: pathUser, access: messageKeys, handler: h.eraseUser, query: []string{"erase"}, auditAction: audit.EraseUser},
	}
}

// States that sessions are filtered by.
const (
	sessionWaiting = "waiting" // it has open calls
	sessionIdle    = "idle"
)

var sessionStates = []string{sessionWaiting, sessionIdle}

func (h sessions) list(c echo.Context) error {
	page, err := pageByID(c)
	if err != nil {
		return err
	}
	a := &searchQuery{c: c}
	byActivity := a.oneOf("order", sessionOrders) == sessionsByActivity
	if id := page.After; id != "" {
		if byActivity {
			var used string
			used, id, _ = strings.Cut(id, "/")
			_, err = strconv.ParseInt(used, 10, 64)
		}
		if err != nil || !repositories.IsID(id) {
			return answer.BadCursor()
		}
	}
	search := store.SessionQuery{
		AppID: c.Param("appId"), Metadata: a.metadata(), UsedSince: a.time("usedSince"), UsedBefore: a.time("usedBefore"), After: page.After, Limit: page.Limit,
		ByActivity: byActivity,
	}
	if c.QueryParams().Has("user") { // an empty user is a fault, not all users
		search.User = c.QueryParam("user")
		if err := repositories.CheckUser("user", search.User); err != nil {
			a.fault(err.Error())
		}
	}
	state, outcome, text := a.oneOf("state", sessionStates), a.oneOf("outcome", sessionOutcomes), a.text("text")
	if err := a.problem(); err != nil {
		return err
	}
	ctx, latest := c.Request().Context(), map[string]query.MessageExcerpt{}
	if search.Filter, search.MaxExamined, err = h.newFilter(ctx, search.AppID, state, outcome, text, latest); err != nil {
		return err
	}
	found, next, err := h.store.Sessions(ctx, search)
	if err != nil {
		return err
	}
	if byActivity && text == "" {
		if err := h.findMessages(ctx, search.AppID, found, "", latest); err != nil {
			return err
		}
	}
	items := make([]listedSession, len(found))
	for i, session := range found {
		items[i].Session = session
		for _, letter := range session.Outcomes {
			items[i].Outcomes = append(items[i].Outcomes, outcomeOf[string(letter)])
		}
		if message, has := latest[session.ID]; has {
			items[i].Message = &message
		}
	}
	return listPage(c, items, next, nil)
}

type listedSession struct {
	*repositories.Session
	// Outcomes are the outcomes of its messages, the latest first.
	Outcomes []string `json:"outcomes,omitempty"`
	// Message is the latest with the searched text; in a list by activity without a text, the user's
	// latest.
	Message *query.MessageExcerpt `json:"message,omitempty"`
}

// Orders of a list of sessions.
const (
	sessionsByID       = "id"
	sessionsByActivity = "activity"
)

var sessionOrders = []string{sessionsByID, sessionsByActivity}

// Outcomes that sessions are filtered by: of a message, or the state of a trigger.
const (
	outcomeFired     = "fired"
	outcomeRejected  = "rejected"
	outcomeUnmatched = "unmatched"
)

var (
	outcomeOf       = map[string]string{keyspace.OutcomeFired: outcomeFired, keyspace.OutcomeRejected: outcomeRejected, keyspace.OutcomeUnmatched: outcomeUnmatched}
	sessionOutcomes = []string{outcomeFired, outcomeRejected, outcomeUnmatched, query.StateConfirming, query.StateFailed}
)

// Most sessions that are read for one page, when each needs a lookup of its own or of its messages.
const (
	maxByState = 1000
	maxByText  = 2000
)

// newFilter returns the filter for state, outcome and text, and how many sessions it may examine; nil without any. It
// puts the messages with the text into latest.
func (h sessions) newFilter(ctx context.Context, appID, state, outcome, text string, latest map[string]query.MessageExcerpt) (func(context.Context, []*repositories.Session) ([]bool, error), int, error) {
	if state+outcome+text == "" {
		return nil, 0, nil
	}
	limit, inState := 0, func(context.Context, *repositories.Session) (bool, error) { return true, nil }
	hasOutcome, err := h.outcomeFilter(ctx, appID, outcome)
	switch {
	case err != nil:
		return nil, 0, err
	case state != "":
		limit = maxByState
		inState, err = h.stateFilter(ctx, appID, state)
	case text != "":
		limit = maxByText
	}
	return func(ctx context.Context, batch []*repositories.Session) ([]bool, error) {
		keep := lists.Map(batch, hasOutcome)
		if text != "" {
			candidates := slices.DeleteFunc(slices.Clone(batch), func(one *repositories.Session) bool { return !hasOutcome(one) })
			if err := h.findMessages(ctx, appID, candidates, text, latest); err != nil {
				return nil, err
			}
		}
		for i, session := range batch {
			if _, found := latest[session.ID]; text != "" && !found {
				keep[i] = false
			}
			if keep[i] {
				var err error
				if keep[i], err = inState(ctx, session); err != nil {
					return nil, err
				}
			}
		}
		return keep, nil
	}, limit, err
}

// outcomeFilter returns the filter for an outcome; an empty one is that of every session.
func (h sessions) outcomeFilter(ctx context.Context, appID, outcome string) (func(*repositories.Session) bool, error) {
	switch outcome {
	case "":
		return func(*repositories.Session) bool { return true }, nil
	case query.StateConfirming, query.StateFailed: // of a trigger
		found, err := h.engine.SessionsIn(ctx, appID, outcome)
		if err == nil && found == nil {
			err = answer.NewProblem(answer.InvalidQuery, "outcome "+answer.Quote(outcome)+" applies to too many triggers to list their sessions: list the triggers of this state instead")
		}
		return func(session *repositories.Session) bool { return found[session.ID] }, err
	}
	return func(session *repositories.Session) bool {
		return outcome == outcomeFired && session.Fired || strings.ContainsFunc(session.Outcomes, func(letter rune) bool { return outcomeOf[string(letter)] == outcome })
	}, nil
}

// findMessages puts the messages with a text, or the latest, into latest.
func (h sessions) findMessages(ctx context.Context, appID string, batch []*repositories.Session, text string, latest map[string]query.MessageExcerpt) error {
	if len(batch) == 0 {
		return nil
	}
	ids := lists.Map(batch, func(session *repositories.Session) string { return session.ID })
	found, err := h.engine.LatestMessages(ctx, appID, ids, text)
	maps.Copy(latest, found)
	return err
}

// stateFilter returns the filter for a state. It skips the lookup for most sessions: nothing can wait in them.
func (h sessions) stateFilter(ctx context.Context, appID, state string) (func(context.Context, *repositories.Session) (bool, error), error) {
	withPending, err := h.engine.SessionsIn(ctx, appID, query.StatePending)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, session *repositories.Session) (bool, error) {
		if withPending != nil && !withPending[session.ID] && !session.Unfinished {
			return state == sessionIdle, nil
		}
		open, err := h.engine.Open(ctx, appID, session.ID)
		if err != nil {
			return false, err
		}
		incomplete, err := h.incompleteCalls(ctx, repositories.Scope{AppID: appID, SessionID: session.ID})
		return len(open)+len(incomplete) > 0 == (state == sessionWaiting), err
	}, nil
}

func (h sessions) exportUser(c echo.Context) error {
	appID, name := c.Param("appId"), c.Param("user")
	return h.streamExport(c, func(ctx context.Context, out exportWriter) error {
		for after := ""; ; {
			ids, next, err := h.store.SessionsOf(ctx, appID, name, after, maxLimit)
			if err != nil {
				return err
			}
			for _, id := range ids {
				session, err := h.store.Session(ctx, appID, id)
				if errors.Is(err, repositories.ErrNotFound) { // it has ended; its data follows
					session, err = &repositories.Session{AppID: appID, ID: id, User: name}, nil
				}
				if err := out.line("session", session, err); err != nil {
					return err
				}
				if err := h.writeContents(ctx, out, appID, id); err != nil {
					return err
				}
			}
			if next == "" {
				return nil
			}
			after = next
		}
	})
}

func (h sessions) eraseUser(c echo.Context) error {
	erase, err := isSet(c, "erase")
	switch {
	case err != nil:
		return err
	case !erase:
		return answer.NewProblem(answer.InvalidQuery, "add erase=true to erase all sessions of the user; to close one of them, delete that session")
	case h.memory == nil:
		return eventsDisabled()
	}
	erased, err := h.memory.EraseUser(c.Request().Context(), c.Param("appId"), c.Param("user"))
	return answer.Result(c, http.StatusOK, struct {
		User   string `json:"user"`
		Erased int    `json:"erased"` // sessions
	}{c.Param("user"), erased}, streamProblem(err))
}

func (h sessions) put(c echo.Context, body []byte) error {
	read, err := h.bodies.Read("SessionRequest", body)
	if err != nil {
		return err
	}
	session := &repositories.Session{}
	read.Agree("appId", c.Param("appId"))
	read.Agree("sessionId", c.Param("sessionId"))
	read.Into(session)
	checkMetadata(read, session.Metadata)
	session.AppID, session.ID = c.Param("appId"), c.Param("sessionId")
	if unknown := (fault.List{}); !read.Faultless() && errors.As(h.store.CheckTemplates(c.Request().Context(), session), &unknown) {
		for _, one := range unknown {
			read.Add(one.Pointer, "%s", one)
		}
	}
	if err := read.Err(); err != nil {
		return err
	}
	created, err := h.store.PutSession(c.Request().Context(), session)
	if err != nil {
		return err
	}
	return h.show(c, answer.Created(created))
}

func (h sessions) show(c echo.Context, status int) error {
	ctx, owner := c.Request().Context(), repositories.Scope{AppID: c.Param("appId"), SessionID: c.Param("sessionId")}
	session, err := h.store.Session(ctx, owner.AppID, owner.SessionID)
	if err != nil && !errors.Is(err, repositories.ErrNotFound) {
		return err
	}
	incomplete, callsErr := h.incompleteCalls(ctx, owner)
	if callsErr != nil || err != nil && len(incomplete) == 0 {
		return errors.Join(callsErr, err)
	}
	if err != nil { // only an agent has used it, and nothing has fired
		session = &repositories.Session{AppID: owner.AppID, ID: owner.SessionID}
	}
	open, err := h.engine.Open(ctx, owner.AppID, owner.SessionID)
	return answer.Result(c, status, struct {
		*repositories.Session
		Open []scope.OpenCall `json:"open"`
	}{session, append(open, incomplete...)}, err)
}

// incompleteCalls lists the calls of agents that lack values.
func (h sessions) incompleteCalls(ctx context.Context, owner repositories.Scope) (calls []scope.OpenCall, err error) {
	if h.pendingCalls == nil {
		return nil, nil
	}
	waiting, err := h.pendingCalls.Waiting(ctx, owner)
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	tools, err := h.engine.Catalog(ctx, owner.AppID, owner.SessionID)
	if err != nil {
		return nil, err
	}
	for _, call := range waiting {
		question, repositoryID, values := "", call.RepositoryID, call.Values
		if values == nil {
			values = map[string]any{} // it is required
		}
		if found, inScope := tools.Find(call.Name, call.RepositoryID); inScope {
			question, repositoryID = found.Tool.Params().Ask(call.Missing...), found.Repository.ID
		}
		calls = append(calls, scope.OpenCall{
			TriggerID: call.ID, State: scope.OpenAsking, ExpiresAt: &call.Ends, RepositoryID: repositoryID, Name: call.Name, Values: values, Missing: call.Missing,
			Question: question, Ask: question,
		})
	}
	return calls, nil
}

func (h sessions) close(c echo.Context) error {
	erase, err := isSet(c, "erase")
	if err != nil {
		return err
	}
	end := h.store.CloseSession
	if erase {
		if h.memory == nil {
			return eventsDisabled()
		}
		end = h.memory.Erase
	}
	return answer.Done(c, http.StatusNoContent, streamProblem(end(c.Request().Context(), c.Param("appId"), c.Param("sessionId"))))
}

// streamProblem turns erasure.ErrStreams into a problem.
func streamProblem(err error) error {
	if !errors.Is(err, erasure.ErrStreams) {
		return err
	}
	return answer.NewProblem(answer.EventsUnavailable, "the events of the session cannot be read or removed in NATS now; send the request again, and it continues where it stopped").
		With("Retry-After", answer.Soon).Because(err)
}

func (h sessions) export(c echo.Context) error {
	appID, sessionID := c.Param("appId"), c.Param("sessionId")
	return h.streamExport(c, func(ctx context.Context, out exportWriter) error {
		session, err := h.store.Session(ctx, appID, sessionID)
		if !errors.Is(err, repositories.ErrNotFound) {
			if err := out.line("session", session, err); err != nil {
				return err
			}
		}
		return h.writeContents(ctx, out, appID, sessionID)
	})
}

// streamExport answers with the JSON lines that write produces. If it fails midway, the connection is aborted:
// a part must not look complete.
func (h sessions) streamExport(c echo.Context, write func(ctx context.Context, out exportWriter) error) error {
	if h.memory == nil {
		return eventsDisabled()
	}
	if _, err := h.store.App(c.Request().Context(), c.Param("appId")); err != nil {
		return err
	}
	out := exportWriter{c}
	if err := write(c.Request().Context(), out); err != nil {
		if c.Response().Committed {
			panic(http.ErrAbortHandler)
		}
		return streamProblem(err)
	}
	out.writeHeader()
	return nil
}

// writeContents writes all messages, triggers and events of a session, one page in memory at a time.
func (h sessions) writeContents(ctx context.Context, out exportWriter, appID, sessionID string) error {
	for _, part := range []func() error{
		func() error {
			return exportPages(out, "message", func(page query.Page) ([]query.Entry, string, error) {
				return h.engine.History(ctx, query.History{AppID: appID, SessionID: sessionID, Page: page})
			})
		},
		func() error {
			return exportPages(out, "trigger", func(page query.Page) ([]query.Record, string, error) {
				return h.engine.Triggers(ctx, query.Triggers{AppID: appID, SessionID: sessionID, AllLives: true, Oldest: true, Page: page})
			})
		},
		func() error { return h.events(ctx, out, appID, sessionID) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// events writes the events of a session, without those of an earlier app of that id.
func (h sessions) events(ctx context.Context, out exportWriter, appID, sessionID string) error {
	since, err := h.store.LifeSince(ctx, appID, "")
	if err != nil {
		return err
	}
	return h.memory.Stored(ctx, appID, sessionID, func(event effect.Published) error {
		if event.Time.Before(since) {
			return nil
		}
		return out.event(event)
	})
}

func exportPages[T any](out exportWriter, kind string, read func(query.Page) (items []T, next string, err error)) error {
	for after := ""; ; {
		items, next, err := read(query.Page{After: after, Limit: 100})
		for _, item := range items {
			if err := out.line(kind, item, nil); err != nil {
				return err
			}
		}
		if err != nil || next == "" {
			return err
		}
		after = next
	}
}

// exportWriter writes JSON lines.
type exportWriter struct{ echo.Context }

func (w exportWriter) writeHeader() {
	if !w.Response().Committed {
		w.Response().Header().Set(echo.HeaderContentType, "application/x-ndjson")
		w.Response().WriteHeader(http.StatusOK)
	}
}

func (w exportWriter) event(event effect.Published) error {
	data := any(string(event.Data)) // other publishers may send anything
	if exactjson.Embeddable(event.Data) {
		data = event.Data
	}
	return w.line("event", struct {
		Sequence uint64 `json:"sequence"`
		Subject  string `json:"subject"`
		Data     any    `json:"data"`
	}{event.Sequence, event.Subject, data}, nil)
}

// line writes an object with its kind as the first field, or returns err.
func (w exportWriter) line(kind string, value any, err error) error {
	if err != nil {
		return err
	}
	text, err := exactjson.Encode(value)
	if err != nil {
		return err
	}
	w.writeHeader()
	line := append([]byte(`{"kind":"`+kind+`",`), text[1:]...)
	_, err = w.Response().Write(append(line, '\n'))
	return err
}
