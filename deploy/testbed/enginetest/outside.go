package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"earshot/matcher"
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
	"earshot/trigger/effect"
)

// Words is a matcher that takes texts literally: `book {"day":"monday"}; other {}` calls the tools book and other.
type Words struct {
	mu       sync.Mutex
	before   func(context.Context, matcher.Request) error
	with     func(*matcher.Match)
	Asked    []matcher.Request
	Replies  []([]matcher.PastCall)
	Searcher matcher.Searcher // compares texts with tools; nil: Search cannot be called
}

// Intercept has each match begin with a function, whose error is the outcome; nil for none.
func (m *Words) Intercept(before func(context.Context, matcher.Request) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = before
}

// Decorate changes every match, as a real matcher would.
func (m *Words) Decorate(with func(*matcher.Match)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.with = with
}

// Requests is how many messages were matched.
func (m *Words) Requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.Asked)
}

// Match implements matcher.Matcher.
func (m *Words) Match(ctx context.Context, request matcher.Request) (matcher.Result, error) {
	m.mu.Lock()
	m.Asked = append(m.Asked, request)
	before, with := m.before, m.with
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx, request); err != nil {
			return matcher.Result{}, err
		}
	}
	result := matcher.Result{Stage: matcher.StageLLM, Text: "I heard: " + request.Text}
	for part := range strings.SplitSeq(request.Text, ";") {
		name, arguments, _ := strings.Cut(strings.TrimSpace(part), " ")
		if c, found := request.Named(name); found {
			result = call(request, result, c, arguments)
		}
	}
	for i := range result.Matches {
		if with != nil {
			with(&result.Matches[i])
		}
	}
	return result, nil
}

func call(request matcher.Request, result matcher.Result, c matcher.Candidate, arguments string) matcher.Result {
	given := map[string]any{}
	for _, begun := range request.Unfinished {
		if begun.Tool == c.Tool {
			maps.Copy(given, begun.Values)
		}
	}
	if arguments != "" {
		decoded, err := parameters.DecodeValues([]byte(arguments))
		if err != nil {
			return result
		}
		maps.Copy(given, decoded)
	}
	reading := c.Tool.Params().Read(given)
	if len(reading.Errors) > 0 {
		result.Rejected = append(result.Rejected, matcher.Rejected{Candidate: c, Values: reading.Values, Missing: reading.Missing, Errors: reading.Errors})
	} else {
		result.Matches = append(result.Matches, matcher.Match{Candidate: c, Values: reading.Values})
	}
	return result
}

// Search implements matcher.Searcher by Searcher.
func (m *Words) Search(ctx context.Context, request matcher.Request, text string, most int) []matcher.Score {
	return m.Searcher.Search(ctx, request, text, most)
}

// Reply implements matcher.Matcher.
func (m *Words) Reply(_ context.Context, _ matcher.Request, fired []matcher.PastCall) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Replies = append(m.Replies, fired)
	return fmt.Sprintf("done: %s", fired[0].Name), nil
}

// Outside is NATS or an endpoint: it takes effects, or is down.
type Outside struct {
	mu       sync.Mutex
	outcome  func(effect.Effect) effect.Outcome // nil: Done
	once     func(context.Context)
	Attempts []effect.Effect
	Taken    []effect.Effect
}

// Nobody is the outcome of waiting for an answer that was not published.
func Nobody(effect.Effect) effect.Outcome { return effect.Unanswered() }

// Down is the outcome of everything while the other side is away.
func Down(effect.Effect) effect.Outcome {
	return effect.Outcome{Verdict: effect.Retry, Reason: effect.ReasonRequest, Error: "connection refused"}
}

// Refuse is the outcome of what can never succeed.
func Refuse(effect.Effect) effect.Outcome {
	return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "404 Not Found"}
}

// Answer has all attempts come out so; nil for Done.
func (o *Outside) Answer(outcome func(effect.Effect) effect.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outcome = outcome
}

// Hang lets the next attempt do something, and fail.
func (o *Outside) Hang(once func(context.Context)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.once = once
}

