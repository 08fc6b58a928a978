// Package failpoint names the instants at which the process may die without losing anything, and lets a test kill
// it there. At does nothing in an ordinary build; with the build tag crashtest the process kills itself at the
// point that the environment names:
//
//	go build -tags crashtest ./cmd/earshot
//	EARSHOT_CRASH=commit.reply:3 ./earshot serve
//
// kills it at the third pass of commit.reply. deploy/faults uses this, and defines what must hold afterwards.
package failpoint

// Point is an instant in the life of a message, an effect or a registration.
type Point string

// The points, in the order of work. "reply lost" is the instant after a script ran and before its caller used the
// answer: for the ledger it makes no difference whether the answer or its reader is lost.
const (
	DraftBefore      Point = "draft.before"      // a draft was read and is not stored
	DraftReply       Point = "draft.reply"       // it is stored, reply lost
	DraftKept        Point = "draft.kept"        // its matches are stored, reply lost
	DraftUsed        Point = "draft.used"        // a turn is about to be decided by a draft's match
	RetractBefore    Point = "retract.before"    // a draft is about to be taken back
	RetractReply     Point = "retract.reply"     // it was retracted, reply lost
	AcceptBefore     Point = "accept.before"     // a message was read and is not stored
	AcceptReply      Point = "accept.reply"      // accept executed, reply lost
	TurnClaimed      Point = "turn.claimed"      // the lease of a turn is taken
	MatchBefore      Point = "match.before"      // the LLM is about to be asked
	MatchAfter       Point = "match.after"       // the LLM has answered
	CommitBefore     Point = "commit.before"     // a plan is made and not committed
	CommitReply      Point = "commit.reply"      // commit executed, reply lost
	CommitStale      Point = "commit.stale"      // a repository has changed, it is decided anew
	NextBefore       Point = "next.before"       // a message cancels a settling trigger, which is not carried out
	HeldClaimed      Point = "held.claimed"      // the time of a held trigger is over
	MoveBefore       Point = "move.before"       // a held trigger is about to be moved
	MoveReply        Point = "move.reply"        // it was moved, reply lost, and no effect begun
	EffectsBefore    Point = "effects.before"    // committed, no effect begun
	EffectClaimed    Point = "effect.claimed"    // an effect was claimed from the ledger
	PublishBefore    Point = "publish.before"    // an event is about to be sent
	PublishAcked     Point = "publish.acked"     // stored by JetStream, not acknowledged here
	TokenFetched     Point = "token.fetched"     // a call has its authorization, the request is not sent
	RequestSent      Point = "request.sent"      // a call's request is written, no answer is read
	ResponseRead     Point = "response.read"     // a call is answered, which is not recorded
	AttemptDone      Point = "attempt.done"      // an effect succeeded, not recorded
	AttemptRetried   Point = "attempt.retried"   // an effect is to be retried, not recorded
	AttemptDead      Point = "attempt.dead"      // an effect is given up, not recorded
	SettleBefore     Point = "settle.before"     // all events of a decision are published, not recorded
	SettleReply      Point = "settle.reply"      // settle executed, reply lost
	BehindBefore     Point = "behind.before"     // a read-only call is answered, its record is about to be written
	BehindReply      Point = "behind.reply"      // it is written, reply lost, and none of its events is published
	UnpackBefore     Point = "unpack.before"     // events of a decision are about to become separate effects
	UnpackReply      Point = "unpack.reply"      // they are, reply lost
	FinishBefore     Point = "finish.before"     // outcomes are about to be written
	FinishReply      Point = "finish.reply"      // finish executed, reply lost
	GivenBefore      Point = "given.before"      // an answer to a trigger came and is not stored
	GivenReply       Point = "given.reply"       // it is stored, reply lost, and not claimed
	AskedBefore      Point = "asked.before"      // a call that lacks values is not stored yet
	AskedReply       Point = "asked.reply"       // it is stored, reply lost
	AskedChanged     Point = "asked.changed"     // values were given to it, or it was ended, reply lost
	AskedFired       Point = "asked.fired"       // it has fired, and is still stored as one that lacks values
	AnswerBefore     Point = "answer.before"     // the answer is made and not sent
	RebuildBefore    Point = "rebuild.before"    // a dead process's answer is about to be made
	GiveBackBefore   Point = "giveback.before"   // a turn could not be decided and is still leased
	ReviveBefore     Point = "revive.before"     // dead effects are about to be due again
	ReviveReply      Point = "revive.reply"      // revive executed, reply lost
	RepositoryBefore Point = "repository.before" // a repository is about to be written or removed
	RepositoryReply  Point = "repository.reply"  // it was, reply lost
	SessionHalf      Point = "session.half"      // a session's repositories are gone, its history is not
	WebhookClaimed   Point = "webhook.claimed"   // the lease of a webhook is taken, nothing is sent
	WebhookSent      Point = "webhook.sent"      // events were sent to it, not recorded
	WebhookReply     Point = "webhook.reply"     // they are recorded, reply lost
	ShutdownBegun    Point = "shutdown.begun"    // told to end, work in flight
)

