package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/server"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// later is the Retry-After, in seconds, of faults that an operator must fix.
const later = "5"

// ProblemOf converts an error to a problem. An unknown error is a 500, and its text goes to the log only.
func ProblemOf(err error) *Problem {
	if own, ok := errors.AsType[*Problem](err); ok {
		return own
	}
	found := typedProblem(err)
	if found == nil {
		found = plainProblem(err)
	}
	if at := (*query.StateError)(nil); errors.As(err, &at) {
		found.State = at.State
	}
	return found.Because(err)
}

func typedProblem(err error) *Problem {
	var (
		faults fault.List
		values *trigger.ValuesError
		llm    *matcher.Unavailable
		size   *http.MaxBytesError
		rate   *ledger.RateError
		limit  *repositories.LimitError
		lacks  *repositories.Unverified
		scopes *store.ScopeError
		often  *store.CompareError
		posted *trigger.PostedError
		inUse  *repositories.InUseError
		user   *repositories.UserError
	)
	switch {
	case errors.As(err, &inUse):
		found := NewProblem(InUse, inUse.Error())
		found.Errors, _ = inUse.Faults.Coded()
		return found
	case errors.As(err, &user):
		return NewProblem(SessionOfAnotherUser, user.Error())
	case errors.As(err, &faults):
		shown, more := faults.Listed()
		noun := " errors"
		if len(shown)+more == 1 {
			noun = " error"
		}
		return faulty(InvalidBody, "the body has "+strconv.Itoa(len(shown)+more)+noun, faults)
	case errors.As(err, &values):
		var wrong fault.List
		for _, one := range values.Faults {
			wrong.Put(one.Fault("values"))
		}
		return faulty(InvalidValues, "the values do not fit tool "+strconv.Quote(values.Name), wrong)
	case errors.As(err, &rate):
		return limited(RateLimited, rate.Limit, err).With("Retry-After", seconds(rate.RetryAfter))
	case errors.As(err, &often):
		return limited(RateLimited, "comparisonsPerMinute", err).With("Retry-After", seconds(often.RetryAfter))
	case errors.As(err, &posted):
		found := NewProblem(DraftDecided, posted.Error())
		found.Matches, found.Triggers = posted.Matches, posted.Triggers
		return found
	case errors.As(err, &limit):
		return limited(LimitReached, limit.Limit, err)
	case errors.As(err, &scopes):
		var beyond fault.List
		for _, i := range scopes.Excess {
			beyond.Add(fault.Point("scopes", i), "is not a scope of the key that makes this request; use a key that has it")
		}
		return faulty(ScopesExceeded, scopes.Error(), beyond)
	case errors.As(err, &lacks):
		return NewProblem(UserUnverified, lacks.Error()).With("WWW-Authenticate", Challenge)
	case errors.As(err, &llm):
		return undecided(llm)
	case errors.As(err, &size):
		return NewProblem(BodyTooLong, "the body is longer than "+strconv.FormatInt(size.Limit, 10)+" bytes, which is the limit")
	}
	return nil
}

// limited is the problem of a reached limit, named as in the settings.
func limited(code Code, limit string, err error) *Problem {
	found := NewProblem(code, err.Error())
	found.Limit = limit
	return found
}

// plain maps errors without details.
var plain = []struct {
	err  error
	code Code
}{
	{query.ErrNotFound, UnknownTrigger},
	{trigger.ErrNotInScope, UnknownTool},
	{query.ErrNoMessage, UnknownMessage},
	{query.ErrUnexplained, NotExplained},
	{trigger.ErrNoDraft, UnknownDraft},
	{repositories.ErrNotFound, NotFound},
	{repositories.ErrFull, LimitReached},
	{trigger.ErrConflict, TriggerIDReused},
	{trigger.ErrReused, MessageIDReused},
	{trigger.ErrSuperseded, DraftReplaced},
	{trigger.ErrClosed, SessionClosed},
	{trigger.ErrDelivered, TriggerEnded},
	{trigger.ErrOwes, TriggerOwes},
	{query.ErrEnded, TriggerEnded},
	{query.ErrNotAsked, NoAnswerAwaited},
	{trigger.ErrDigest, DigestDiffers},
	{store.ErrDeleted, UnknownVersion},
}

// unknown maps the kind of a missing object to its code.
var unknown = map[string]Code{
	"app": UnknownApp, "session": UnknownSession, "repository": UnknownRepository, "tool": UnknownTool, "key": UnknownKey, "module": UnknownModule, "webhook": UnknownWebhook, "version": UnknownVersion, "test": UnknownTest,
}

func plainProblem(err error) *Problem {
	if missing := (*repositories.NotFoundError)(nil); errors.As(err, &missing) {
		return NewProblem(cmp.Or(unknown[missing.Kind], NotFound), err.Error())
	}
	for _, one := range plain {
		if errors.Is(err, one.err) {
			return NewProblem(one.code, err.Error())
		}
	}
	switch {
	case errors.Is(err, query.ErrCursor):
		return BadCursor()
	case errors.Is(err, repositories.ErrErasing):
		return NewProblem(SessionErasing, err.Error()+": send the request again in a moment, and the session begins anew").With("Retry-After", Soon)
	case errors.Is(err, keyspace.ErrMemory):
		return NewProblem(StoreFull, "Redis is full: it is at its maxmemory. Nothing was stored; requests that delete or revoke still work. Send the request again later, with the same id if it has one").With("Retry-After", later)
	case IsUnavailable(err):
		says, refused := "does not answer", (*keyspace.Refusal)(nil)
		if errors.As(err, &refused) {
			says = refused.Public()
		}
		return NewProblem(StoreUnavailable, "the store "+says+"; send the request again, with the same id if it has one").With("Retry-After", Soon)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return NewProblem(Interrupted, "the request ended before its answer was there; send it again").With("Retry-After", Soon)
	}
	return NewProblem(InternalError, "internal error")
}

