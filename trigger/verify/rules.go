package verify

// Class is the kind of fault of a finding.
type Class string

// The classes.
const (
	// Orphaned is data that no code will process or use, and that stays for ever.
	Orphaned Class = "orphaned"
	// Impossible is a contradictory state that no operation leads to.
	Impossible Class = "impossible"
)

// Rule is one invariant of a ledger.
type Rule struct {
	Name  string
	Class Class
	Says  string // the fault
	Mend  string // the repair; empty for none
}

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{
		{"record.app", Orphaned, "a trigger of an app that is gone", "it goes, with what it has given up; its events are still published"},
		{"record.unreadable", Impossible, "a trigger without its record", ""},
		{"record.unlisted", Orphaned, "a trigger that is not among those of its app", "it is listed, as of now"},
		{"record.state", Impossible, "a trigger in a state that there is not", ""},
		{"record.open", Impossible, "a trigger owes another number of effects than it says", "the number is counted anew"},
		{"record.dead", Impossible, "a trigger has given up more effects than it says", "the number is counted anew"},
		{"record.lost", Impossible, "an effect is owed, and there is nothing to deliver", "it counts as failed: whether it took place is not known"},
		{"record.pending", Impossible, "a trigger is listed as pending and is not, or the other way round", "the list is put right"},
		{"record.failed", Impossible, "a trigger is listed as failed and is not, or the other way round", "the list is put right"},
		{"record.unending", Orphaned, "a trigger owes nothing, and would be kept for ever", "it goes when its time is over"},
		{"record.ending", Impossible, "a trigger would go with what it owes", "it stays until it has delivered that"},
		{"record.timer", Orphaned, "a trigger is held, and nobody would ever let it go or end it", "it is due when its time is over, at once where that is so"},
		{"record.empty", Impossible, "a trigger is held, and keeps nothing back", ""},
		{"record.early", Impossible, "a trigger is held, or has ended without an effect, and owes effects", ""},
		{"effect.state", Impossible, "an effect of a kind, or in a state, that there is not", ""},
		{"effect.dead", Orphaned, "an effect that was given up, of a trigger that is gone", "it goes"},
		{"effect.call", Orphaned, "a call or an answer is owed, and nobody would ever come to it", "it is due when its lease is over"},
		{"effect.event", Orphaned, "an event is owed and is in no outbox", "it goes to the end of its outbox"},
		{"outbox.unscheduled", Orphaned, "events are owed, and nobody would ever look at their outbox", "it is due now"},
		{"outbox.unreadable", Impossible, "an outbox begins with what cannot be read", ""},
		{"lane.unscheduled", Orphaned, "work is due, or will be, and nobody would look at it in time", "it is looked at"},
		{"holder", Orphaned, "the lease of an outbox that is empty", "it goes"},
		{"turn", Orphaned, "a message is neither decided nor given up, and nobody would ever work on it", "it is due now"},
		{"order", Impossible, "a history lists a message that is not there", "it is not listed any more"},
		{"session.unending", Orphaned, "a session that would never expire", "it expires when it has not been used for long enough"},
		{"session.listed", Orphaned, "a session is listed that is not there", "it is not listed any more"},
		{"session.user", Impossible, "a session has a user, and is not found by it", "it is found"},
		{"user.listed", Orphaned, "a session is listed as a user's that is not, and nothing would end that", "it is not listed for longer than something of it may be left"},
		{"app.unlisted", Orphaned, "an app that is not listed", "it is listed"},
		{"app.gone", Impossible, "an app is listed that is not there, and things of it are", ""},
		{"app.listed", Orphaned, "an app is listed that is not there, nor is anything of it", "it is not listed any more"},
		{"app.unreadable", Impossible, "an app without its definition", ""},
		{"app.left", Orphaned, "something of an app that is gone", "it goes"},
		{"listed", Orphaned, "a list has triggers that are not there", "they are not listed any more"},
		{"failed.count", Impossible, "the number of failed triggers of an app is another", "it is counted anew"},
		{"owed.count", Impossible, "the number of what is owed is another", "it is counted anew"},
		{"endless", Orphaned, "something without an end that must have one", "it ends when the longest time is over that it may have"},
		{"explained", Orphaned, "a part of explanations that would be kept for ever", "it goes a week from now"},
		{"entry.unknown", Impossible, "work of a kind that this version does not know", ""},
		{"foreign.key", Impossible, "something of an app in another partition than that of the app, where nobody looks", ""},
		{"foreign.entry", Impossible, "an app is noted in another partition than its own", "it is not noted there any more"},
	}
}

// rules has Rules by name.
var rules = func() map[string]Rule {
	named := map[string]Rule{}
	for _, one := range Rules() {
		named[one.Name] = one
	}
	return named
}()
