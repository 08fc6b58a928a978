package matcher

import (
	"slices"

	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/fault"
)

// final are the acts that cannot be taken back, by what they do in words.
var final = map[string]string{
	"pay": movesMoney, "repay": movesMoney, "refund": movesMoney, "charge": movesMoney, "transfer": movesMoney,
	"buy": "orders something", "delete": "deletes something",
}

// What tools do that cannot be taken back.
const (
	movesMoney   = "moves money"
	endsContract = "ends a contract"
)

var (
	// ending are the acts that end a contract, where they are done to one.
	ending = []string{"cancel", "delete", "close", "unsubscribe"}
	// harmless are acts by which a description tells that the noun of a name is a thing: "order-status"
	// orders nothing.
	harmless = []string{"read", "many", "track", "verify", "count", "calculate", "update"}
)

// irreversible says in words what a tool does that cannot be taken back, as far as its name tells,
// or its description where the name has no plain verb; empty for most tools, for those that only
// read, and for those that settle, which can be taken back.
func irreversible(app *repositories.App, tool *repositories.Tool) string {
	if tool.Settle > 0 || reads(app, tool) {
		return ""
	}
	named, described := text.ActingIn(tool.Name), text.ActingIn(tool.Description)
	doubtful := described.Plain && !slices.ContainsFunc(slices.Concat(described.Acts...), func(act string) bool { return !slices.Contains(harmless, act) })
	verbs := described.Acts
	if len(named.Acts) > 0 && (named.Plain || !doubtful) {
		verbs = named.Acts
	} else if acts := text.ActsOfMethod(tool.Method); len(verbs) == 0 && acts != nil {
		verbs = [][]string{acts}
	}
	for _, verb := range verbs {
		if does := effectOf(verb, tool); does != "" {
			return does
		}
	}
	return ""
}

// effectOf is what a verb does, of which all senses are irreversible: "close" is not, unless it is done to an
// account, and "transfer" is not of a call or a file.
func effectOf(verb []string, tool *repositories.Tool) (does string) {
	about := text.Split(text.Identifier(tool.Name) + " " + tool.Description)
	ends := slices.ContainsFunc(verb, func(act string) bool { return slices.Contains(ending, act) })
	if ends && text.AnyIs(about, text.ContractWords) {
		return endsContract
	}
	for _, act := range verb {
		if does = final[act]; does == "" {
			return ""
		}
	}
	amount := func(name string) bool { return text.AnyIs(text.Split(text.Identifier(name)), text.AmountNames) }
	if slices.Contains(verb, "transfer") && !text.AnyIs(about, text.MoneyWords) && !slices.ContainsFunc(tool.Params().Names(), amount) {
		return ""
	}
	return does
}

// reads reports whether a tool changes nothing.
func reads(app *repositories.App, tool *repositories.Tool) bool {
	return app.ReadOnly(tool) || tool.RunsStatement() && app.QueriesAlone(tool)
}

// AsksFirst says why a tool that a message calls for asks before it takes effect, though it does
// not say so itself: the app wants it where the words decided. It is empty where it does not ask.
func AsksFirst(app *repositories.App, stage string, tool *repositories.Tool) string {
	byWords := stage == StageExact || stage == StageOffline
	if !byWords || tool.Confirm != "" || tool.Name == repositories.CatchAll {
		return ""
	}
	switch app.Settings.Offline.Confirm {
	case repositories.ConfirmIrreversible:
		if does := irreversible(app, tool); does != "" {
			return "the words alone decided, the tool " + does + `, and settings.offline.confirm is "irreversible"`
		}
	case repositories.ConfirmAlways:
		if !reads(app, tool) {
			return `the words alone decided, and settings.offline.confirm is "always"`
		}
	}
	return ""
}

// Unconfirmed advises a confirm for each tool of a repository that does what cannot be taken back, and
// of which neither it nor the app says whether it asks first. The places are those of the tools.
func Unconfirmed(app *repositories.App, r *repositories.Repository) fault.List {
	var notes fault.List
	for i := range r.Tools {
		if r.Tools[i].Confirm != "" || app.Settings.Offline.Confirm != "" {
			continue
		}
		if does := irreversible(app, &r.Tools[i]); does != "" {
			notes.Add(fault.Point("tools", i), "%s and fires without a question: set its confirm, or settings.offline.confirm of the app", does)
		}
	}
	return notes
}
