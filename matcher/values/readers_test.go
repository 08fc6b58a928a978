package values_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/datetime"
	"earshot/matcher/matchertest"
	"earshot/matcher/values"
)

func number(digits string) json.Number { return json.Number(digits) }

func TestAnArrayIsOrderedAndNotTold(t *testing.T) {
	expected{
		"pack a map and a torch":             {"things": []any{"map", "torch"}},
		"we would have packed a map":         {},
		"yesterday we packed a torch":        {},
		"don't pack the torch":               {},
		"pack everything":                    {},
		"pack everything but the torch":      {},
		"pack a map for Anna, who is hungry": {},
	}.of(t, `{"name":"pack","schema":[{"parameter":"things","type":"array","items":{"name":"thing","description":"a thing","type":"string"}}],"examples":["pack [socks](things)"]}`)
}

func TestACodeOfAnotherFormIsIntroduced(t *testing.T) {
	expected{
		"unlock locker K9Q2":                    {"key": "K9Q2"},
		"my key is 4TT9Z":                       {"key": "4TT9Z"},
		"it's QR-77-1":                          {"key": "QR-77-1"},
		"unlock locker no. LX-20":               {"key": "LX-20"},
		"unlock the one beside the K9Q2 please": {},
		"unlock it at 9PM":                      {},
		"it took 20MIN":                         {},
	}.of(t, `{"name":"unlock-locker","schema":[{"parameter":"key","type":"string","description":"code of the key, such as L-100"}],"examples":["unlock locker [L-100](key)"]}`)
}

func TestCodesAreRead(t *testing.T) {
	expected{
		"cancel appointment A-1234":             {"number": "A-1234"},
		"please cancel appointment number 4711": {"number": "4711"},
		"cancel the appointment at 9:30":        {},
		"cancel the appointment of 2026-12-01":  {},
		"cancel two appointments":               {},
		"cancel A-1234 or A-1235":               {},
		"cancel not A-1234":                     {},
		"cancel the one for 150 euros":          {},
	}.of(t, `{"name":"cancel-appointment","schema":[{"parameter":"number","type":"string"}]}`)
	expected{
		"disarm the alarm 4711":                {"code": "4711"},
		"disarm the alarm, four seven one one": {"code": "4711"},
		"zero eight one five":                  {"code": "0815"},
		"forty-seven eleven":                   {"code": "4711"},
		"disarm the alarm 0 8 1 5":             {"code": "0815"},
		"code quatre sept un un":               {"code": "4711"},
		"code 4711, no sorry, 4712":            {},
		"vier sieben eins eins":                {"code": "4711"},
		"quatre sept zéro un":                  {"code": "4701"},
		"disarm the alarm in seven minutes":    {},
		"disarm alarm two":                     {},
	}.of(t, `{"name":"alarm-disarm","schema":[{"parameter":"code","type":"string"}]}`)
	expected{
		"seven two five": {"pin": number("725")},
		"one of the two": {},
	}.of(t, `{"name":"unlock","schema":[{"parameter":"pin","type":"integer"}]}`)
}

func TestAmountsWithoutAWordAreRead(t *testing.T) {
	expected{
		"½ €":                   {"amount": number("0.5")},
		"½ € to Anna":           {"amount": number("0.5")},
		"pay ½ € to Anna":       {"amount": number("0.5")},
		"pay Anna ¼ €":          {"amount": number("0.25")},
		"pay Anna up to ½ €":    {},
		"pay up to ½ € to Anna": {},
	}.of(t, `{"name":"pay","schema":[{"parameter":"amount","type":"number","unit":"€"}]}`)
}

func TestACodeHasTheFormOfItsSamples(t *testing.T) {
	expected{
		"how far is T-5123":   {"ticket": "T-5123"},
		"how far is 5123":     {},
		"how far is TX5123/7": {},
	}.of(t, `{"name":"status","schema":[{"parameter":"ticket","type":"string","description":"the ticket, such as B-2020"}]}`)
	expected{
		"how far is X-51": {"ticket": "X-51"},
		"how far is 51":   {},
	}.of(t, `{"name":"status","schema":[{"parameter":"ticket","type":"string"}],"examples":["where is [A-17](ticket)"]}`)
}

