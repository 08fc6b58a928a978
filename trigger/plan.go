package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/repositories/tracing"
	"earshot/trigger/conversation"
	"earshot/trigger/delivery"
	"earshot/trigger/effect"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/state"
)

// plan is a decision ready to be committed: the firings, and all their effects.
type plan struct {
	delivery.Decision
	doc         ledger.Commitment // the planner fills the fields that the Decision lacks
	firings     []firing          // of the answer's matches, in their order
	unfinished  []conversation.IncompleteCall
	callerFires bool // its outcome is known when its chat ends
	packed      explain.Packed
	chat        *chatEvents // builds the event of its reply; nil if the app wants none
}

// firing is one trigger of a plan: new, or held before.
type firing struct {
	id         string                   // prefix of its effects' ids
	repository *repositories.Repository // nil for a held trigger
	record     string                   // as it is stored
	size       int                      // of the record's JSON in bytes
	open       int                      // number of its effects
	move       *ledger.Move             // nil if it is new and due
	span       trace.Span               // of its execution; nil for a held trigger
}

func (f firing) due() bool { return f.move == nil || state.State(f.move.State) == state.Due }

// planner builds a plan. Without a store the plan is not for commit and has no effects.
type planner struct {
	plan
	store       *store.Store
	tracer      *tracing.Tracer
	app         *repositories.App
	now         time.Time
	text        string
	messageID   string // of the message that calls for it, which may have another turn
	metadata    repositories.Metadata
	language    string // of the user (BCP 47); empty if unknown
	traceParent string // of the message or the request, and of a firing while it is planned
	stage       string // of the match
	generation  store.Generation
	conflicts   knownConflicts
	result      matcher.Result
	fires       []matcher.Match
	fences      map[string]string      // triggers of this plan by their fences
	newID       func() string          // of triggers, in a rehearsal; nil: firingID
	readOnly    bool                   // its call may precede the commit
	admitted    bool                   // its call was made: what it depends on was checked before
	encodeCall  func() (string, error) // the latest call as it is stored
	decision    string                 // the answer as it is stored
}

// knownConflicts is what a turn knows before its commit: the triggers that hold fences, the states of their
// calls, and the confirmed digests. The ledger refuses a plan with other conflicts, and names them.
type knownConflicts struct {
	firsts    map[string]string
	calls     map[string]*query.CallState
	confirmed map[string]bool
}

func newPlanner(id ledger.Turn, token string, app *scope.State, now time.Time, text, traceParent string) *planner {
	return &planner{
		plan: plan{Decision: delivery.Decision{
			Turn: id, Token: token, Box: keyspace.Box(id.Session, ""),
			Answer: query.Answer{MessageID: id.Message, Matches: []query.Match{}, Rejected: []query.Rejected{}},
		}, doc: ledger.Commitment{Matched: app.Version}},
		app: app.App, now: now.UTC(), text: text, messageID: id.Message, traceParent: traceParent,
	}
}

// planner returns a planner of a plan to be committed.
func (d *decider) planner(id ledger.Turn, token string, app *scope.State, text, traceParent string) *planner {
	p := newPlanner(id, token, app, d.Now(), text, traceParent)
	p.store, p.tracer = d.Store, d.Tracer
	return p
}

func (p *planner) header(id string) payload.Header {
	return payload.Header{ID: id, Time: p.now, MessageID: p.messageID, Text: p.text, AppID: p.App, SessionID: p.Session, Metadata: p.metadata}
}

// firingsOf counts the new firings of a tool so far.
func (p *planner) firingsOf(repository, tool string) (count int) {
	for i, f := range p.firings {
		if f.repository != nil && f.repository.ID == repository && p.Answer.Matches[i].Name == tool {
			count++
		}
	}
	return count
}

