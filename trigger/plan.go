package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/repositories/tracing"
	"earshot/trigger/conversation"
	"earshot/trigger/effect"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
	"earshot/trigger/state"
)

// plan is a decision that is ready to be committed: the firings, and all their effects.
type plan struct {
	ledger.Turn // without a message for a direct trigger
	token       string
	answer      Answer
	firings     []plannedFiring
	// unfinished is what the session keeps of calls that lack values (JSON, or empty).
	unfinished string
	// effects are in the order in which they reach JetStream.
	effects []plannedEffect
	// matched is the version of the app that it was matched by; claims says that verified
	// claims of the user are kept for it.
	matched string
	claims  bool
	// guessed says that it was made of what this process knows of the app, and that the
	// session has no tools of its own; put is what was put of the session (JSON).
	guessed bool
	put     string
	// frontEnd says that a direct trigger came with a session's token, and counted that it was
	// counted before.
	frontEnd, counted bool
	// box is the outbox of the plan's own events. holder has it once the plan is committed;
	// told hears of the plan's events where that is not the plan.
	box    string
	holder string
	told   chan attempt
	// batch says that the plan's own events are one effect in the ledger.
	batch bool
	// tells makes the event of its reply; nil where the app wants none.
	tells *teller
	// explained is why it was decided so.
	explained explain.Packed
	// begun is when the decision was sent to Redis, from which its leases count here.
	begun time.Time
	// heard is what the message leaves of earlier questions; differs why the ledger refused.
	heard   ledger.Heard
	differs ledger.Decision
	// few says that too few replicas of Redis have the decision. It is carried out all
	// the same, and whoever asked is told to ask again.
	few bool
}

// first reports whether the plan's events are the next of its session.
func (p *plan) first() bool { return p.holder == p.token }

type plannedFiring struct {
	id         string // its effects are named after it
	triggerID  string
	repository *repositories.Repository // of a new one
	record     Record
	open       int          // effects that it has
	move       *ledger.Move // nil where it is new and due
	span       trace.Span   // of its execution; nil of one that was there before
}

// due reports whether the effects of a firing are.
func (f plannedFiring) due() bool { return f.move == nil || state.State(f.move.State) == state.Due }

// once reports whether a firing takes its repository away.
func (f plannedFiring) once() bool {
	return f.repository.Options.TriggerOnce && (f.move == nil || state.State(f.move.State) != state.Duplicate)
}

// plannedEffect is an effect with its place in the answer.
type plannedEffect struct {
	effect.Effect
	entry keyspace.Entry
	match int // index into answer.Matches; -1 where it belongs to none
}

// leaseMargin is how much the lease of a call outlives its attempt.
const leaseMargin = 5 * time.Second

// planner builds a plan.
type planner struct {
	plan
	store       *store.Store
	of          *repositories.App
	now         time.Time
	text        string
	messageID   string // of the message that calls for it, whose turn it need not be
	metadata    repositories.Metadata
	language    string // of the user, as a tag of BCP 47; empty where it was not told
	tracer      *tracing.Tracer
	traceParent string           // of the message or the request, and of a firing while it is planned
	stage       string           // of matching, of what a message calls for; empty for what nobody has matched
	fired       map[string]int   // firings so far, by repository and tool
	life        store.Generation // empty without a message
	standing    standing
	own         map[string]string // triggers of this plan by the fences that they have
}

func newPlanner(c *core, id ledger.Turn, token string, state *appState, text, traceParent string) *planner {
	return &planner{
		plan:  plan{Turn: id, token: token, box: keyspace.Box(id.Session, ""), matched: state.version, answer: Answer{MessageID: id.Message, Matches: []Match{}, Rejected: []Rejected{}}},
		store: c.store, of: state.app, now: c.now().UTC(), text: text, messageID: id.Message, tracer: c.tracer, traceParent: traceParent, fired: map[string]int{}, own: map[string]string{},
	}
}

// header makes the header of an event of the plan.
func (p *planner) header(id string) payload.Header {
	return payload.Header{ID: id, Time: p.now, MessageID: p.messageID, Text: p.text, AppID: p.App, SessionID: p.Session, Metadata: p.metadata}
}

// fire adds a firing with its effects. triggerID is the client's, or empty.
func (p *planner) fire(found matcher.Match, source, triggerID string) error {
	tool, repository := found.Tool, found.Repository
	id := p.nextID(found.Candidate)
	switch {
	case triggerID == "":
		triggerID = id
	case !repository.Options.TriggerOnce:
		id = directID(triggerID, repository)
	}
	if p.Session == "" {
		p.box = keyspace.Box("", triggerID)
	}
	says := payload.Trigger{
		Header: p.header(triggerID), RepositoryID: repository.ID, Source: source,
		Name: tool.Name, Schema: tool.Given(), Values: orEmpty(found.Values), Answer: payload.AnswerTo(tool, p.App, triggerID),
	}
	p.answer.Matches = append(p.answer.Matches, Match{
		TriggerID: triggerID, RepositoryID: repository.ID, Name: tool.Name, Source: source, Values: says.Values,
		ReturnDirect: tool.ReturnDirect, SkipResponse: tool.SkipResponse,
	})
	span, above := p.execute(says)
	defer func() { p.traceParent = above }()
	before, move := len(p.effects), p.moveOf(found.Candidate, triggerID, says)
	if err := p.effectsOf(id, tool, says, move.Fence); err != nil {
		return err
	}
	firing := plannedFiring{id: id, triggerID: triggerID, repository: repository, open: len(p.effects) - before, span: span}
	if *move != (ledger.Move{New: true, Wait: -1}) {
		firing.move = move
	}
	if err := p.holdBack(firing, found.Tool, says, before); err != nil {
		return err
	}
	firing.record = p.record(found)
	p.firings = append(p.firings, firing)
	if state.State(move.State) == state.Duplicate {
		return nil
	}
	return p.retire(repository)
}

