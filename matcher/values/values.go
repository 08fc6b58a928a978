// Package values reads the values of a tool's parameters from the words of a text, without a
// model. A value is taken only where its reading is certain: words that could belong to two
// parameters are given to neither, and nothing is made up. A value that is wrong does harm; one
// that is missing is asked for.
package values

import (
	"earshot/matcher/datetime"
	"earshot/repositories"
)

// Reading is what a text says of a tool's parameters.
type Reading struct {
	*datetime.Text
	Values map[string]any // by the names of the parameters; numbers are json.Number
	Taken  []bool         // by word: it is of a value
	// Why says of a parameter why a number in the text is no value of it.
	Why map[string]string
	// Asks has a question for each parameter whose words have two readings: "at 9: 09:00 or 21:00?".
	Asks map[string]string
}

// readers fill the slots of a tool, each with what those before it have left.
var readers = []func(*slotFiller){
	readPatterns, readAllowed, readKnown, readCodes, readNamed, readBooleans, readDurations, readAmounts, readMoments,
	readSpokenNumbers, readNumbers, readLists, readCued, readPlaces, readQuoted, readRest,
}

// Of reads the values that the text gives for the tool's parameters.
func Of(said *datetime.Text, tool *repositories.Tool) Reading {
	f := newFiller(said, tool)
	for _, read := range readers {
		read(f)
	}
	return Reading{said, f.values, f.taken, f.why, f.asks}
}
