package api

import (
	"context"
	"encoding/json"
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
	"earshot/repositories/keyspace"
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

// Asked keeps and lists the calls of agents that lack values. pendingcalls.Calls implements it.
type Asked interface {
	mcp.Asked
	Waiting(ctx context.Context, of repositories.Scope) ([]pendingcalls.Waiting, error)
}

// sessions serves, closes, erases and exports sessions. A session begins with its first use and need not be
// put.
type sessions struct {
	store  SessionStore
	apps   appReader
	engine Engine
	memory Memory // nil: erasure and export answer 503
	asked  Asked  // nil: no agent's call can wait
	bodies *bodies.Definitions
}

func (h sessions) routes() []route {
	return []route{
		{method: http.MethodPut, path: ofSession, handle: withBody(h.put), nats: "session", reads: true},
		{method: http.MethodGet, path: ofSession, handle: func(c echo.Context) error { return h.show(c, http.StatusOK) }, nats: "get-session"},
		{method: http.MethodGet, path: ofApp + "/sessions", handle: h.list, nats: "sessions", query: slices.Concat(pageQuery, []string{"user", "state", "usedSince", "usedBefore", "text", "outcome", "order", metadataQuery})},
		{method: http.MethodDelete, path: ofSession, handle: h.close, nats: "close-session", query: []string{"erase"}, act: audit.EraseSession},
		{method: http.MethodGet, path: ofSession + "/export", handle: h.export},
		{method: http.MethodGet, path: ofUser + "/export", handle: h.exportUser},
		{method: http.MethodDelete, path: ofUser, handle: h.eraseUser, query: []string{"erase"}, act: audit.EraseUser},
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
	if place := page.After; place != "" {
		used, id, by := strings.Cut(place, "/")
		if _, err := strconv.ParseInt(used, 10, 64); by != byActivity || by && err != nil || !by && repositories.CheckID("after", place) != nil || by && repositories.CheckID("after", id) != nil {
			return answer.BadCursor()
		}
	}
	asked := store.SessionQuery{
		AppID: c.Param("appId"), Metadata: a.metadata(), UsedSince: a.time("usedSince"), UsedBefore: a.time("usedBefore"), After: page.After, Limit: page.Limit,
		ByActivity: byActivity,
	}
	if c.QueryParams().Has("user") { // an empty user is a fault, not all users
		asked.User = c.QueryParam("user")
		if err := repositories.CheckUser("user", asked.User); err != nil {
			a.fault(err.Error())
		}
	}
	state, came, text := a.oneOf("state", sessionStates), a.oneOf("outcome", sessionOutcomes), a.text("text")
	if err := a.problem(); err != nil {
		return err
	}
	ctx, said := c.Request().Context(), map[string]query.Said{}
	if asked.Among, asked.Most, err = h.filter(ctx, asked.AppID, state, came, text, said); err != nil {
		return err
	}
	found, next, err := h.store.Sessions(ctx, asked)
	if err != nil {
		return err
	}
	if byActivity && text == "" {
		if err := h.findMessages(ctx, asked.AppID, found, "", said); err != nil {
			return err
		}
	}
	items := make([]listedSession, len(found))
	for i, session := range found {
		items[i].Session = session
		for _, letter := range session.Came {
			items[i].Outcomes = append(items[i].Outcomes, outcomeOf[string(letter)])
		}
		if one, has := said[session.ID]; has {
			items[i].Message = &one
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
	Message *query.Said `json:"message,omitempty"`
}

// Orders of a list of sessions.
const (
	sessionsByID       = "id"
	sessionsByActivity = "activity"
)

var sessionOrders = []string{sessionsByID, sessionsByActivity}

// Outcomes that sessions are filtered by: of a message, or the state of a trigger.
const (
	cameFired     = "fired"
	cameRejected  = "rejected"
	cameUnmatched = "unmatched"
)

var (
	outcomeOf       = map[string]string{keyspace.CameFired: cameFired, keyspace.CameRejected: cameRejected, keyspace.CameUnmatched: cameUnmatched}
	sessionOutcomes = []string{cameFired, cameRejected, cameUnmatched, query.StateConfirming, query.StateFailed}
)

// Most sessions that are read for one page, when each needs a lookup of its own or of its messages.
const (
	mostByState = 1000
	mostByText  = 2000
)

// filter returns the filter for state, outcome and text; nil without any. It puts the messages with the text
// into said.
func (h sessions) filter(ctx context.Context, appID, state, came, text string, said map[string]query.Said) (func(context.Context, []*repositories.Session) ([]bool, error), int, error) {
	if state+came+text == "" {
		return nil, 0, nil
	}
	most, inState, err := 0, func(context.Context, *repositories.Session) (bool, error) { return true, nil }, error(nil)
	if state != "" {
		most = mostByState
		inState, err = h.stateFilter(ctx, appID, state)
	} else if text != "" {
		most = mostByText
	}
	var having map[string]bool // the sessions with a trigger in state came
	if came == query.StateConfirming || came == query.StateFailed {
		if having, err = h.engine.SessionsIn(ctx, appID, came); err == nil && having == nil {
			return nil, 0, answer.NewProblem(answer.InvalidQuery, "outcome "+answer.Quote(came)+" is that of too many triggers to say of which sessions: list the triggers of the state")
		}
	}
	letter := ""
	for one, word := range outcomeOf {
		if word == came {
			letter = one
		}
	}
	return func(ctx context.Context, of []*repositories.Session) ([]bool, error) {
		are := make([]bool, len(of))
		var candidates []*repositories.Session
		for i, session := range of {
			are[i] = came == "" || having[session.ID] || letter != "" && strings.Contains(session.Came, letter) || came == cameFired && session.Fired
			if are[i] {
				candidates = append(candidates, session)
			}
		}
		if text != "" {
			if err := h.findMessages(ctx, appID, candidates, text, said); err != nil {
				return nil, err
			}
		}
		for i, session := range of {
			if _, has := said[session.ID]; text != "" && !has {
				are[i] = false
			}
			if are[i] {
				if are[i], err = inState(ctx, session); err != nil {
					return nil, err
				}
			}
		}
		return are, nil
	}, most, err
}

// findMessages puts the messages with a text, or the latest, into said.
func (h sessions) findMessages(ctx context.Context, appID string, in []*repositories.Session, text string, said map[string]query.Said) error {
	if len(in) == 0 {
		return nil
	}
	ids := make([]string, len(in))
	for i, session := range in {
		ids[i] = session.ID
	}
	found, err := h.engine.Said(ctx, appID, ids, text)
	maps.Copy(said, found)
	return err
}

// stateFilter returns the filter for a state. It skips the lookup for most sessions: nothing can wait in them.
func (h sessions) stateFilter(ctx context.Context, appID, state string) (func(context.Context, *repositories.Session) (bool, error), error) {
	unsettled, err := h.engine.SessionsIn(ctx, appID, query.StatePending)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, session *repositories.Session) (bool, error) {
		if unsettled != nil && !unsettled[session.ID] && !session.Unfinished {
			return state == sessionIdle, nil
		}
		open, err := h.engine.Open(ctx, appID, session.ID)
		if err != nil {
			return false, err
		}
		asking, err := h.asking(ctx, repositories.Scope{AppID: appID, SessionID: session.ID})
		return len(open)+len(asking) > 0 == (state == sessionWaiting), err
	}, nil
}

func (h sessions) exportUser(c echo.Context) error {
	appID, name := c.Param("appId"), c.Param("user")
	return h.exported(c, func(ctx context.Context, out exportWriter) error {
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
				if err := h.contents(ctx, out, appID, id); err != nil {
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
		return readsNoEvents()
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
	if err := read.Err(); err != nil {
		return err
	}
	session.AppID, session.ID = c.Param("appId"), c.Param("sessionId")
	created, err := h.store.PutSession(c.Request().Context(), session)
	if err != nil {
		return err
	}
	return h.show(c, answer.Created(created))
}

func (h sessions) show(c echo.Context, status int) error {
	ctx, of := c.Request().Context(), repositories.Scope{AppID: c.Param("appId"), SessionID: c.Param("sessionId")}
	session, err := h.store.Session(ctx, of.AppID, of.SessionID)
	if err != nil && !errors.Is(err, repositories.ErrNotFound) {
		return err
	}
	asking, failed := h.asking(ctx, of)
	if failed != nil || err != nil && len(asking) == 0 {
		return errors.Join(failed, err)
	}
	if err != nil { // only an agent has used it, and nothing has fired
		session = &repositories.Session{AppID: of.AppID, ID: of.SessionID}
	}
	open, err := h.engine.Open(ctx, of.AppID, of.SessionID)
	return answer.Result(c, status, struct {
		*repositories.Session
		Open []scope.OpenCall `json:"open"`
	}{session, append(open, asking...)}, err)
}

// asking lists the calls of agents that lack values.
func (h sessions) asking(ctx context.Context, of repositories.Scope) (list []scope.OpenCall, err error) {
	if h.asked == nil {
		return nil, nil
	}
	waiting, err := h.asked.Waiting(ctx, of)
	for _, one := range waiting {
		list = append(list, scope.OpenCall{
			TriggerID: one.ID, State: scope.OpenAsking, ExpiresAt: &one.Ends, RepositoryID: one.RepositoryID, Name: one.Name, Values: one.Values, Missing: one.Missing,
		})
	}
	return list, err
}

func (h sessions) close(c echo.Context) error {
	erase, err := isSet(c, "erase")
	if err != nil {
		return err
	}
	end := h.store.CloseSession
	if erase {
		if h.memory == nil {
			return readsNoEvents()
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
	return answer.NewProblem(answer.EventsUnavailable, "NATS does not let the events of the session be read or removed now; send the request again: it continues where it stopped").
		With("Retry-After", answer.Soon).Because(err)
}

func (h sessions) export(c echo.Context) error {
	appID, sessionID := c.Param("appId"), c.Param("sessionId")
	return h.exported(c, func(ctx context.Context, out exportWriter) error {
		session, err := h.store.Session(ctx, appID, sessionID)
		if !errors.Is(err, repositories.ErrNotFound) {
			if err := out.line("session", session, err); err != nil {
				return err
			}
		}
		return h.contents(ctx, out, appID, sessionID)
	})
}

// exported answers with the JSON lines that write produces. If it fails midway, the connection is aborted:
// a part must not look complete.
func (h sessions) exported(c echo.Context, write func(ctx context.Context, out exportWriter) error) error {
	if h.memory == nil {
		return readsNoEvents()
	}
	if _, err := h.apps.App(c.Request().Context(), c.Param("appId")); err != nil {
		return err
	}
	out := exportWriter{c}
	if err := write(c.Request().Context(), out); err != nil {
		if c.Response().Committed {
			panic(http.ErrAbortHandler)
		}
		return streamProblem(err)
	}
	out.begin()
	return nil
}

// contents writes all messages, triggers and events of a session, one page in memory at a time.
func (h sessions) contents(ctx context.Context, out exportWriter, appID, sessionID string) error {
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

// begin sends the header once.
func (w exportWriter) begin() {
	if !w.Response().Committed {
		w.Response().Header().Set(echo.HeaderContentType, "application/x-ndjson")
		w.Response().WriteHeader(http.StatusOK)
	}
}

func (w exportWriter) event(event effect.Published) error {
	data := any(string(event.Data)) // other publishers may send anything
	if json.Valid(event.Data) {
		data = event.Data
	}
	return w.line("event", struct {
		Sequence uint64 `json:"sequence"`
		Subject  string `json:"subject"`
		Data     any    `json:"data"`
	}{event.Sequence, event.Subject, data}, nil)
}

// line writes an object with its kind as the first field, or returns err.
func (w exportWriter) line(kind string, of any, err error) error {
	if err != nil {
		return err
	}
	text, err := exactjson.Encode(of)
	if err != nil {
		return err
	}
	w.begin()
	whole := append([]byte(`{"kind":"`+kind+`",`), text[1:]...)
	_, err = w.Response().Write(append(whole, '\n'))
	return err
}