// nextID makes the id of the next firing of a tool by this turn.
func (p *planner) nextID(c matcher.Candidate) string {
	counted := c.Repository.ID + " " + c.Tool.Name
	p.fired[counted]++
	return firingID(p.Turn, p.life, c.Repository, c.Tool.Name, p.fired[counted]-1)
}

// record makes the stored record of the latest firing.
func (p *planner) record(found matcher.Match) Record {
	match := p.answer.Matches[len(p.answer.Matches)-1]
	return Record{
		Match: match, State: match.State, AppID: p.App, SessionID: p.Session, MessageID: p.messageID,
		Text: p.text, Time: p.now, Schema: found.Tool.Given(), Metadata: p.metadata,
		Repaired: found.Repaired, Coerced: found.Coerced, Evidence: p.evidence(found),
	}
}

// evidence names the message itself where the matcher, which does not know its id, has
// found a value in it.
func (p *planner) evidence(found matcher.Match) map[string]*matcher.Evidence {
	named := maps.Clone(found.Evidence)
	for parameter, evidence := range named {
		if evidence != nil && evidence.MessageID == "" {
			named[parameter] = &matcher.Evidence{MessageID: p.Message, Words: evidence.Words}
		}
	}
	return named
}

// effectsOf adds the event, the emitter's event and the call of a firing.
func (p *planner) effectsOf(fire string, tool *repositories.Tool, says payload.Trigger, fence string) error {
	match := &p.answer.Matches[len(p.answer.Matches)-1]
	event, cut, err := payload.EventOf(payload.KindTrigger, says.Header, tool.Name, says)
	if err != nil {
		return err
	}
	match.Event = &EventState{Subject: event.Subject, State: StatePending}
	if err := p.event(keyspace.EffectID(fire, partEvent), partEvent, event); err != nil {
		return err
	}
	if tool.Emitter != "" {
		event.Subject = "app." + p.App + "." + tool.Emitter
		match.Emitter = &EventState{Subject: event.Subject, State: StatePending}
		if err := p.event(keyspace.EffectID(fire, partEmitter), partEmitter, event); err != nil {
			return err
		}
	}
	if !tool.Calls() {
		return nil
	}
	match.Call = &CallState{State: StatePending}
	whole := event.Data
	if cut { // a call may be longer than an event
		if whole, err = exactjson.Encode(says); err != nil {
			return err
		}
	}
	return p.call(keyspace.EffectID(fire, partCall), tool, says, whole, fence)
}

// event adds an event. One without a part belongs to no trigger.
func (p *planner) event(id, part string, event effect.Event) error {
	event.TraceParent = p.traceParent
	body, err := exactjson.Encode(event)
	owed := keyspace.EventEntry(id, p.Session, "", string(body))
	owed.Part, owed.Box = part, p.box
	p.add(owed, effect.Effect{Event: &event})
	return err
}

// call adds a call. It includes all that it needs, since the tool may be gone by the time
// the call is made.
func (p *planner) call(id string, tool *repositories.Tool, says payload.Trigger, event json.RawMessage, fence string) error {
	sealed, err := p.store.SealTool(p.App, tool)
	if err != nil {
		return err
	}
	body, err := exactjson.Encode(storedCall{Tool: sealed, Event: event, TraceParent: p.traceParent, Fence: fence, AsSaid: tool.Type != ""})
	owed := keyspace.Entry{ID: id, Kind: string(effect.KindCall), Body: string(body), Session: p.Session, Part: partCall}
	owed.Once = !tool.Request.Repeatable()
	owed.Lease = (p.of.AttemptTimeout(tool) + leaseMargin).Milliseconds()
	if tool.Answer != nil {
		owed.Kind, owed.Wait, owed.Once = string(effect.KindAnswer), time.Duration(tool.Answer.Within).Milliseconds(), false
	}
	call := effect.CallOf(tool, says.Values, event)
	call.App, call.Fence = p.of, fence
	p.add(owed, effect.Effect{Call: call})
	return err
}

func (p *planner) add(owed keyspace.Entry, delivery effect.Effect) {
	match := -1
	if owed.Part != "" {
		match = len(p.answer.Matches) - 1
		owed.Trigger = p.answer.Matches[match].TriggerID
	}
	delivery.ID, delivery.Kind, delivery.AppID, delivery.SessionID = owed.ID, effect.Kind(owed.Kind), p.App, owed.Session
	delivery.TriggerID, delivery.Attempt, delivery.TraceParent = owed.Trigger, 1, p.traceParent
	p.effects = append(p.effects, plannedEffect{Effect: delivery, entry: owed, match: match})
}

