package matcher

import (
	"slices"

	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/fault"
)

// finalActs maps acts that cannot be undone to their effects.
var finalActs = map[string]string{
	"pay": movesMoney, "repay": movesMoney, "refund": movesMoney, "charge": movesMoney, "transfer": movesMoney,
	"buy": "orders something", "delete": "deletes something",
}

// Effects of tools that cannot be undone.
const (
	movesMoney   = "moves money"
	endsContract = "ends a contract"
)

var (
	endingActs = []string{"cancel", "delete", "close", "unsubscribe"} // the acts that end a contract
	// harmlessActs are acts in a description which show that the name's noun is a thing: "order-status" orders nothing.
	harmlessActs = []string{"read", "many", "track", "verify", "count", "calculate", "update"}
)

// irreversible returns an effect of a tool that cannot be undone, from its name, or its description if the name has
// no plain verb. It is empty for most tools, for read-only ones, and for tools with settle, which can be cancelled.
func irreversible(app *repositories.App, tool *repositories.Tool) string {
	if tool.Settle > 0 || reads(app, tool) {
		return ""
	}
	named, described := text.ActingIn(tool.Name), text.ActingIn(tool.Description)
	doubtful := described.Plain && !slices.ContainsFunc(slices.Concat(described.Acts...), func(act string) bool { return !slices.Contains(harmlessActs, act) })
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

// effectOf returns the effect of a verb if all its senses are irreversible: "close" only of an account, and
// "transfer" not of a call or a file.
func effectOf(verb []string, tool *repositories.Tool) (does string) {
	about := text.Split(text.Identifier(tool.Name) + " " + tool.Description)
	ends := slices.ContainsFunc(verb, func(act string) bool { return slices.Contains(endingActs, act) })
	if ends && text.AnyIs(about, text.ContractWords) {
		return endsContract
	}
	for _, act := range verb {
		if does = finalActs[act]; does == "" {
			return ""
		}
	}
	amount := func(name string) bool { return text.AnyIs(text.Split(text.Identifier(name)), text.AmountNames) }
	if slices.Contains(verb, "transfer") && !text.AnyIs(about, text.MoneyWords) && !slices.ContainsFunc(tool.Params().Names(), amount) {
		return ""
	}
	return does
}

func reads(app *repositories.App, tool *repositories.Tool) bool {
	return app.ReadOnly(tool) || tool.RunsStatement() && app.QueriesAlone(tool)
}

// AsksFirst returns why the app's settings make a tool ask for confirmation if the words decided; empty if they do
// not.
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

// Unconfirmed advises a confirm for each tool of a repository with an irreversible effect if neither it nor the app
// decides on confirmation. The places are those of the tools.
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