// Deliver implements effect.Deliverer.
func (o *Outside) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	o.mu.Lock()
	o.Attempts = append(o.Attempts, delivery)
	answer, once := o.outcome, o.once
	o.once = nil
	o.mu.Unlock()
	if once != nil {
		once(ctx)
		return Down(delivery)
	}
	outcome := effect.Outcome{Verdict: effect.Done}
	if delivery.Kind == effect.KindCall {
		outcome.Status, outcome.Result = 200, json.RawMessage(`{"ok":true}`)
	}
	if answer != nil {
		outcome = answer(delivery)
	}
	if outcome.Verdict == effect.Done {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.Taken = append(o.Taken, delivery)
	}
	return outcome
}

// Subjects lists the subjects of the events that were taken, in their order, but for tool.changed.
func (o *Outside) Subjects() []string {
	list := []string{}
	for _, taken := range o.Events() {
		if !strings.HasPrefix(taken.Event.Subject, "tool.changed.") {
			list = append(list, taken.Event.Subject)
		}
	}
	return list
}

// Payloads lists the payloads of the events on a subject.
func (o *Outside) Payloads(subject string) []map[string]any {
	var list []map[string]any
	for _, taken := range o.Events() {
		if taken.Event != nil && taken.Event.Subject == subject {
			payload := map[string]any{}
			_ = json.Unmarshal(taken.Event.Data, &payload)
			list = append(list, payload)
		}
	}
	return list
}

// Events lists the events that were taken, in their order.
func (o *Outside) Events() []effect.Effect {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.Taken)
}

// Changes lists the operations of the tool.changed events of a repository of the clinic.
func (o *Outside) Changes(repositoryID string) []string {
	changes := o.Payloads("tool.changed.clinic." + repositoryID)
	return lists.Map(changes, func(payload map[string]any) string { return payload["operation"].(string) })
}

// Count is how many attempts were made, and how many effects were taken.
func (o *Outside) Count() (attempts, taken int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.Attempts), len(o.Taken)
}

// Hook sees the commands and pipelines of a replica on their way to Redis. One without a function lets them pass.
type Hook struct {
	Command  func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error
	Pipeline func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error
}

// DialHook implements redis.Hook.
func (h Hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	if h.Command == nil {
		return next
	}
	return func(ctx context.Context, cmd redis.Cmder) error { return h.Command(ctx, cmd, next) }
}

// ProcessPipelineHook implements redis.Hook.
func (h Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	if h.Pipeline == nil {
		return next
	}
	return func(ctx context.Context, cmds []redis.Cmder) error { return h.Pipeline(ctx, cmds, next) }
}

// RunsScript reports whether a command runs a script whose text or arguments hold a word.
func RunsScript(cmd redis.Cmder, word string) bool {
	return strings.HasPrefix(cmd.Name(), "eval") && strings.Contains(Sent(cmd), word)
}

// Sent is what a command sends, and its reply, if there is one already. Keys and arguments of scripts are pointers, of
// which go-redis shows the addresses.
func Sent(cmd redis.Cmder) string {
	parts := []string{cmd.String()}
	for _, arg := range cmd.Args() {
		if text, ok := arg.(*string); ok {
			parts = append(parts, *text)
		}
	}
	return strings.Join(parts, " ")
}

// Ice holds up all that a replica asks of Redis while it is frozen, as if the process were.
type Ice struct {
	mu     sync.Mutex
	thawed chan struct{} // nil while it is not frozen
}

// Freeze begins to hold everything up.
func (i *Ice) Freeze() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.thawed = make(chan struct{})
}

// Thaw lets everything go.
func (i *Ice) Thaw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.thawed)
	i.thawed = nil
}

// Wait returns when it is not frozen.
func (i *Ice) Wait() {
	i.mu.Lock()
	thawed := i.thawed
	i.mu.Unlock()
	if thawed != nil {
		<-thawed
	}
}

// Hook holds a replica up.
func (i *Ice) Hook() Hook {
	return Hook{
		func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
			i.Wait()
			return next(ctx, cmd)
		},
		func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
			i.Wait()
			return next(ctx, cmds)
		},
	}
}