// Points lists all points.
func Points() []Point {
	return []Point{
		DraftBefore, DraftReply, DraftKept, DraftUsed, RetractBefore, RetractReply,
		AcceptBefore, AcceptReply, TurnClaimed, MatchBefore, MatchAfter, CommitBefore, CommitReply, CommitStale,
		NextBefore, HeldClaimed, MoveBefore, MoveReply, EffectsBefore, EffectClaimed, PublishBefore, PublishAcked, TokenFetched, RequestSent, ResponseRead,
		AttemptDone, AttemptRetried, AttemptDead, SettleBefore, SettleReply, BehindBefore, BehindReply, UnpackBefore, UnpackReply,
		FinishBefore, FinishReply, GivenBefore, GivenReply, AskedBefore, AskedReply, AskedChanged, AskedFired, AnswerBefore, RebuildBefore,
		GiveBackBefore, ReviveBefore, ReviveReply, RepositoryBefore, RepositoryReply, SessionHalf, WebhookClaimed, WebhookSent, WebhookReply, ShutdownBegun,
	}
}

// Flaw is a bug that the test build can be given, to verify that deploy/faults detects it. EARSHOT_FLAW names the
// one of a process.
type Flaw string

// The flaws. Each breaks one condition of the delivery guarantee, and nothing else.
const (
	CommitWithoutCAS Flaw = "commit-without-cas" // a decision is written although a repository is not as it was matched
	MoveWithoutState Flaw = "move-without-state" // a held trigger is moved although another has moved it
	UnfencedFirst    Flaw = "unfenced-first"     // a trigger fires although another has its values
	ChangingID       Flaw = "changing-id"        // an event's id changes between attempts
	EarlyPublish     Flaw = "early-publish"      // events are published before they are committed
	ChangeWithoutCAS Flaw = "change-without-cas" // values are given to a call that is not as it was read
	ChangingCall     Flaw = "changing-call"      // a model's call in a chat has another trigger id each time
	ChangingKey      Flaw = "changing-key"       // a call of an MCP server has another key with each attempt
	Unwaited         Flaw = "unwaited"           // an accepted message or a decision is answered before a replica of Redis has it
	ForgottenResend  Flaw = "forgotten-resend"   // an event that did not arrive at a webhook is not sent again
	LostBehind       Flaw = "lost-behind"        // of several records written behind answers, only the first is written
)

// Flaws lists all flaws.
func Flaws() []Flaw {
	return []Flaw{
		CommitWithoutCAS, MoveWithoutState, UnfencedFirst, ChangingID, EarlyPublish, ChangeWithoutCAS, ChangingCall, ChangingKey, Unwaited, LostBehind, ForgottenResend,
	}
}
