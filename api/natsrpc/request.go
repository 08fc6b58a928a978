package natsrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"earshot/api"
	"earshot/api/answer"
	"earshot/api/ratelimit"
	"earshot/repositories/audit"
	"earshot/repositories/panics"
)

// take starts a request in its own goroutine, as the subscription delivers them one by one.
func (s *Service) take(e *endpoint, message *nats.Msg) {
	if message.Reply != "" && !s.options.Replies.allow(message.Reply) {
		why := "replies go to " + strings.Join(s.options.Replies, " and ") + " alone: where clients have another inbox prefix, name it in EARSHOT_NATS_REPLIES (--nats-replies)"
		if isOurs(message.Reply) {
			why = "a reply there would be an event or a command of this service"
		}
		s.options.Logger.Warn("ingress.refused", "subject", message.Subject, "reply", message.Reply, "error", why+"; nothing was done")
		e.count(0, "a reply may not go to the subject that was named for it")
		s.refused.Inc()
		return
	}
	full := func() {
		problem := answer.NewProblem(answer.Overloaded, "too many requests over NATS are in progress on this replica; send it again in a moment, with the same id")
		s.finish(e, message, answer.Refused(problem.With("Retry-After", answer.Soon)), 0)
	}
	select {
	case s.slots <- struct{}{}:
	default:
		full()
		return
	}
	app := strings.Split(message.Subject, ".")[3]
	free, ok := s.memory.Take(ratelimit.Payer{App: app}, int64(len(message.Data)))
	if !ok {
		<-s.slots
		full()
		return
	}
	s.working.Go(func() {
		defer func() {
			free()
			<-s.slots
		}()
		panics.Run(s.options.Logger, "nats", message.Subject, func() {
			began := s.options.Now()
			got := s.ask(e, message)
			s.finish(e, message, got, s.options.Now().Sub(began))
		})
	})
}

// finish counts a request before it sends the reply, so that a client with the reply sees it counted.
func (s *Service) finish(e *endpoint, message *nats.Msg, got *answer.Recorder, took time.Duration) {
	fault := ""
	if got.Status >= http.StatusBadRequest {
		line, _ := describe(got)
		fault = strconv.Itoa(got.Status) + ":" + line
	}
	e.count(took, fault)
	if message.Reply == "" {
		return
	}
	if err := s.reply(message, got); err != nil {
		s.options.Logger.Warn("ingress.unanswered", "subject", message.Subject, "error", err.Error())
	}
}

func (s *Service) ask(e *endpoint, message *nats.Msg) *answer.Recorder {
	method, path := e.target(message.Subject)
	request, err := http.NewRequestWithContext(audit.WithVia(s.baseCtx, audit.ViaNATS), method, "http://"+localhost+path, bytes.NewReader(message.Data))
	if err != nil {
		return answer.Refused(answer.NewProblem(answer.InvalidPath, "the ids in subject "+answer.Quote(message.Subject)+" are not valid"))
	}
	for name, values := range message.Header { // NATS keeps the case of header names
		goes := api.ForwardsHeader(name) || strings.EqualFold(name, keyHeader)
		for _, value := range values {
			if goes {
				request.Header.Add(name, value)
			}
			if strings.EqualFold(name, queryHeader) {
				request.URL.RawQuery = value
			}
		}
	}
	request.RequestURI, request.RemoteAddr = request.URL.RequestURI(), "nats"
	if request.Header.Get(keyHeader) == "" && !s.options.Keyed && !s.options.AdminKey.Empty() {
		request.Header.Set(keyHeader, "Bearer "+s.options.AdminKey.Reveal())
	}
	return answer.Whole(s.options.REST, request)
}

// localhost is the host for a service without keys.
const localhost = "127.0.0.1"

// queryHeader carries the URL's query, such as limit=10&order=desc.
const queryHeader = "Earshot-Query"

// keyHeader carries the client's key or session token.
const keyHeader = "Authorization"

