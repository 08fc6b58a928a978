package verify

// Class is the kind of fault of a finding.
type Class string

// The classes.
const (
	Orphaned   Class = "orphaned"   // data that no code will process or use, and that stays for ever
	Impossible Class = "impossible" // a contradictory state that no operation leads to
)

// Rule is one invariant of a ledger.
type Rule struct {
	Name  string
	Class Class
	Fault string // in words
	Mend  string // the repair; empty for none
}

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{
		{"record.app", Orphaned, "a trigger of a deleted app", "it is removed with its failed effects; its pending events are still published"},
		{"record.unreadable", Impossible, "a trigger without its record", ""},
		{"record.unlisted", Orphaned, "a trigger that the list of its app lacks", "it is added to the list, with the present time"},
		{"record.state", Impossible, "a trigger in an unknown state", ""},
		{"record.open", Impossible, "the count of a trigger's pending effects is wrong", "the count is corrected"},
		{"record.dead", Impossible, "the count of a trigger's failed effects is too low", "the count is corrected"},
		{"record.lost", Impossible, "a pending effect without its data", "it counts as failed: whether it took place is not known"},
		{"record.pending", Impossible, "a pending trigger that its list lacks, or another in that list", "the list is corrected"},
		{"record.failed", Impossible, "a failed trigger that its list lacks, or another in that list", "the list is corrected"},
		{"record.unending", Orphaned, "a trigger without pending effects that would never expire", "it expires when its retention is over"},
		{"record.ending", Impossible, "a trigger with pending effects that would expire", "it stays until they are delivered or have failed"},
		{"record.timer", Orphaned, "a held trigger that nothing would release or end", "it is due at the end of its time, or now if that is over"},
		{"record.empty", Impossible, "a held trigger without deferred effects", ""},
		{"record.early", Impossible, "a held trigger, or one that ended without an effect, with pending effects", ""},
		{"effect.state", Impossible, "an effect of an unknown kind or in an unknown state", ""},
		{"effect.dead", Orphaned, "a failed effect of a trigger that does not exist", "it is removed"},
		{"effect.call", Orphaned, "a pending call or answer that no worker would find", "it is due at the end of its lease"},
		{"effect.event", Orphaned, "a pending event in no outbox", "it is added to the end of its outbox"},
		{"outbox.unscheduled", Orphaned, "an outbox that no worker would find", "it is due now"},
		{"outbox.unreadable", Impossible, "an outbox whose first entry is unreadable", ""},
		{"lane.unscheduled", Orphaned, "due work that no worker would find in time", "it is scheduled"},
		{"holder", Orphaned, "the lease of an empty outbox", "it is removed"},
		{"turn", Orphaned, "an undecided message that no worker would find", "it is due now"},
		{"order", Impossible, "a history with a message that does not exist", "the entry is removed"},
		{"session.unending", Orphaned, "a session that would never expire", "it expires when it has not been used for long enough"},
		{"session.listed", Orphaned, "a listed session that does not exist", "the entry is removed"},
		{"session.user", Impossible, "a session that the list of its user lacks", "it is added to the list"},
		{"user.listed", Orphaned, "a session in the list of a user that is not its own, without an end", "the entry is removed when no data of the session can be left"},
		{"app.unlisted", Orphaned, "an app that the list of apps lacks", "it is added to the list"},
		{"app.gone", Impossible, "a listed app that does not exist, of which there is data", ""},
		{"app.listed", Orphaned, "a listed app that does not exist, of which there is no data", "the entry is removed"},
		{"app.unreadable", Impossible, "an app without its definition", ""},
		{"app.left", Orphaned, "data of a deleted app", "it is removed"},
		{"listed", Orphaned, "a list with triggers that do not exist", "the entries are removed"},
		{"failed.count", Impossible, "the count of an app's failed triggers is wrong", "the count is corrected"},
		{"owed.count", Impossible, "the count of pending work is wrong", "the count is corrected"},
		{"endless", Orphaned, "a key without an expiry that must have one", "it expires after the longest time that it may have"},
		{"explained", Orphaned, "parts of explanations that would never expire", "they expire after a week"},
		{"entry.unknown", Impossible, "an entry of a kind that this version does not know", ""},
		{"foreign.key", Impossible, "a key of an app in a partition of other apps, where no worker finds it", ""},
		{"foreign.entry", Impossible, "an entry of an app in a partition of other apps", "the entry is removed"},
	}
}

// rules has Rules by name.
var rules = func() map[string]Rule {
	byName := map[string]Rule{}
	for _, rule := range Rules() {
		byName[rule.Name] = rule
	}
	return byName
}()