// fire adds a firing with its effects. triggerID is the client's, or empty.
func (p *planner) fire(matched matcher.Match, source, triggerID string) (err error) {
	tool, repository := matched.Tool, matched.Repository
	f := firing{id: firingID(p.Turn, p.generation, repository, tool.Name, p.firingsOf(repository.ID, tool.Name)), repository: repository}
	switch {
	case triggerID != "" && !repository.Options.TriggerOnce:
		// A client's id is unique only within its app, but effect ids must be unique in the stream of all apps.
		f.id = ledger.Hash("direct", repository.AppID, triggerID, repository.Generation)
	case triggerID == "" && p.newID != nil:
		triggerID = p.newID()
	case triggerID == "":
		triggerID = f.id
	}
	if p.Session == "" {
		p.Box = keyspace.Box("", triggerID)
	}
	body := payload.Trigger{
		Header: p.header(triggerID), RepositoryID: repository.ID, Source: source,
		Name: tool.Name, Schema: tool.Given(), Values: matched.Values, Answer: payload.AnswerTo(tool, p.App, triggerID),
	}
	if body.Values == nil {
		body.Values = map[string]any{}
	}
	p.Answer.Matches = append(p.Answer.Matches, query.Match{
		TriggerID: triggerID, RepositoryID: repository.ID, Name: tool.Name, Source: source, Values: body.Values,
		ReturnDirect: tool.ReturnDirect, SkipResponse: tool.SkipResponse,
	})
	parent := p.traceParent
	f.span, p.traceParent = firingSpan(p.tracer, parent, body)
	defer func() { p.traceParent = parent }()
	firstEffect, move := len(p.Effects), p.newMove(matched.Candidate, triggerID, body.Values)
	if err := p.addEffects(f.id, tool, body, move.Fence); err != nil {
		return err
	}
	f.open = len(p.Effects) - firstEffect
	if move != (ledger.Move{New: true, Wait: -1}) {
		f.move = &move
	}
	if !f.due() {
		if err := p.deferEffects(f, matched.Candidate, body, firstEffect); err != nil {
			return err
		}
	}
	if f.record, f.size, err = p.record(matched, body.Schema); err != nil {
		return err
	}
	p.firings = append(p.firings, f)
	if state.State(move.State) == state.Duplicate || !repository.Options.TriggerOnce || p.store == nil {
		return nil
	}
	entry, err := p.store.ChangeEntry(repository, "deleted", p.traceParent) // the event of the repository's removal
	if err != nil {
		return err
	}
	event := &effect.Event{}
	p.addEffect(entry, effect.Effect{Event: event})
	return exactjson.Unmarshal([]byte(entry.Body), event)
}

// record encodes the record of the latest match; none if the plan is not for commit.
func (p *planner) record(matched matcher.Match, schema json.RawMessage) (stored string, size int, err error) {
	if p.store == nil {
		return "", 0, nil
	}
	match := p.Answer.Matches[len(p.Answer.Matches)-1]
	record := query.Record{
		Match: match, State: match.State, AppID: p.App, SessionID: p.Session, MessageID: p.messageID,
		Text: p.text, Time: p.now, Schema: schema, Metadata: p.metadata,
		Repaired: matched.Repaired, Coerced: matched.Coerced, Evidence: matched.Evidence,
	}
	return record.Encode()
}

// confirmWithin is how long a trigger waits for confirmation.
const confirmWithin = 3 * time.Minute

// newMove returns how a new firing begins: as a duplicate, held, or due.
func (p *planner) newMove(c matcher.Candidate, triggerID string, values map[string]any) ledger.Move {
	tool, m := c.Tool, ledger.Move{New: true, Wait: -1}
	if dedupe := tool.Dedupe; dedupe != nil {
		session := p.Session
		if dedupe.Scope == repositories.DedupeApp {
			session = ""
		}
		fence := ledger.Hash("fence", dedupe.Scope, session, c.Repository.ID, tool.Name, conversation.Digest(values, dedupe.By...))
		first, inPlan := p.fences[fence]
		if !inPlan {
			m.Fence, m.Own, m.Within, first = fence, session != "", time.Duration(dedupe.Within).Milliseconds(), p.conflicts.firsts[fence]
		}
		if m.First = first; first != "" {
			m.State = string(state.Duplicate)
			if p.store != nil {
				m.Keep = p.store.Retention().Done.Milliseconds()
			}
			return m
		}
		if p.fences == nil {
			p.fences = map[string]string{}
		}
		p.fences[fence] = triggerID
	}
	digest := ""
	if tool.Confirm == repositories.ConfirmOnce {
		digest = confirmDigest(p.Turn, c, values)
	}
	switch {
	case tool.Confirm == repositories.ConfirmAlways, digest != "" && !p.conflicts.confirmed[digest], matcher.AsksFirst(p.app, p.stage, tool) != "":
		m.State, m.Wait = string(state.Confirming), confirmWithin.Milliseconds()
		if p.Session != "" {
			m.Unless = digest
		}
	case tool.Settle > 0:
		m.State, m.Wait = string(state.Settling), time.Duration(tool.Settle).Milliseconds()
	}
	m.OnNext = tool.CancelOnNext && p.Session != "" && m.State == string(state.Settling)
	return m
}

