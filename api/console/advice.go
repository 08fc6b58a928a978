package console

import (
	"fmt"
	"strings"

	"earshot/matcher"
	"earshot/trigger/explain"
)

// advised maps a reason why nothing fired to what to do about it.
type advised struct {
	says string // words of Explanation.Why
	do   string
}

// advice is the table of deploy/docs/why.md, "What to do". The first match counts.
var advice = []advised{
	{"no tool is in scope", "Add a tool to this session or to the app. Under “Not in scope” are tools that need a verified user, or that another of their name hides."},
	{"asks for something else by", "That is right where the user wants something else. Is a tool missing that undoes or alters? Or is this word meant for the tool: then add the sentence as an example."},
	{"not sure enough of the nearest tool", "Add the sentence as an example of the tool that is meant. Or set offline.bar of the app to likely, for all tools."},
	{"knows nothing of what the message is about", "Add the sentence as an example of the tool that is meant, or add the tool that is missing."},
	{"next to nothing in common", "Add the sentence as an example of the tool that is meant, or add the tool that is missing."},
	{"two tools are as near to the message as each other", "These tools share their words. Give each examples of its own: add the sentence to the one that is meant."},
	{"names a thing that another tool is for", "These tools share their words. Give each examples of its own: add the sentence to the one that is meant."},
	{"has no place for", "Give the tool a parameter for what was said. Without one it is right that nothing fires."},
	{"and not what is to be done", "Where this word alone should fire the tool, add it as an example."},
	{"makes a condition", "That is right: the user continues."},
	{"tells of the past", "That is right: the user continues."},
	{"tells of somebody else", "That is right. Where such a sentence is meant, add it as an example."},
	{"breaks off", "That is right: the user continues."},
	{"names nothing that it is to be done to", "Where the sentence is enough for you, add it as an example of the tool that is meant. Else the user continues."},
	{"asks or tells, and does not call for", "Add the sentence as an example, as it is a question; or let the tool's description say that it informs."},
	{"and does not order it", "That is right, unless such words order it: then add the sentence as an example of the tool."},
	{"asks whether it may be done", "That is right: the user asks first. A tool that informs could answer."},
	{"is a plain no to what", "That is right: the user was asked, and refused."},
	{"calls for no tool by itself", "That is right: it answers a question, and no tool waited for that."},
	{"does not want what the nearest tool does", "That is right. Is a tool missing that undoes it?"},
	{"its values are not valid", "Each call below says which value was missing, or which rule it broke. Words that stand for a value are marked in an example."},
	{"is exclusive", "The rules of repositories decided: another tool came first."},
	{"fires once", "The rules of repositories decided: another tool came first."},
	{"was dropped", "Each call below says why: a model called what is not in scope, or its call could not be read."},
	{"no tool was called for", "The model answered otherwise: its request and its answer are below. Is the tool among those that it was shown?"},
}

// adviceOn returns what to do about a message that fired nothing; empty if it fired or the reason is
// unknown.
func adviceOn(of *explain.Explanation) string {
	for _, call := range of.Calls {
		if call.Verdict == explain.Fired {
			return ""
		}
	}
	for _, one := range advice {
		if strings.Contains(of.Why, one.says) {
			return one.do
		}
	}
	return ""
}

// compared describes what the message was compared with.
func compared(of *explain.Explanation) string {
	count := len(of.Candidates) + of.More
	tools := fmt.Sprintf("%d tools", count)
	if count == 1 {
		tools = "one tool"
	}
	switch of.Stage {
	case matcher.StageExact:
		return "The text was compared with the names, descriptions and examples of " + tools + ", and equals one of them."
	case matcher.StageOffline:
		return "The words were compared with the names, descriptions and examples of " + tools + ". No model was asked."
	case matcher.StageLLM:
		shown := 0
		for _, one := range of.Candidates {
			if !one.Cut {
				shown++
			}
		}
		return fmt.Sprintf("The model was shown %d of %s and the conversation, and was asked which to call.", shown+of.More, tools)
	}
	return "There was no tool that the message could be compared with."
}
