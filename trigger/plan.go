package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
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
	doc        ledger.Commitment // the planner fills the fields that the Decision lacks
	firings    []firing          // of the answer's matches, in their order
	unfinished []conversation.IncompleteCall
	acted      bool // its outcome is known when its chat ends
	explained  explain.Packed
	chat       *chatEvents // builds the event of its reply; nil if the app wants none
	differs    ledger.Decision
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
	known       knownConflicts
	result      matcher.Result
	fires       []matcher.Match
	fired       map[string]int         // firings so far, by repository and tool
	fences      map[string]string      // triggers of this plan by their fences
	newID       func() string          // of triggers, in a rehearsal; nil: firingID
	reading     bool                   // its call may precede the commit
	storedCall  func() (string, error) // the latest call as it is stored
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
		app: app.App, now: now.UTC(), text: text, messageID: id.Message, traceParent: traceParent, fired: map[string]int{},
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

// fire adds a firing with its effects. triggerID is the client's, or empty.
func (p *planner) fire(found matcher.Match, source, triggerID string) (err error) {
	tool, repository := found.Tool, found.Repository
	counted := repository.ID + " " + tool.Name
	f := firing{id: firingID(p.Turn, p.generation, repository, tool.Name, p.fired[counted]), repository: repository}
	p.fired[counted]++
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
	says := payload.Trigger{
		Header: p.header(triggerID), RepositoryID: repository.ID, Source: source,
		Name: tool.Name, Schema: tool.Given(), Values: found.Values, Answer: payload.AnswerTo(tool, p.App, triggerID),
	}
	if says.Values == nil {
		says.Values = map[string]any{}
	}
	p.Answer.Matches = append(p.Answer.Matches, query.Match{
		TriggerID: triggerID, RepositoryID: repository.ID, Name: tool.Name, Source: source, Values: says.Values,
		ReturnDirect: tool.ReturnDirect, SkipResponse: tool.SkipResponse,
	})
	above := p.traceParent
	f.span, p.traceParent = firingSpan(p.tracer, above, says)
	defer func() { p.traceParent = above }()
	before, move := len(p.Effects), p.begin(found.Candidate, triggerID, says.Values)
	if err := p.effects(f.id, tool, says, move.Fence); err != nil {
		return err
	}
	f.open = len(p.Effects) - before
	if *move != (ledger.Move{New: true, Wait: -1}) {
		f.move = move
	}
	if !f.due() {
		if err := p.deferEffects(f, found.Candidate, says, before); err != nil {
			return err
		}
	}
	if f.record, f.size, err = p.record(found, says.Schema); err != nil {
		return err
	}
	p.firings = append(p.firings, f)
	if state.State(move.State) == state.Duplicate || !repository.Options.TriggerOnce || p.store == nil {
		return nil
	}
	entry, err := p.store.ChangeEntry(repository, "deleted") // the event of the repository's removal
	if err != nil {
		return err
	}
	event := &effect.Event{}
	p.add(entry, effect.Effect{Event: event})
	return exactjson.Unmarshal([]byte(entry.Body), event)
}

// record returns the record of the latest match as query.Record.Kept does; none if the plan is not for commit.
func (p *planner) record(found matcher.Match, schema json.RawMessage) (kept string, size int, err error) {
	if p.store == nil {
		return "", 0, nil
	}
	match := p.Answer.Matches[len(p.Answer.Matches)-1]
	evidence := maps.Clone(found.Evidence)
	for parameter, one := range evidence {
		if one != nil && one.MessageID == "" { // the matcher does not know the message's own id
			evidence[parameter] = &matcher.Evidence{MessageID: p.Message, Words: one.Words}
		}
	}
	record := query.Record{
		Match: match, State: match.State, AppID: p.App, SessionID: p.Session, MessageID: p.messageID,
		Text: p.text, Time: p.now, Schema: schema, Metadata: p.metadata,
		Repaired: found.Repaired, Coerced: found.Coerced, Evidence: evidence,
	}
	return record.Encode()
}