// confirmDigest identifies what a user confirms: the tool with its description, its repository, and its values.
func confirmDigest(id ledger.Turn, c matcher.Candidate, values map[string]any) string {
	return ledger.Hash("confirm", id.App, id.Session, c.Repository.SessionID, c.Repository.ID, c.Tool.Name, c.Tool.Description, conversation.Digest(values))
}

// addEffects adds the event, the emitter's event and the call of a firing.
func (p *planner) addEffects(id string, tool *repositories.Tool, body payload.Trigger, fence string) error {
	match := &p.Answer.Matches[len(p.Answer.Matches)-1]
	match.Event = &query.EventState{State: query.StatePending}
	if tool.Emitter != "" {
		match.Emitter = &query.EventState{Subject: "app." + p.App + "." + tool.Emitter, State: query.StatePending}
	}
	if tool.Calls() {
		match.Call = &query.CallState{State: query.StatePending}
	}
	if p.store == nil {
		match.Event.Subject = payload.Subject(payload.KindTrigger, body.Header, tool.Name)
		return nil
	}
	event, cut, err := payload.EventOf(payload.KindTrigger, tool.Name, body)
	if err != nil {
		return err
	}
	match.Event.Subject = event.Subject
	isReference := body.Answer == nil
	if err := p.addEvent(keyspace.EffectID(id, effect.PartEvent), effect.PartEvent, event, isReference); err != nil {
		return err
	}
	if match.Emitter != nil {
		event.Subject = match.Emitter.Subject
		if err := p.addEvent(keyspace.EffectID(id, effect.PartEmitter), effect.PartEmitter, event, isReference); err != nil {
			return err
		}
	}
	if match.Call == nil {
		return nil
	}
	data := event.Data
	if cut { // a call may be longer than an event
		if data, err = exactjson.Encode(body); err != nil {
			return err
		}
	}
	return p.addCall(keyspace.EffectID(id, effect.PartCall), tool, body, data, fence)
}

// addEvent adds an event. An event without a part belongs to no trigger. With isReference, the event refers to the record
// of its trigger instead of repeating it.
func (p *planner) addEvent(id, part string, event effect.Event, isReference bool) error {
	event.TraceParent = p.traceParent
	body := delivery.Reference(p.traceParent)
	if !isReference {
		var err error
		if body, err = exactjson.Text(&event); err != nil {
			return err
		}
	}
	entry := keyspace.EventEntry(id, p.Session, "", body)
	entry.Part, entry.Box = part, p.Box
	p.addEffect(entry, effect.Effect{Event: &event})
	return nil
}

// leaseMargin is how much longer a call's lease lasts than its attempt.
const leaseMargin = 5 * time.Second

// addCall adds a call. It is stored with all its data, since the tool may be removed before the call is made: at once, or
// by storeCall if it may be made before the commit.
func (p *planner) addCall(id string, tool *repositories.Tool, body payload.Trigger, event json.RawMessage, fence string) (err error) {
	stored, trace := "", p.traceParent
	p.encodeCall = func() (string, error) {
		sealed, err := p.store.SealTool(p.App, tool)
		if err != nil {
			return "", err
		}
		return exactjson.Text(delivery.StoredCall{Tool: sealed, Event: event, TraceParent: trace, Fence: fence, Unquoted: tool.Type != ""})
	}
	if !p.readOnly {
		if stored, err = p.encodeCall(); err != nil {
			return err
		}
	}
	entry := keyspace.Entry{ID: id, Kind: string(effect.KindCall), Body: stored, Session: p.Session, Part: effect.PartCall}
	entry.Once = !tool.Request.Repeatable()
	entry.Lease = (p.app.AttemptTimeout(tool) + leaseMargin).Milliseconds()
	if tool.Answer != nil {
		entry.Kind, entry.Wait, entry.Once = string(effect.KindAnswer), time.Duration(tool.Answer.Within).Milliseconds(), false
	}
	call := effect.CallOf(tool, body.Values, event)
	call.App, call.Fence = p.app, fence
	p.addEffect(entry, effect.Effect{Call: call})
	return nil
}