// IsUnavailable reports whether the store did not answer.
func IsUnavailable(err error) bool { return errors.Is(err, keyspace.ErrUnavailable) }

func faulty(code Code, detail string, faults fault.List) *Problem {
	found := NewProblem(code, detail)
	found.Type, found.Title = typeFaults, "The body is not valid"
	more := 0
	if found.Errors, more = faults.Coded(); more > 0 {
		found.Detail += fmt.Sprintf("; %d are listed, and there are %d more", len(found.Errors), more)
	}
	return found
}

// BadBody is the problem of a body that has one fault as a whole.
func BadBody(code fault.Code, detail string) *Problem {
	return faulty(InvalidBody, detail, fault.List{{Detail: detail, Meant: fault.Meant{Code: code}}})
}

// undecided is the problem of a message that the LLM did not decide.
func undecided(llm *matcher.Unavailable) *Problem {
	code := MessageUndecided
	if llm.RetryAfter > 0 {
		code = ModelBusy
	}
	found := NewProblem(code, llm.Error()+"; the message is kept and nothing fired: send it again under the same messageId")
	found.Type, found.Title = typeUndecided, "The message is not decided"
	if llm.RetryAfter > 0 {
		found.With("Retry-After", seconds(llm.RetryAfter))
	}
	return found
}

// seconds formats a pause for Retry-After.
func seconds(pause time.Duration) string { return strconv.Itoa(int(math.Ceil(pause.Seconds()))) }

// Unread returns the problem of a body that was not read completely. The connection of a late body is closed,
// as its rest would be read as the next request.
func Unread(err error) error {
	var size *http.MaxBytesError
	var own *Problem
	switch {
	case errors.As(err, &size), errors.As(err, &own):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return NewProblem(BodyTimeout, "the body did not arrive within "+server.BodyTime.String()).With("Connection", "close")
	default:
		return BadBody(fault.Malformed, "the body broke off before its end")
	}
}

// ReadBody reads a body to its end. Its error is that of Unread.
func ReadBody(body io.Reader) ([]byte, error) {
	read, err := io.ReadAll(body)
	if err != nil {
		return nil, Unread(err)
	}
	return read, nil
}

// WriteError answers with the problem of err unless an answer has begun.
func WriteError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	found := ProblemOf(routed(err, c))
	if found.Status == http.StatusInternalServerError {
		found.Detail = "internal error; the log says more under request " + server.RequestID(c.Response().Header(), c.Request())
	}
	found.SetHeader(c.Response().Header())
	c.Response().Header().Set("Cache-Control", "no-store")
	if forOpenAI(c.Request().URL.Path) {
		_ = JSON(c, found.Status, found.openAI())
		return
	}
	_ = writeAs(c, problemJSON, found.Status, found) // fails only if the client is gone
}

// routed describes the router's own errors: an unknown path, or a wrong method, for which Allow is set already
// (RFC 9110, section 15.5.6).
func routed(err error, c echo.Context) error {
	var routing *echo.HTTPError
	if !errors.As(err, &routing) {
		return err
	}
	switch routing.Code {
	case http.StatusNotFound:
		return NewProblem(UnknownPath, "there is no path "+quotePath(c.Request().URL.Path)+nearestPath(c)+"; /docs lists all paths")
	case http.StatusMethodNotAllowed:
		return NewProblem(MethodNotAllowed, Quote(c.Request().Method)+" is not allowed here; allowed: "+c.Response().Header().Get(echo.HeaderAllow))
	default:
		return fmt.Errorf("the router failed: %w", err) // it has no other errors
	}
}

// quotePath quotes a path to its end, as far as ids of the usual length go: it may be only the end that is wrong.
func quotePath(path string) string { return quoteStart(path, 256) }

// nearestPath suggests the route that differs least from the requested path, word by word, with or without /v1.
func nearestPath(c echo.Context) string {
	const most = 32 // words of a path, each of which is compared
	asked := strings.Split(strings.TrimPrefix(c.Request().URL.Path, "/"), "/")
	if len(asked) > most {
		return ""
	}
	found, least := "", fault.Unlike
	for _, route := range c.Echo().Routes() {
		words := strings.Split(strings.TrimPrefix(route.Path, "/"), "/")
		given, differing := asked, 0
		if len(words) == len(asked)+1 && words[0] == "v1" {
			given, differing = slices.Insert(slices.Clone(asked), 0, "v1"), 1
		}
		if len(words) != len(given) {
			continue
		}
		for i, word := range words {
			if strings.HasPrefix(word, ":") && given[i] != "" {
				words[i] = given[i]
			} else {
				differing += fault.Distance(given[i], word)
			}
		}
		if path := strings.Join(words, "/"); differing < least || differing == least && path < found {
			found, least = path, differing
		}
	}
	if found == "" {
		return ""
	}
	return "; did you mean " + quotePath("/"+found) + "?"
}

// OpenAIError returns an error in OpenAI's format, for JSON encoding.
func OpenAIError(err error) any { return ProblemOf(err).openAI() }
