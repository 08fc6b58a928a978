package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/repositories"
)

// desk are tools for several things, some with several acts.
func desk(t testing.TB) []matcher.Candidate {
	return matchertest.InScope(t, matchertest.Scope, "r",
		`{"name":"packing-list-update","description":"Add or remove items on the packing list","examples":["put socks on my packing list","take the boots out of my packing list"]}`,
		`{"name":"packing-list","description":"Show the packing list","examples":["what is on my packing list","did I add the tent to my packing list"]}`,
		`{"name":"album-update","description":"Add a photo to an album","examples":["put this photo in the holiday album"]}`,
		`{"name":"profile-update","description":"Change the profile","examples":["my profile has an old address"]}`,
		`{"name":"groceries","description":"Create entries of the grocery list","examples":["remove the milk from my grocery list","the grocery list needs milk"]}`,
		`{"name":"schedule-mechanic","description":"Schedule a mechanic","examples":["my brakes squeal, I need a mechanic"]}`,
		`{"name":"leave-request","description":"Request days off","examples":["I want a leave request for Monday","file a leave request"]}`,
		`{"name":"reserve-kayak","description":"Reserve a kayak","examples":["a kayak for Sunday"]}`,
		`{"name":"move-kayak","description":"Move a kayak reservation to another day","examples":["can my kayak be on Friday"]}`,
		`{"name":"verify-kayak","description":"Verify that a kayak is reserved","examples":["is my kayak safe with you","make sure that there is a kayak for me"]}`,
		`{"name":"ferry-time","description":"Tell when the ferry leaves","examples":["when does the ferry leave","what time is the ferry"]}`,
		`{"name":"pier-of","description":"Tell at which pier a ferry is","examples":["which pier is the ferry to Capri at","at which pier is it"]}`,
		`{"name":"sound-horn","description":"Sound the horn"}`,
		`{"name":"find-oar","description":"Find the oar that is lost"}`,
		`{"name":"mooring-order-status","description":"Track what was ordered","examples":["where is what I ordered"]}`,
	)
}

// TestWhatPeopleOrdinarilySay has a line for each phrase that a rule about opposites, moods or neighbours once
// misread.
func TestWhatPeopleOrdinarilySay(t *testing.T) {
	t.Parallel()
	tools := desk(t)
	for said, tool := range map[string]string{
		// A tool that adds and removes is for both, in any words.
		"add sandals to my packing list":                    "packing-list-update",
		"delete the tent from my packing list":              "packing-list-update",
		"remove the stove from my packing list":             "packing-list-update",
		"please erase the tent from my packing list":        "packing-list-update",
		"drop the tent from the packing list please":        "packing-list-update",
		"I want a leave request on March 3":                 "leave-request", // "on" is not the opposite of "off" here
		"did I add the stove to my packing list":            "packing-list",
		"I want a leave request on the 3rd":                 "leave-request",
		"add a phone number to my profile":                  "profile-update", // only the name is similar to a tool that adds
		"remove bread from my grocery list":                 "groceries",
		"schedule a mechanic to get the brakes checked out": "schedule-mechanic",
		"could you tell me the status of my order":          "mooring-order-status",
		"could I have a kayak on Saturday please":           "reserve-kayak", // and does not move an existing one
		"can you verify that there is a kayak for Ann":      "verify-kayak",
		// Questions may have their word at the end, and names of things ask for information.
		"the ferry leaves when":                       "ferry-time",
		"the ferry is at which pier":                  "pier-of",
		"the ferry time":                              "ferry-time",
		"do a sound of the horn":                      "sound-horn",
		"I'm wanting you to sound the horn":           "sound-horn",
		"is it possible for you to sound the horn":    "sound-horn",
		"the fog is thick, sound the horn":            "sound-horn",
		"I can't find the oar":                        "find-oar",
		"I am interested in reserving a kayak":        "reserve-kayak",
		"which pier is the ferry to Procida at in la": "pier-of",
	} {
		assert.Equal(t, tool, fired(t, said, repositories.BarLikely, tools), said)
	}
}

// TestAnAnswerIsGivenToWhatIsAskedInOtherWords has a tool that answers, and a word that names another tool.
func TestAnAnswerIsGivenToWhatIsAskedInOtherWords(t *testing.T) {
	t.Parallel()
	tools := matchertest.InScope(t, matchertest.Scope, "r",
		`{"name":"wages","description":"Tell when wages are paid","examples":["when do I get paid","on which day do I get paid","when was I last paid"]}`,
		`{"name":"date","description":"Tell the date","examples":["what is the date today"]}`,
	)
	assert.Equal(t, "wages", fired(t, "what date do I get paid", repositories.BarCertain, tools))
	for _, said := range []string{"when was the last parade of the queen", "on which day is the harbour dance"} {
		assert.Empty(t, fired(t, said, repositories.BarLikely, tools), said)
	}
}

// TestAWishForANewThingIsNotOneForThoseThatThereAre has equally near tools for an existing thing.
func TestAWishForANewThingIsNotOneForThoseThatThereAre(t *testing.T) {
	t.Parallel()
	tools := matchertest.InScope(t, matchertest.Scope, "r",
		`{"name":"book-berth","description":"Book a berth with the harbour","examples":["I would like a berth","can I speak to the harbour on Thursday at 10:00","je voudrais un amarrage"]}`,
		`{"name":"move-berth","description":"Move a berth to another day","examples":["can I move my berth to Thursday","I have to reschedule"]}`,
		`{"name":"list-berths","description":"Tell the sailor which berths they have","examples":["which berths do I have","when is my next berth"]}`,
		`{"name":"sure-berth","description":"Confirm a berth","examples":["is my berth confirmed"]}`,
	)
	assert.Equal(t, "book-berth", fired(t, "could I have a berth on Monday please", repositories.BarCertain, tools))
	for _, said := range []string{"can you verify that I have a berth", "will you make sure that Ann has a berth", "please see that there is a berth for Ann"} {
		assert.NotEqual(t, "book-berth", fired(t, said, repositories.BarLikely, tools), said)
	}
}

func TestWhatOnlySoundsLikeItFiresNothing(t *testing.T) {
	t.Parallel()
	tools := desk(t)
	for _, said := range []string{
		"the fog is thick, horn and all", "that is why the ferry leaves", "that is when", "the ferry is where I met her", "this horn does what I say", "this is what the horn is for", "the fog is thick, the horn is broken", "I know when the ferry leaves",
		"sound the", "sound the horn if the ferry comes", "my kayak is red, the sun shines",
	} {
		assert.Empty(t, fired(t, said, repositories.BarLikely, tools), said)
	}
}
