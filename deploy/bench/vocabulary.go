package main

import "earshot/deploy/bench/double"

// verbs, things and places make names that are as like and unlike as those of real
// tools, and the words of messages.
var (
	verbs  = []string{"reserve", "cancel", "clean", "open", "close", "repair", "measure", "photograph", "paint", "rent", "sell", "inspect", "lock", "warm", "light", "move", "count", "insure", "order", "describe"}
	things = []string{"table", "window", "door", "lamp", "bicycle", "printer", "elevator", "parcel", "ticket", "invoice", "camera", "garden", "kettle", "mirror", "piano", "radio", "scooter", "stove", "tent", "umbrella", "violin", "wardrobe", "carpet", "desk", "engine", "fridge", "guitar", "heater", "island", "jacket", "keyboard", "ladder", "monitor", "notebook", "oven", "pillow", "quilt", "router", "sofa", "towel", "vase", "wagon", "blanket", "candle", "drill", "faucet", "glove", "hammer", "kennel", "locker"}
	places = []string{"kitchen", "museum", "airport", "hospital", "library", "harbour", "school", "station", "theatre", "village"}
)

// maxTools is how many names there are.
var maxTools = len(verbs) * len(things) * len(places)

// toolWords are the verb, the thing and the place of the i-th tool.
func toolWords(i int) (verb, thing, place string) {
	rest := i / len(things)
	return verbs[(rest+i)%len(verbs)], things[i%len(things)], places[rest/len(verbs)%len(places)]
}

func toolName(i int) string {
	verb, thing, place := toolWords(i)
	return verb + "-" + thing + "-" + place
}

// describe says what the i-th tool does. What a matcher has to know grows with the tools as
// that of real ones does: every second brings a word that no tool had before.
func describe(i int) string {
	return "To " + doing(i) + ", by way of " + rare(i/2) + ", " + rare(maxTools+i/7) + " and " + rare(2*maxTools+i/50)
}

func doing(i int) string {
	verb, thing, place := toolWords(i)
	return verb + " the " + thing + " of the " + place
}

// rare makes up the n-th of 343,000 words of three syllables, unlike those before it.
func rare(n int) string {
	const consonants, vowels = "bdfghjklmnprstv", "aeiou"
	const syllables, prime = len(consonants) * len(vowels), 104_729
	word := ""
	for rest := n * prime % (syllables * syllables * syllables); len(word) < 6; rest /= syllables {
		word += consonants[rest%len(consonants):][:1] + vowels[rest/len(consonants)%len(vowels):][:1]
	}
	return word
}

// text is what the i-th message says, and what makes the double call the tools. Some of
// its words are known to no tool.
func (w workload) text(i int) string {
	names, said := make([]string, w.matches), "Good morning, this is Ms Keller. Please"
	for k := range w.matches {
		tool := (i*31 + k) % w.tools
		names[k], said = toolName(tool), said+" "+doing(tool)+","
	}
	return double.Ask(said, names...)
}
