package matcher

import "strings"

// side is what one of the two sides of a conversation says before the other speaks.
// Providers other than OpenAI have the user and the model alternate, and the user
// begin.
type side struct {
	Model    bool // it is the model's, else the user's
	Messages []message
}

// noBeginning stands for what was said before the history begins, where it begins with the
// model: nothing, or what has been cut.
const noBeginning = "(The conversation begins here.)"

// sides parts a request's messages into the rules, which such providers take outside
// the conversation, and the conversation. Later words of the system and the results of
// tools are the user's side. Blank texts are refused by some and say nothing.
func sides(messages []message) (rules string, parted []side) {
	if len(messages) > 0 && messages[0].Role == roleSystem {
		rules, messages = messages[0].Text, messages[1:]
	}
	for _, one := range messages {
		if one.Role != roleTool && len(one.Calls) == 0 && strings.TrimSpace(one.Text) == "" {
			continue
		}
		model := one.Role == roleAssistant
		if len(parted) == 0 && model {
			parted = append(parted, side{Messages: []message{{Role: roleUser, Text: noBeginning}}})
		}
		if last := len(parted) - 1; last >= 0 && parted[last].Model == model {
			parted[last].Messages = append(parted[last].Messages, one)
			continue
		}
		parted = append(parted, side{Model: model, Messages: []message{one}})
	}
	return rules, parted
}

// callsByID lists the calls of the messages by their ids, and their tools' names in the
// order in which they come.
func callsByID(messages []message) (byID map[string]toolCall, names []string) {
	byID, seen := map[string]toolCall{}, map[string]bool{}
	for _, one := range messages {
		for _, call := range one.Calls {
			byID[call.ID] = call
			if !seen[call.Name] {
				names = append(names, call.Name)
			}
			seen[call.Name] = true
		}
	}
	return byID, names
}