func TestMisspeltListedValuesAreReadWhereNoOtherIsAsNear(t *testing.T) {
	const tool = `{"name":"light","schema":[{"parameter":"room","type":"string","allowedValues":["kitchen","cellar","hall","living room","first floor","fifth floor"],
		"aliases":{"kitchen":["Küche"],"cellar":["basement"]}}]}`
	expected{
		"light in the kitchn":      {"room": "kitchen"},
		"light in the ktichen":     {"room": "kitchen"},
		"light in the bassement":   {"room": "cellar"},
		"light in the living roon": {},
		"light in the livng room":  {"room": "living room"},
		"light in the halls":       {"room": "hall"},
		"light in the hill":        {},
		"light on the ceiling":     {},
		"not the kitchn":           {},
		"without kitchn":           {},
		"the kitchn and the celar": {},
	}.of(t, tool)
}

func TestNumbersAreReadIntoTextsThatCount(t *testing.T) {
	expected{
		"a table for 4":               {"party_size_number": "4"},
		"a table for six people":      {"party_size_number": "six"},
		"between two and four people": {},
		"not four people":             {},
	}.of(t, `{"name":"book","schema":[{"parameter":"party_size_number","type":"string"},{"parameter":"restaurant","type":"string"}]}`)
	expected{
		"Rate Soul Music a 3": {"rating_value": "3", "title_of_it": "Soul Music"},
	}.of(t, `{"name":"rate-book","schema":[{"parameter":"rating_value","type":"string"},{"parameter":"title_of_it","type":"string"}]}`)
}

func TestANumberCountsTheListedValueAfterIt(t *testing.T) {
	expected{
		"three beers please":     {"count": number("3"), "drink": "beer"},
		"zwei Bier bitte":        {"count": number("2"), "drink": "beer"},
		"a beer for table three": {"drink": "beer"},
		"make it four instead":   {"count": number("4")},
		"minus five beers":       {"drink": "beer"},
	}.of(t, `{"name":"order","schema":[{"parameter":"drink","type":"string","allowedValues":["beer","tea"],"aliases":{"beer":["Bier"]}},
		{"parameter":"count","type":"integer","minValue":1}]}`)
}

func TestTheRestOfASentenceIsReadWhereItIsCertain(t *testing.T) {
	expected{
		"add milk to the shopping list":        {"item": "milk"},
		"please put bread on my shopping list": {"item": "bread"},
		"add oat milk":                         {"item": "oat milk"},
		"add it":                               {},
		"I like milk":                          {},
		"add salt to taste":                    {"item": "salt to taste"},
	}.of(t, `{"name":"add-to-shopping-list","description":"Add something to the shopping list","schema":[{"parameter":"item","type":"string"}]}`)
	const reminder = `{"name":"set-reminder","schema":[{"parameter":"text","type":"string"},{"parameter":"time","type":"string","description":"as HH:MM"}]}`
	expected{
		"remind me to call mum":              {"text": "call mum"},
		"remind me to take my pills at 8 pm": {"text": "take my pills", "time": "20:00"},
		"remind me at 8 pm to take my pills": {"text": "take my pills", "time": "20:00"},
		"remind me that the shop is closed":  {"text": "the shop is closed"},
		"remind me of that":                  {},
		"you remind me of my aunt":           {"text": "my aunt"},
	}.of(t, reminder)
	expected{
		"tell Laura that the printer is broken":                 {"person": "Laura", "text": "the printer is broken"},
		"send me the report that Laura wrote yesterday evening": {},
	}.of(t, `{"name":"send-message","schema":[{"parameter":"person","type":"string"},{"parameter":"text","type":"string"}]}`)
	expected{
		"add Larry Heard to my laundry playlist": {},
	}.of(t, `{"name":"AddToPlaylist","schema":[{"parameter":"music_item","type":"string"},{"parameter":"playlist","type":"string"},{"parameter":"artist","type":"string"}]}`)
}

func TestSeveralNumbersAreReadWhereTheMarksHaveThem(t *testing.T) {
	expected{
		"my blood pressure is 135 over 85": {"systolic": number("135"), "diastolic": number("85")},
		"135 people, 85 chairs":            {},
	}.of(t, `{"name":"record-blood-pressure","schema":[{"parameter":"systolic","type":"integer"},{"parameter":"diastolic","type":"integer"}],
		"examples":["my blood pressure is [120](systolic) over [80](diastolic)"]}`)
}

