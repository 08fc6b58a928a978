package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/effect"
	"earshot/trigger/erasure"
	"earshot/trigger/query"
)

// Memory forgets all of a session, and tells what the stream has of it.
type Memory interface {
	// Erase returns when nothing of the session is left; erasure.ErrStreams where the stream
	// could not be cleared.
	Erase(ctx context.Context, appID, sessionID string) error
	// Stored hands out its events, in their order, until do fails.
	Stored(ctx context.Context, appID, sessionID string, do func(effect.Published) error) error
}

// closing closes, erases and exports sessions.
type closing struct {
	store  SessionStore
	apps   appReader
	engine Engine
	memory Memory // nil: nothing is erased or told
}

func (h closing) routes() []route {
	return []route{
		{method: http.MethodDelete, path: ofSession, handle: h.close, query: []string{"erase"}},
		{method: http.MethodGet, path: ofSession + "/export", handle: h.export},
	}
}

func (h closing) close(c echo.Context) error {
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
	return answer.Done(c, http.StatusNoContent, unclear(end(c.Request().Context(), c.Param("appId"), c.Param("sessionId"))))
}

// unclear is the problem of a stream that could not be read or cleared.
func unclear(err error) error {
	if !errors.Is(err, erasure.ErrStreams) {
		return err
	}
	return answer.NewProblem(http.StatusServiceUnavailable, "NATS does not let the events of the session be read or removed now; send the request again: it goes on where it broke off").
		With("Retry-After", answer.Soon).Because(err)
}

// export writes all that is kept of a session, a line of JSON each, and holds a page at a time. When it fails
// midway the connection breaks off: what came must not be taken for all.
func (h closing) export(c echo.Context) error {
	if h.memory == nil {
		return readsNoEvents()
	}
	if _, err := h.apps.App(c.Request().Context(), c.Param("appId")); err != nil {
		return err
	}
	out := &exportWriter{Context: c, appID: c.Param("appId"), sessionID: c.Param("sessionId")}
	for _, part := range []func(*exportWriter) error{h.exportSession, h.exportMessages, h.exportTriggers, h.exportEvents} {
		if err := part(out); err != nil {
			if out.Response().Committed {
				panic(http.ErrAbortHandler)
			}
			return unclear(err)
		}
	}
	out.begin()
	return nil
}

func (h closing) exportSession(out *exportWriter) error {
	session, err := h.store.Session(out.Request().Context(), out.appID, out.sessionID)
	if errors.Is(err, repositories.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return out.line("session", session)
}

// exportPage is how many messages or triggers are read together.
const exportPage = 100

func (h closing) exportMessages(out *exportWriter) error {
	return eachPage(func(page query.Page) (string, error) {
		items, next, err := h.engine.History(out.Request().Context(), query.History{AppID: out.appID, SessionID: out.sessionID, Page: page})
		return next, errors.Join(err, exported(out, "message", items))
	})
}

func (h closing) exportTriggers(out *exportWriter) error {
	return eachPage(func(page query.Page) (string, error) {
		query := query.Triggers{AppID: out.appID, SessionID: out.sessionID, AllLives: true, Oldest: true, Page: page}
		items, next, err := h.engine.Triggers(out.Request().Context(), query)
		return next, errors.Join(err, exported(out, "trigger", items))
	})
}

func (h closing) exportEvents(out *exportWriter) error {
	return h.memory.Stored(out.Request().Context(), out.appID, out.sessionID, func(event effect.Published) error {
		data := any(string(event.Data)) // of others, who may publish what they like
		if json.Valid(event.Data) {
			data = event.Data
		}
		return out.line("event", struct {
			Sequence uint64 `json:"sequence"`
			Subject  string `json:"subject"`
			Data     any    `json:"data"`
		}{event.Sequence, event.Subject, data})
	})
}

func eachPage(read func(query.Page) (next string, err error)) error {
	for after := ""; ; {
		next, err := read(query.Page{After: after, Limit: exportPage})
		if err != nil || next == "" {
			return err
		}
		after = next
	}
}

func exported[T any](out *exportWriter, kind string, items []T) error {
	for _, item := range items {
		if err := out.line(kind, item); err != nil {
			return err
		}
	}
	return nil
}

// exportWriter writes lines of JSON.
type exportWriter struct {
	echo.Context
	appID, sessionID string
}

// begin sends the header, once.
func (w *exportWriter) begin() {
	if !w.Response().Committed {
		w.Response().Header().Set(echo.HeaderContentType, "application/x-ndjson")
		w.Response().WriteHeader(http.StatusOK)
	}
}

// line writes an object with its kind before its fields.
func (w *exportWriter) line(kind string, of any) error {
	text, err := exactjson.Encode(of)
	if err != nil {
		return err
	}
	w.begin()
	whole := append([]byte(`{"kind":"`+kind+`",`), text[1:]...)
	_, err = w.Response().Write(append(whole, '\n'))
	return err
}