// retire adds the event that a triggerOnce repository is gone.
func (p *planner) retire(repository *repositories.Repository) error {
	if !repository.Options.TriggerOnce {
		return nil
	}
	owed, err := p.store.ChangeEntry(repository, "deleted")
	if err != nil {
		return err
	}
	var event effect.Event
	if err := decode(owed.Body, &event); err != nil {
		return err
	}
	p.add(owed, effect.Effect{Event: &event})
	return nil
}

// reject adds a match that failed validation.
func (p *planner) reject(n int, rejected matcher.Rejected) error {
	shown := Rejected{
		RepositoryID: rejected.Repository.ID, Name: rejected.Tool.Name,
		Values: orEmpty(rejected.Values), Missing: rejected.Missing, Errors: rejected.Errors,
		Ask: rejected.Ask(conversation.Faulty(rejected.Missing, rejected.Errors)...),
	}
	if shown.Missing == nil {
		shown.Missing = []string{}
	}
	p.answer.Rejected = append(p.answer.Rejected, shown)
	id := firingID(p.Turn, p.life, &repositories.Repository{ID: rejected.Repository.ID}, "rejected "+rejected.Tool.Name, n)
	header := p.header(id)
	event, _, err := payload.EventOf(payload.KindRejected, header, rejected.Tool.Name, payload.Rejected{
		Header: header, RepositoryID: shown.RepositoryID, Name: shown.Name, Values: shown.Values, Missing: shown.Missing, Errors: shown.Errors,
		Ask: shown.Ask,
	})
	if err != nil {
		return err
	}
	return p.event(id, "", event)
}

// notMatching adds the event that tools were in scope and none matched.
func (p *planner) notMatching(candidates []matcher.Candidate) error {
	header := p.header(hash("notmatching", turnHash(p.Turn, p.life)))
	says := payload.NotMatching{Header: header}
	says.Repositories, says.Tools = candidateNames(candidates)
	event, _, err := payload.EventOf(payload.KindNotMatching, header, "", says)
	if err != nil {
		return err
	}
	return p.event(header.ID, "", event)
}

// candidateNames lists the tools of the candidates and the repositories that hold them.
func candidateNames(candidates []matcher.Candidate) (repositoryIDs, tools []string) {
	seen := map[string]bool{}
	for _, c := range candidates {
		tools = append(tools, c.Tool.Name)
		if !seen[c.Repository.ID] {
			seen[c.Repository.ID] = true
			repositoryIDs = append(repositoryIDs, c.Repository.ID)
		}
	}
	return repositoryIDs, tools
}

func orEmpty(values map[string]any) map[string]any {
	if values == nil {
		return map[string]any{}
	}
	return values
}

// storedCall is the body of a call effect in the ledger. Package sealing seals its tool anew.
type storedCall struct {
	Tool        string          `json:"tool"` // sealed
	Event       json.RawMessage `json:"event"`
	TraceParent string          `json:"traceparent,omitempty"`
	// Fence is the name of the fence of its values, which are free again where it fails before
	// anything of it was sent.
	Fence string `json:"fence,omitempty"`
	// AsSaid says that the values of the event of a tool of a type are without the delimiters
	// of their escapes.
	AsSaid bool `json:"said,omitempty"`
}

// Ids are deterministic: a decision that is made twice, because of whatever failure, gives
// its effects the same ids both times, so that JetStream and an idempotent receiver absorb
// the second. Values never enter, since a model may find others the second time.

// firingID is the id of the n-th firing of a tool by a turn. A triggerOnce repository has
// one id per generation, whoever fires it: two racing turns make the same id.
func firingID(of ledger.Turn, life store.Generation, repository *repositories.Repository, tool string, n int) string {
	if repository.Options.TriggerOnce {
		return hash("once", repository.AppID, repository.SessionID, repository.ID, repository.Generation)
	}
	return hash("fire", turnHash(of, life), repository.ID, repository.Generation, tool, strconv.Itoa(n))
}

// directID is the id of a firing for which the client has given a triggerId. A client's id
// is unique only within its app, but the ids of effects must be unique in the stream of all
// apps.
func directID(triggerID string, repository *repositories.Repository) string {
	return hash("direct", repository.AppID, triggerID, repository.Generation)
}

// turnHash is the turn's name in ids: a function of nothing that a resend after a failover
// of Redis would change. The generations tell it from a message of the same name in an
// earlier session, or app, of the same name.
func turnHash(t ledger.Turn, life store.Generation) string {
	return hash("turn", t.App, life.App, t.Session, life.Session, t.Message)
}

// hash returns 128 bits of SHA-256 over the parts, each with its length.
func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // a hash.Hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Names of the effects of a trigger, which keyspace.EffectID joins to the firing's.
const (
	partEvent   = "event"
	partEmitter = "emitter"
	partCall    = "call"
	partResult  = "result"
)