func TestSignsUnitsAndRangesAreNotDropped(t *testing.T) {
	expected{
		"heating to minus 5":          {"degrees": number("-5")},
		"heating to -5 degrees":       {"degrees": number("-5")},
		"heating between 20 and 22":   {},
		"heating to 20 or 22 degrees": {},
		"heating, not 20":             {},
	}.of(t, `{"name":"heating","schema":[{"parameter":"degrees","type":"number"}]}`)
	expected{
		"timer for 30 seconds":               {"minutes": number("0.5")},
		"timer for five":                     {"minutes": number("5")},
		"timer for between 5 and 10 minutes": {},
		"timer for 5 kg":                     {},
	}.of(t, `{"name":"timer","schema":[{"parameter":"minutes","type":"number","unit":"minutes"}]}`)
}

func FuzzOf(f *testing.F) {
	candidate := matchertest.InScope(f, matchertest.Scope, "r", `{"name":"add-to-list","description":"Add to the list","schema":[
		{"parameter":"item","type":"string"},{"parameter":"code","type":"string","description":"such as B-20"},{"parameter":"people","type":"integer"},
		{"parameter":"minutes","type":"number","unit":"minutes"},{"parameter":"room","type":"string","allowedValues":["kitchen","cellar"]},
		{"parameter":"by","type":"string"},{"parameter":"time","type":"string"}],
		"examples":["add [milk](item) by [Ann](by)","[two](people) in the [kitchen](room) at [noon](time), [A-1](code)","[x](item)"]}`)[0]
	for _, text := range []string{
		"", "add oat milk to the list please", "add by", "four seven one one", "kitchn", "a-1 b-2", "um halb", "à", "- - 5", "minus", "\xff[", "et quart",
		"remind me that", "that", "heures et", "viertel vor", "add milk by", "ünn à ünn", "one oh",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		read := values.Of(datetime.NewText(text, matchertest.Friday), candidate.Tool)
		require.Len(t, read.Taken, len(read.Words))
	})
}

func TestAddressesAreReadWhole(t *testing.T) {
	const mail = `{"name":"send-mail","description":"Send an e-mail","schema":[{"parameter":"to","type":"string","description":"e-mail address"},{"parameter":"subject","type":"string"}],
		"examples":["Send a mail to [bob@example.org](to)"]}`
	expected{
		"Write a mail to max@example.com":                                {"to": "max@example.com"},
		"Send a mail to x_y+z@test.example":                              {"to": "x_y+z@test.example"},
		"Send a mail to max@mail.uni-wien.ac.at, please":                 {"to": "max@mail.uni-wien.ac.at"},
		"Send a mail from me@example.org to bob@example.org":             {"to": "bob@example.org"},
		"Send a mail to bob@example.org, not to eva@example.de":          {"to": "bob@example.org"},
		"Send a mail to max@example.com or to eva@example.de":            {},
		"Send a mail to Bob":                                             {},
		"Send a mail to bob@example.org with the subject Budget meeting": {"to": "bob@example.org", "subject": "Budget meeting"},
	}.of(t, mail)
	candidate := matchertest.InScope(t, matchertest.Scope, "r", mail)[0]
	either := values.Of(datetime.NewText("Send a mail to anna@example.org and Ben", matchertest.Friday), candidate.Tool)
	require.Empty(t, either.Values)
	require.Equal(t, `"to anna@example.org and Ben" names more than one`, either.Unusable["to"])
	expected{"tell max@example.com": {"whom": "max@example.com"}}.of(t, `{"name":"tell","schema":[{"parameter":"whom","type":"string"}],"examples":["tell [Anna](whom)"]}`)
}

func TestAmountsOfTwoUnitsAreToldApart(t *testing.T) {
	expected{
		"a room for 2 guests for 3 nights":   {"guests": number("2"), "nights": number("3")},
		"a room for 3 nights and 2 guests":   {"guests": number("2"), "nights": number("3")},
		"a room for two nights, two guests":  {"guests": number("2"), "nights": number("2")},
		"a room for 3 nights":                {"nights": number("3")},
		"a room for 2 guests from Friday on": {"guests": number("2")},
	}.of(t, `{"name":"book-room","schema":[{"parameter":"nights","type":"integer","unit":"nights","required":true},{"parameter":"guests","type":"integer","unit":"guests"}]}`)
	expected{"between 18 and 22 degrees": {}, "20 degrees": {}}.of(t,
		`{"name":"keep-warm","schema":[{"parameter":"low","type":"number","unit":"°C"},{"parameter":"high","type":"number","unit":"°C"}]}`)
}

