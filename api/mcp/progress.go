package mcp

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/repositories/exactjson"
)

// progressEvery is the interval of progress notifications. A faster call has none: its answer is plain JSON.
const progressEvery = time.Second

// wantsProgress reports whether the client asks for progress and accepts a stream.
func (r *rpcRequest) wantsProgress() bool {
	token := string(r.Params.Meta.ProgressToken)
	return r.acceptsStream && r.Method == methodCall && strings.ContainsAny(token[:min(len(token), 1)], `"-0123456789`)
}

// reporter sends the progress of a call to its client.
type reporter struct {
	*rpcCall
	reported int
}

// report sends the state of a trigger's call. It ignores a client that is gone.
func (r *reporter) report(triggerID string) {
	r.reported++
	params := map[string]any{"progressToken": r.request.Params.Meta.ProgressToken, "progress": r.reported}
	if record, err := r.record(triggerID); err == nil {
		if message := r.progress(record); message != "" {
			params["message"] = message
		}
	}
	if r.stream == nil {
		r.stream = openStream(r.c)
	}
	_ = r.stream.notify("progress", params)
}

// stream is an answer of several messages.
type stream struct {
	response   *echo.Response
	controller *http.ResponseController
}

// writeTimeout bounds the sending of one message.
const writeTimeout = 10 * time.Second

func openStream(c echo.Context) *stream {
	header := c.Response().Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // nginx would buffer events
	c.Response().WriteHeader(http.StatusOK)
	return &stream{c.Response(), http.NewResponseController(c.Response())}
}

func (s *stream) notify(method string, params any) error {
	return s.sendMessage(map[string]any{"jsonrpc": "2.0", "method": "notifications/" + method, "params": params})
}

func (s *stream) sendMessage(message map[string]any) error {
	text, err := exactjson.Encode(message)
	if err != nil {
		return err
	}
	return s.send("event: message\ndata: " + string(text) + "\n\n")
}

func (s *stream) send(text string) error {
	_ = s.controller.SetWriteDeadline(time.Now().Add(writeTimeout)) // recorders in tests support none
	if _, err := s.response.Write([]byte(text)); err != nil {
		return err
	}
	return s.controller.Flush()
}