// storeCall completes the call of a plan that is committed although its call was to precede the commit.
func (p *planner) storeCall() (err error) {
	for i := range p.Effects {
		if e := &p.Effects[i]; e.Kind == effect.KindCall && e.Entry.Body == "" {
			e.Entry.Body, err = p.encodeCall()
		}
	}
	return err
}

func (p *planner) addEffect(entry keyspace.Entry, e effect.Effect) {
	match := -1
	if entry.Part != "" {
		match = len(p.Answer.Matches) - 1
		entry.Trigger = p.Answer.Matches[match].TriggerID
	}
	e.ID, e.Kind, e.AppID, e.SessionID = entry.ID, effect.Kind(entry.Kind), p.App, entry.Session
	e.TriggerID, e.Attempt, e.TraceParent = entry.Trigger, 1, p.traceParent
	p.Effects = append(p.Effects, delivery.Planned{Effect: e, Entry: entry, Match: match})
}

// deferredEffects is what a held trigger stores until it is due.
type deferredEffects struct {
	Effects []keyspace.Entry `json:"effects"`
	Settle  int64            `json:"settle,omitempty"` // ms, after a confirmation
	OnNext  bool             `json:"onNext,omitempty"` // the user's next message takes it back
	Digest  string           `json:"digest,omitempty"`
	Once    bool             `json:"once,omitempty"` // confirmed once, the digest needs no further confirmation
	Fence   string           `json:"fence,omitempty"`
}

// deferEffects moves the effects of the latest match out of the plan, and adds the event that announces the delay.
func (p *planner) deferEffects(f firing, c matcher.Candidate, body payload.Trigger, firstEffect int) error {
	match, tool := &p.Answer.Matches[len(p.Answer.Matches)-1], c.Tool
	body.Answer = nil // no answer is expected yet
	stored := deferredEffects{Settle: time.Duration(tool.Settle).Milliseconds(), OnNext: tool.CancelOnNext && p.Session != "", Fence: f.move.Fence}
	for _, e := range p.Effects[firstEffect:] {
		stored.Effects = append(stored.Effects, e.Entry)
	}
	p.Effects = p.Effects[:firstEffect]
	until := p.now.Add(time.Duration(f.move.Wait) * time.Millisecond)
	match.State = query.MatchState(state.State(f.move.State))
	match.SetStates(match.State)
	event := payload.Held{Trigger: body, TriggerID: match.TriggerID}
	switch state.State(f.move.State) {
	case state.Duplicate:
		match.Of, match.Call = f.move.First, p.conflicts.calls[f.move.First]
		event.Of = match.Of
		return p.notify(f.id, payload.KindDuplicate, event)
	case state.Settling:
		match.DueAt = &until
	case state.Confirming:
		stored.Digest, stored.Once = confirmDigest(p.Turn, c, body.Values), tool.Confirm == repositories.ConfirmOnce
		match.Digest, match.Question, match.ExpiresAt = stored.Digest, conversation.Question(tool, body.Values, p.language, p.text), &until
		p.doc.Questions = append(p.doc.Questions, ledger.Question{Trigger: match.TriggerID, Words: conversation.QuestionWords(match.Question)})
		event.Digest, event.Question, event.ExpiresAt = match.Digest, match.Question, &until
		if err := p.notify(f.id, payload.KindConfirm, event); err != nil {
			return err
		}
	}
	var err error
	f.move.Held, err = exactjson.Text(stored)
	return err
}

// notify adds an event about a trigger without effects, or without effects yet. The event is not one of the
// trigger's effects, whose names begin with id.
func (p *planner) notify(id, kind string, body payload.Held) error {
	_, part, _ := strings.Cut(kind, ".")
	body.ID, body.Time = keyspace.EffectID(body.TriggerID, part), p.now
	return p.announce(keyspace.EffectID(id, part), kind, body.Name, body)
}

