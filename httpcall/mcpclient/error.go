package mcpclient

import (
	"errors"
	"io"
	"net/http"
)

// Error says why a server's tools were not listed, or one was not called.
type Error struct {
	// Status and Header are those of the answer; 0 where there was none.
	Status int
	Header http.Header
	// Code and Message are of the JSON-RPC error that was answered; 0 where there was none.
	// The message is the server's.
	Code    int64
	Message string
	// Cause is the error of the connection, that of Server.Send, or that of an answer that
	// broke off; nil where the answer was read.
	Cause error
	// TooLong says that the answer is longer than it may be.
	TooLong bool
	// Called says that the call itself was sent, as far as it got: what went before, with
	// which a session begins, calls nothing.
	Called bool
}

// Error is a text for the log alone.
func (e *Error) Error() string {
	switch {
	case e.TooLong:
		return errTooLong.Error()
	case e.Cause != nil:
		return e.Cause.Error()
	case e.Message != "":
		return e.Message
	}
	return "what was answered is nothing that a server of MCP answers"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// failure is the Error of an exchange that came to nothing.
func (e *exchange) failure(called bool) *Error {
	e.seal()
	made := &Error{Status: e.status, Header: e.got, Cause: e.err, Called: called}
	answer := e.response()
	made.Code, made.Message = answer.Error.Code, answer.Error.Message
	switch {
	case errors.Is(e.err, errTooLong):
		made.TooLong, made.Cause = true, nil
	case e.err == nil && made.Code == 0 && e.streams() && answer.Result == nil:
		made.Cause = io.ErrUnexpectedEOF // the stream ended without the answer
	}
	return made
}