// reply sends the reply to a request. If it is too long for NATS, it is replaced by an error.
func (s *Service) reply(message *nats.Msg, got *answer.Recorder) error {
	made := nats.NewMsg(message.Reply)
	made.Data = got.Body.Bytes()
	for _, name := range append([]string{"Content-Type"}, api.ReplyHeaders...) {
		if value := got.Header().Get(name); value != "" {
			made.Header.Set(name, value)
		}
	}
	if got.Status >= http.StatusBadRequest {
		made.Header.Set(micro.ErrorCodeHeader, strconv.Itoa(got.Status))
		line, code := describe(got)
		made.Header.Set(micro.ErrorHeader, line)
		made.Header.Set(codeHeader, code)
	}
	err := s.conn.PublishMsg(made)
	if errors.Is(err, nats.ErrMaxPayload) && len(made.Data) > maxProblem {
		return s.reply(message, answer.Refused(answer.NewProblem(answer.InternalError, fmt.Sprintf(
			"the answer has %d bytes, and this NATS server takes %d at most with its headers; what was asked is done, and can be read over REST", len(made.Data), s.conn.MaxPayload()))))
	}
	return err
}

// maxProblem is longer than the error that replaces an answer.
const maxProblem = 1000

const maxDescription = 500

// codeHeader carries the code of a problem, as in its body.
const codeHeader = "Earshot-Error-Code"

// describe returns a problem's detail or title in one line, and its code.
func describe(got *answer.Recorder) (line, code string) {
	var problem struct{ Title, Detail, Code string }
	_ = json.Unmarshal(got.Body.Bytes(), &problem)
	for _, text := range []string{problem.Detail, problem.Title} {
		line := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == ' ' }), " ")
		if len(line) > maxDescription {
			line = strings.ToValidUTF8(line[:maxDescription], "") + "…"
		}
		if line != "" {
			return line, problem.Code
		}
	}
	return http.StatusText(got.Status), problem.Code
}

// DefaultReplies is the default inbox prefix of NATS clients.
const DefaultReplies = "_INBOX"

// anywhere allows every subject except the service's own.
const anywhere = ">"

// ownTopics are the first words of subjects on which a reply would be taken for an event, an answer or a
// request.
var ownTopics = []string{"tool", "app", "chat", "answer", "earshot"}

// isOurs reports whether a subject belongs to the service or to NATS.
func isOurs(subject string) bool {
	first, _, _ := strings.Cut(subject, ".")
	return slices.Contains(ownTopics, first) || strings.HasPrefix(first, "$")
}

// Replies are the allowed prefixes of reply subjects. A publisher chooses the reply subject of its request, and
// NATS does not check that it may publish there itself.
type Replies []string

// ParseReplies reads comma-separated prefixes, such as _INBOX,_INBOX_web; > allows every subject except the
// service's own. Empty means DefaultReplies.
func ParseReplies(text string) (Replies, error) {
	if text == "" {
		return Replies{DefaultReplies}, nil
	}
	var list Replies
	var faults []error
	for prefix := range strings.SplitSeq(text, ",") {
		prefix = strings.TrimSuffix(strings.TrimSpace(prefix), ".>")
		switch {
		case prefix == anywhere:
		case prefix == "" || strings.ContainsAny(prefix, " \t*>") || slices.Contains(strings.Split(prefix, "."), ""):
			faults = append(faults, fmt.Errorf("%q is not a prefix of subjects: name whole words without *, as _INBOX_web", prefix))
		case isOurs(prefix):
			faults = append(faults, fmt.Errorf("%q is a subject of the service or of NATS, where a reply would be an event or a command", prefix))
		}
		list = append(list, prefix)
	}
	return list, errors.Join(faults...)
}

func (r Replies) allow(subject string) bool {
	if isOurs(subject) {
		return false
	}
	return slices.ContainsFunc(r, func(prefix string) bool { return prefix == anywhere || strings.HasPrefix(subject, prefix+".") })
}