// announce adds an event that is no effect of a trigger, if the plan is for commit.
func (p *planner) announce(id, kind, name string, body payload.Payload) error {
	if p.store == nil {
		return nil
	}
	event, _, err := payload.EventOf(kind, name, body)
	if err != nil {
		return err
	}
	return p.addEvent(id, "", event, false)
}

// addRejected adds a match that failed validation.
func (p *planner) addRejected(n int, rejected matcher.Rejected) error {
	rejection := query.Rejected{
		RepositoryID: rejected.Repository.ID, Name: rejected.Tool.Name,
		Values: rejected.Values, Missing: rejected.Missing, Errors: rejected.Errors,
		Ask: rejected.Ask(conversation.Faulty(rejected.Missing, rejected.Errors)...),
	}
	if rejection.Values == nil {
		rejection.Values = map[string]any{}
	}
	if rejection.Missing == nil {
		rejection.Missing = []string{}
	}
	p.Answer.Rejected = append(p.Answer.Rejected, rejection)
	id := firingID(p.Turn, p.generation, &repositories.Repository{ID: rejection.RepositoryID}, "rejected "+rejection.Name, n)
	return p.announce(id, payload.KindRejected, rejection.Name, payload.Rejected{
		Header: p.header(id), RepositoryID: rejection.RepositoryID, Name: rejection.Name, Values: rejection.Values, Missing: rejection.Missing, Errors: rejection.Errors,
		Ask: rejection.Ask,
	})
}

// addNotMatching adds the event that tools were in scope and none matched. It names only the nearest of many tools, since
// most messages match nothing and must not cost more with more tools.
func (p *planner) addNotMatching(inScope, ranked []matcher.Candidate) error {
	header := p.header(ledger.Hash("notmatching", turnHash(p.Turn, p.generation)))
	nearest := nearestOf(inScope, ranked)
	body := payload.NotMatching{Header: header, Tools: make([]string, len(nearest)), ToolsTotal: len(inScope)}
	for i, c := range nearest {
		body.Tools[i] = c.Tool.Name
		if !slices.Contains(body.Repositories, c.Repository.ID) {
			body.Repositories = append(body.Repositories, c.Repository.ID)
		}
	}
	return p.announce(header.ID, payload.KindNotMatching, "", body)
}

// nearestOf returns all candidates in scope, or, for more than matcher.MostNearest, the best of a ranking.
func nearestOf(inScope, ranked []matcher.Candidate) []matcher.Candidate {
	if len(inScope) <= matcher.MostNearest {
		return inScope
	}
	nearest := make([]matcher.Candidate, 0, matcher.MostNearest)
	for _, c := range ranked {
		if current, found := (matcher.Request{Candidates: inScope}).Named(c.Tool.Name); found { // the scope may have changed since
			nearest = append(nearest, current)
		}
	}
	for i := 0; len(nearest) < matcher.MostNearest; i++ { // unranked ones are equally near
		if !slices.Contains(nearest, inScope[i]) {
			nearest = append(nearest, inScope[i])
		}
	}
	return nearest
}