func TestANumberThatNobodyHasNamedFillsNoOptionalParameter(t *testing.T) {
	expected{
		"start pump 2":                        {},
		"start the pump, the pressure is 4":   {},
		"start the pump with speed 4":         {"speed": number("4")},
		"start the pump, the speed is 4":      {"speed": number("4")},
		"start the pump and set its speed: 4": {"speed": number("4")},
	}.of(t, `{"name":"start-pump","description":"Start a pump","schema":[{"parameter":"speed","type":"integer","description":"speed of the pump"}],"examples":["start the pump"]}`)
	expected{"turn on light 2": {}, "turn on the light 30": {"level": number("30")}, "turn on the light at 30 percent": {"level": number("30")}}.of(t,
		`{"name":"light-on","schema":[{"parameter":"level","type":"integer","unit":"percent"}],"examples":["turn on the light"]}`)
}

// TestNamesWithoutExamplesAreRead has tools that are described, and nothing else.
func TestNamesWithoutExamplesAreRead(t *testing.T) {
	expected{
		"Remove the member Ada Byron":                     {"name": "Ada Byron"},
		"remove the member Ada Byron and the member list": {"name": "Ada Byron"},
		"Remove a member":                                 {},
		"Remove the member on Friday":                     {},
	}.of(t, `{"name":"removeMember","description":"Removes a member of the club","schema":[{"parameter":"name","type":"string","required":true,"description":"full name"}]}`)
	expected{
		"drain node-eu-7":                {"node": "node-eu-7"},
		"drain web_front now":            {"node": "web_front"},
		"Drain the node gpu-big":         {"node": "gpu-big"},
		"drain a follow-up meeting":      {},
		"Drain the half-full node later": {},
	}.of(t, `{"name":"drainNode","description":"Drain a node","schema":[{"parameter":"node","type":"string","required":true,"description":"name of the node"}]}`)
	expected{
		"Which office has Mrs Lovelace?":        {"colleague": "Mrs Lovelace"},
		"In welchem Büro sitzt Herr von Braun?": {},
		"In welchem Büro sitzt Herr Noll?":      {"colleague": "Herr Noll"},
		"¿Qué despacho tiene la señora Ruiz?":   {"colleague": "señora Ruiz"},
		"Which office has Mr Ray or Mr Fox?":    {},
		"Which office has a miss?":              {},
	}.of(t, `{"name":"findOffice","description":"Tell the office of a colleague","schema":[{"parameter":"colleague","type":"string","required":true,"description":"name"}]}`)
	expected{
		"Pay 40 euros with the memo April": {"amount": number("40"), "memo": "April"},
		"Pay 40 euros in April":            {"amount": number("40")},
	}.of(t, `{"name":"payDues","schema":[{"parameter":"amount","type":"number","unit":"euros"},{"parameter":"memo","type":"string"}]}`)
	expected{
		"Set the pressure of pump 3 to 12 bar": {"pump": number("3"), "pressure": number("12")},
		"Set the pressure to 3 to 12 bar":      {},
	}.of(t, `{"name":"setPressure","schema":[{"parameter":"pump","type":"integer","required":true},{"parameter":"pressure","type":"number","unit":"bar","required":true}]}`)
	expected{
		"Verlängere die Auftragsnummer QX7712":    {"auftragsnummer": "QX7712"},
		"Verlängere den Auftrag mit QX7712 bitte": {"auftragsnummer": "QX7712"},
	}.of(t, `{"name":"verlaengern","schema":[{"parameter":"auftragsnummer","type":"string"}]}`)
}

// TestTheWordsBesideAMarkGoTogether has examples whose marks have only common words beside them.
func TestTheWordsBesideAMarkGoTogether(t *testing.T) {
	expected{
		"does the blue paint cover rust?":     {},
		"does the blue paint smell strongly?": {},
		"what is in the white varnish?":       {"product": "white varnish"},
	}.of(t, `{"name":"contents","description":"Tell what a paint contains","schema":[{"parameter":"product","type":"string"}],"examples":["does the [red lacquer](product) have lead on top?","what is in the [floor oil](product)?"]}`)
	expected{
		"fetch a courier from the mill":             {"from": "the mill"},
		"fetch a courier from the mill to the lab":  {"from": "the mill", "to": "the lab"},
		"fetch a courier from":                      {},
		"fetch a courier from the big old red mill": {},
	}.of(t, `{"name":"courier","description":"Fetch a courier","schema":[{"parameter":"from","type":"string","required":true,"description":"where it starts"},{"parameter":"to","type":"string","description":"where to"}],"examples":["fetch a courier from [the depot](from) to [the school](to)"]}`)
}