// confirmWithin is how long a trigger waits for confirmation.
const confirmWithin = 3 * time.Minute

// begin returns how a new firing begins: as a duplicate, held, or due.
func (p *planner) begin(c matcher.Candidate, triggerID string, values map[string]any) *ledger.Move {
	tool, m := c.Tool, &ledger.Move{New: true, Wait: -1}
	if of := tool.Dedupe; of != nil {
		session := p.Session
		if of.Scope == repositories.DedupeApp {
			session = ""
		}
		fence := ledger.Hash("fence", of.Scope, session, c.Repository.ID, tool.Name, conversation.Digest(values, of.By...))
		first, mine := p.fences[fence]
		if !mine {
			m.Fence, m.Own, m.Within, first = fence, session != "", time.Duration(of.Within).Milliseconds(), p.known.firsts[fence]
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
	once := ""
	if tool.Confirm == repositories.ConfirmOnce {
		once = confirmDigest(p.Turn, c, values)
	}
	switch {
	case tool.Confirm == repositories.ConfirmAlways, once != "" && !p.known.confirmed[once], matcher.AsksFirst(p.app, p.stage, tool) != "":
		m.State, m.Wait = string(state.Confirming), confirmWithin.Milliseconds()
		if p.Session != "" {
			m.Unless = once
		}
	case tool.Settle > 0:
		m.State, m.Wait = string(state.Settling), time.Duration(tool.Settle).Milliseconds()
	}
	m.OnNext = tool.CancelOnNext && p.Session != "" && m.State == string(state.Settling)
	return m
}

// confirmDigest identifies what is confirmed: the tool, its place, what its question says that it does, and its values.
func confirmDigest(in ledger.Turn, c matcher.Candidate, values map[string]any) string {
	return ledger.Hash("confirm", in.App, in.Session, c.Repository.SessionID, c.Repository.ID, c.Tool.Name, c.Tool.Description, conversation.Digest(values))
}

// effects adds the event, the emitter's event and the call of a firing.
func (p *planner) effects(id string, tool *repositories.Tool, says payload.Trigger, fence string) error {
	match := &p.Answer.Matches[len(p.Answer.Matches)-1]
	match.Event = &query.EventState{State: query.StatePending}
	if tool.Emitter != "" {
		match.Emitter = &query.EventState{Subject: "app." + p.App + "." + tool.Emitter, State: query.StatePending}
	}
	if tool.Calls() {
		match.Call = &query.CallState{State: query.StatePending}
	}
	if p.store == nil {
		match.Event.Subject = payload.Subject(payload.KindTrigger, says.Header, tool.Name)
		return nil
	}
	event, cut, err := payload.EventOf(payload.KindTrigger, says.Header, tool.Name, says)
	if err != nil {
		return err
	}
	match.Event.Subject = event.Subject
	refers := says.Answer == nil
	if err := p.event(keyspace.EffectID(id, effect.PartEvent), effect.PartEvent, event, refers); err != nil {
		return err
	}
	if match.Emitter != nil {
		event.Subject = match.Emitter.Subject
		if err := p.event(keyspace.EffectID(id, effect.PartEmitter), effect.PartEmitter, event, refers); err != nil {
			return err
		}
	}
	if match.Call == nil {
		return nil
	}
	whole := event.Data
	if cut { // a call may be longer than an event
		if whole, err = exactjson.Encode(says); err != nil {
			return err
		}
	}
	return p.call(keyspace.EffectID(id, effect.PartCall), tool, says, whole, fence)
}

// event adds an event. An event without a part belongs to no trigger. With refers, the event refers to the
// record of its trigger instead of repeating it.
func (p *planner) event(id, part string, event effect.Event, refers bool) error {
	event.TraceParent = p.traceParent
	body := delivery.Reference(p.traceParent)
	if !refers {
		var err error
		if body, err = exactjson.Text(&event); err != nil {
			return err
		}
	}
	entry := keyspace.EventEntry(id, p.Session, "", body)
	entry.Part, entry.Box = part, p.Box
	p.add(entry, effect.Effect{Event: &event})
	return nil
}

// leaseMargin is how much longer a call's lease lasts than its attempt.
const leaseMargin = 5 * time.Second

// call adds a call. It is stored with all its data, since the tool may be gone when the call is made: at once, or
// by storeCall if it may be made before the commit.
func (p *planner) call(id string, tool *repositories.Tool, says payload.Trigger, event json.RawMessage, fence string) (err error) {
	stored, trace := "", p.traceParent
	p.storedCall = func() (string, error) {
		sealed, err := p.store.SealTool(p.App, tool)
		if err != nil {
			return "", err
		}
		return exactjson.Text(delivery.StoredCall{Tool: sealed, Event: event, TraceParent: trace, Fence: fence, Unquoted: tool.Type != ""})
	}
	if !p.reading {
		if stored, err = p.storedCall(); err != nil {
			return err
		}
	}
	entry := keyspace.Entry{ID: id, Kind: string(effect.KindCall), Body: stored, Session: p.Session, Part: effect.PartCall}
	entry.Once = !tool.Request.Repeatable()
	entry.Lease = (p.app.AttemptTimeout(tool) + leaseMargin).Milliseconds()
	if tool.Answer != nil {
		entry.Kind, entry.Wait, entry.Once = string(effect.KindAnswer), time.Duration(tool.Answer.Within).Milliseconds(), false
	}
	call := effect.CallOf(tool, says.Values, event)
	call.App, call.Fence = p.app, fence
	p.add(entry, effect.Effect{Call: call})
	return nil
}

// storeCall completes the call of a plan that is committed after all.
func (p *planner) storeCall() (err error) {
	for i := range p.Effects {
		if e := &p.Effects[i]; e.Kind == effect.KindCall && e.Entry.Body == "" {
			e.Entry.Body, err = p.storedCall()
		}
	}
	return err
}

func (p *planner) add(entry keyspace.Entry, e effect.Effect) {
	match := -1
	if entry.Part != "" {
		match = len(p.Answer.Matches) - 1
		entry.Trigger = p.Answer.Matches[match].TriggerID
	}
	e.ID, e.Kind, e.AppID, e.SessionID = entry.ID, effect.Kind(entry.Kind), p.App, entry.Session
	e.TriggerID, e.Attempt, e.TraceParent = entry.Trigger, 1, p.traceParent
	p.Effects = append(p.Effects, delivery.Planned{Effect: e, Entry: entry, Match: match})
}

// deferred is what a held trigger stores until it is due.
type deferred struct {
	Effects []keyspace.Entry `json:"effects"`
	Settle  int64            `json:"settle,omitempty"` // ms, after a confirmation
	OnNext  bool             `json:"onNext,omitempty"` // the user's next message takes it back
	Digest  string           `json:"digest,omitempty"`
	Once    bool             `json:"once,omitempty"` // confirmed once, the digest needs no further confirmation
	Fence   string           `json:"fence,omitempty"`
}

// deferEffects moves the effects of the latest match out of the plan, and adds the event of the delay.
func (p *planner) deferEffects(f firing, c matcher.Candidate, says payload.Trigger, before int) error {
	match, tool := &p.Answer.Matches[len(p.Answer.Matches)-1], c.Tool
	says.Answer = nil // no answer is expected yet
	held := deferred{Settle: time.Duration(tool.Settle).Milliseconds(), OnNext: tool.CancelOnNext && p.Session != "", Fence: f.move.Fence}
	for _, e := range p.Effects[before:] {
		held.Effects = append(held.Effects, e.Entry)
	}
	p.Effects = p.Effects[:before]
	until := p.now.Add(time.Duration(f.move.Wait) * time.Millisecond)
	match.State = query.MatchState(state.State(f.move.State))
	match.SetStates(match.State)
	tells := payload.Held{Trigger: says, TriggerID: match.TriggerID}
	switch state.State(f.move.State) {
	case state.Duplicate:
		match.Of, match.Call = f.move.First, p.known.calls[f.move.First]
		tells.Of = match.Of
		return p.notify(f.id, payload.KindDuplicate, tells)
	case state.Settling:
		match.DueAt = &until
	case state.Confirming:
		held.Digest, held.Once = confirmDigest(p.Turn, c, says.Values), tool.Confirm == repositories.ConfirmOnce
		match.Digest, match.Question, match.ExpiresAt = held.Digest, conversation.Question(tool, says.Values, p.language, p.text), &until
		p.doc.Questions = append(p.doc.Questions, ledger.Question{Trigger: match.TriggerID, Words: conversation.QuestionWords(match.Question)})
		tells.Digest, tells.Question, tells.ExpiresAt = match.Digest, match.Question, &until
		if err := p.notify(f.id, payload.KindConfirm, tells); err != nil {
			return err
		}
	}
	text, err := exactjson.Encode(held)
	f.move.Held = string(text)
	return err
}

// notify adds an event about a trigger without effects, or without effects yet. The event is not one of the
// trigger's effects, whose names begin with id.
func (p *planner) notify(id, kind string, says payload.Held) error {
	if p.store == nil {
		return nil
	}
	_, part, _ := strings.Cut(kind, ".")
	says.ID, says.Time = keyspace.EffectID(says.TriggerID, part), p.now
	event, _, err := payload.EventOf(kind, says.Header, says.Name, says)
	if err != nil {
		return err
	}
	return p.event(keyspace.EffectID(id, part), "", event, false)
}

// reject adds a match that failed validation.
func (p *planner) reject(n int, rejected matcher.Rejected) error {
	shown := query.Rejected{
		RepositoryID: rejected.Repository.ID, Name: rejected.Tool.Name,
		Values: rejected.Values, Missing: rejected.Missing, Errors: rejected.Errors,
		Ask: rejected.Ask(conversation.Faulty(rejected.Missing, rejected.Errors)...),
	}
	if shown.Values == nil {
		shown.Values = map[string]any{}
	}
	if shown.Missing == nil {
		shown.Missing = []string{}
	}
	p.Answer.Rejected = append(p.Answer.Rejected, shown)
	if p.store == nil {
		return nil
	}
	id := firingID(p.Turn, p.generation, &repositories.Repository{ID: shown.RepositoryID}, "rejected "+shown.Name, n)
	header := p.header(id)
	event, _, err := payload.EventOf(payload.KindRejected, header, shown.Name, payload.Rejected{
		Header: header, RepositoryID: shown.RepositoryID, Name: shown.Name, Values: shown.Values, Missing: shown.Missing, Errors: shown.Errors,
		Ask: shown.Ask,
	})
	if err != nil {
		return err
	}
	return p.event(id, "", event, false)
}

// notMatching adds the event that tools were in scope and none matched. It names only the nearest of many,
// since most messages match nothing and must not cost more with more tools.
func (p *planner) notMatching(inScope, ranked []matcher.Candidate) error {
	if p.store == nil {
		return nil
	}
	header := p.header(ledger.Hash("notmatching", turnHash(p.Turn, p.generation)))
	named := nearestOf(inScope, ranked)
	says := payload.NotMatching{Header: header, Tools: make([]string, len(named)), ToolsTotal: len(inScope)}
	for i, c := range named {
		says.Tools[i] = c.Tool.Name
		if !slices.Contains(says.Repositories, c.Repository.ID) {
			says.Repositories = append(says.Repositories, c.Repository.ID)
		}
	}
	event, _, err := payload.EventOf(payload.KindNotMatching, header, "", says)
	if err != nil {
		return err
	}
	return p.event(header.ID, "", event, false)
}

// nearestOf returns all candidates in scope, or, for more than matcher.MostNearest, the best of a ranking.
func nearestOf(inScope, ranked []matcher.Candidate) []matcher.Candidate {
	if len(inScope) <= matcher.MostNearest {
		return inScope
	}
	nearest := make([]matcher.Candidate, 0, matcher.MostNearest)
	for _, c := range ranked {
		if now, is := (matcher.Request{Candidates: inScope}).Named(c.Tool.Name); is { // the scope may have changed since
			nearest = append(nearest, now)
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
	to, _ := state.Next(h.state, action, h.Settle > 0)
	m := &ledger.Move{
		From: string(h.state), State: string(to), Wait: -1, ByClock: action == state.Release || action == state.Expire,
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
	match.State, match.DueAt, match.ExpiresAt, match.Digest, match.Question = query.MatchState(to), nil, nil, "", ""
	match.SetStates(query.StatePending)
	p.firings = append(p.firings, firing{id: h.Firing, open: len(h.Effects), move: m})
	switch to {
	case state.Settling:
		m.Wait = h.Settle
		until := p.now.Add(time.Duration(h.Settle) * time.Millisecond)
		match.DueAt = &until
	case state.Cancelled:
		match.SetStates(query.StateCancelled)
	}
	p.Answer.Matches = append(p.Answer.Matches, match)
	switch {
	case p.store == nil || to == state.Settling:
		return nil
	case to == state.Due:
		for _, entry := range h.Effects {
			e, err := delivery.HeldEffect(p.store, &h.Record, entry, len(p.Answer.Matches)-1)
			if err != nil {
				return err
			}
			p.Effects = append(p.Effects, e)
		}
		return nil
	}
	of := h.Record
	return p.notify(h.Firing, payload.KindCancelled, payload.Held{
		Trigger: payload.Trigger{
			Header:       payload.Header{MessageID: of.MessageID, Text: of.Text, AppID: p.App, SessionID: p.Session, Metadata: of.Metadata},
			RepositoryID: of.RepositoryID, Source: of.Source, Name: of.Name, Schema: of.Schema, Values: of.Values,
		},
		TriggerID: of.TriggerID, Reason: string(action),
	})
}

// Ids are deterministic: a decision repeated after a failure gives its effects the same ids, so that JetStream
// and an idempotent receiver absorb the repetition. Values never enter, since a model may find others the
// second time.

// firingID returns the id of a turn's n-th firing of a tool. A triggerOnce repository has one id per
// generation: two racing turns get the same id.
func firingID(of ledger.Turn, generation store.Generation, repository *repositories.Repository, tool string, n int) string {
	if repository.Options.TriggerOnce {
		return ledger.Hash("once", repository.AppID, repository.SessionID, repository.ID, repository.Generation)
	}
	return ledger.Hash("fire", turnHash(of, generation), repository.ID, repository.Generation, tool, strconv.Itoa(n))
}

// turnHash identifies the turn in ids, also for a resend after a Redis failover. The generations distinguish it
// from a message of the same name in an earlier session or app of the same name.
func turnHash(t ledger.Turn, generation store.Generation) string {
	return ledger.Hash("turn", t.App, generation.App, t.Session, generation.Session, t.Message)
}

// leases lists the leases that the decision takes.
func (p *plan) leases() ledger.Holding {
	all := ledger.Holding{Turn: p.Turn, Token: p.Token, Box: p.Box}
	if p.Message == "" {
		all.Trigger = p.Answer.Matches[0].TriggerID
	}
	for _, e := range p.Effects {
		if e.Kind == effect.KindCall {
			all.Calls = append(all.Calls, e.ID)
		}
	}
	return all
}

// learn adds the conflict for which the ledger refused a plan.
func (d *decider) learn(ctx context.Context, known *knownConflicts, p *plan) error {
	if known.firsts == nil {
		*known = knownConflicts{map[string]string{}, map[string]*query.CallState{}, map[string]bool{}}
	}
	first := p.differs.First
	for i, f := range p.firings {
		switch {
		case p.Answer.Matches[i].TriggerID != p.differs.Firing:
		case p.differs.Confirmed:
			known.confirmed[f.move.Unless] = true
		default:
			known.firsts[f.move.Fence] = first
		}
	}
	if first == "" {
		return nil
	}
	stored, err := d.records.StoredTrigger(ctx, p.App, first)
	if stored != nil {
		known.calls[first] = stored.Record.Call
	}
	if errors.Is(err, query.ErrNotFound) {
		return nil
	}
	return err
}