// move plans the effect of an action on a held trigger. The action must be possible.
func (p *planner) move(h *heldTrigger, action state.Action, by string) error {
	next, _ := state.Next(h.state, action, h.Settle > 0)
	m := &ledger.Move{
		From: string(h.state), State: string(next), Wait: -1, ByClock: action == state.Release || action == state.Expire,
		OnNext: h.OnNext, Fence: h.Fence, Message: h.Record.MessageID,
	}
	if p.store != nil {
		m.Keep = p.store.Retention().Done.Milliseconds()
	}
	result := query.CallResult{TriggerID: h.Record.TriggerID, Error: conversation.Cancelled}
	if action == state.Confirm {
		result = query.CallResult{TriggerID: h.Record.TriggerID, Result: conversation.Confirmed}
		if h.Once {
			m.Confirmed = h.Digest
		}
	}
	if action != state.Release {
		m.Result = string(exactjson.EncodeOrNull(result))
	}
	m.Line = string(exactjson.EncodeOrNull(query.Move{Time: p.now, Action: action, By: by}))
	match := h.Record.Match
	match.State, match.DueAt, match.ExpiresAt, match.Digest, match.Question = query.MatchState(next), nil, nil, "", ""
	match.SetStates(query.StatePending)
	p.firings = append(p.firings, firing{id: h.Firing, open: len(h.Effects), move: m})
	switch next {
	case state.Settling:
		m.Wait = h.Settle
		match.DueAt = new(p.now.Add(time.Duration(h.Settle) * time.Millisecond))
	case state.Cancelled:
		match.SetStates(query.StateCancelled)
	}
	p.Answer.Matches = append(p.Answer.Matches, match)
	switch {
	case p.store == nil || next == state.Settling:
		return nil
	case next == state.Due:
		for _, entry := range h.Effects {
			e, err := delivery.HeldEffect(p.store, &h.Record, entry, len(p.Answer.Matches)-1)
			if err != nil {
				return err
			}
			p.Effects = append(p.Effects, e)
		}
		return nil
	}
	if p.traceParent == "" { // no message cancels it
		var err error
		if p.traceParent, err = h.trace(p.store); err != nil {
			return err
		}
	}
	record := h.Record
	return p.notify(h.Firing, payload.KindCancelled, payload.Held{
		Trigger: payload.Trigger{
			Header:       payload.Header{MessageID: record.MessageID, Text: record.Text, AppID: p.App, SessionID: p.Session, Metadata: record.Metadata},
			RepositoryID: record.RepositoryID, Source: record.Source, Name: record.Name, Schema: record.Schema, Values: record.Values,
		},
		TriggerID: record.TriggerID, Reason: string(action),
	})
}

// Ids are deterministic: a decision repeated after a failure gives its effects the same ids, so that JetStream
// and an idempotent receiver ignore the repetition. Ids do not depend on values, since a model may find other values the
// second time.

// firingID returns the id of a turn's n-th firing of a tool. A triggerOnce repository has one id per
// generation: two racing turns get the same id.
func firingID(id ledger.Turn, generation store.Generation, repository *repositories.Repository, tool string, n int) string {
	if repository.Options.TriggerOnce {
		return ledger.Hash("once", repository.AppID, repository.SessionID, repository.ID, repository.Generation)
	}
	return ledger.Hash("fire", turnHash(id, generation), repository.ID, repository.Generation, tool, strconv.Itoa(n))
}

// turnHash identifies the turn in ids, also for a resend after a Redis failover. The generations distinguish it
// from a message of the same name in an earlier session or app of the same name.
func turnHash(t ledger.Turn, generation store.Generation) string {
	return ledger.Hash("turn", t.App, generation.App, t.Session, generation.Session, t.Message)
}

// leases lists the leases that the decision takes.
func (p *plan) leases() ledger.HeldLeases {
	leases := ledger.HeldLeases{Turn: p.Turn, Token: p.Token, Box: p.Box}
	if p.Message == "" {
		leases.Trigger = p.Answer.Matches[0].TriggerID
	}
	for _, e := range p.Effects {
		if e.Kind == effect.KindCall {
			leases.Calls = append(leases.Calls, e.ID)
		}
	}
	return leases
}

// addConflict adds the conflict for which the ledger refused a plan.
func (d *decider) addConflict(ctx context.Context, conflicts *knownConflicts, p *plan) error {
	if conflicts.firsts == nil {
		*conflicts = knownConflicts{map[string]string{}, map[string]*query.CallState{}, map[string]bool{}}
	}
	first := p.Committed.First
	for i, f := range p.firings {
		switch {
		case p.Answer.Matches[i].TriggerID != p.Committed.Firing:
		case p.Committed.Confirmed:
			conflicts.confirmed[f.move.Unless] = true
		default:
			conflicts.firsts[f.move.Fence] = first
		}
	}
	if first == "" {
		return nil
	}
	stored, err := d.records.StoredTrigger(ctx, p.App, first)
	if stored != nil {
		conflicts.calls[first] = stored.Record.Call
	}
	if errors.Is(err, query.ErrNotFound) {
		return nil
	}
	return err
}
