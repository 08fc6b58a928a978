package offline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/offline"
	"earshot/repositories"
	"earshot/repositories/lists"
)

// trade is a tool that gives a thing, the tool that takes it back, and the thing's names.
type trade struct {
	give, take   string   // tools without examples
	gives, takes []string // examples
	things       []string // given things, with a word before each
}

// undone are requests to undo or alter a thing. None asks to get it.
var undone = map[string][]string{
	"en": strings.Split(`I want to call off {}; please call {} off; I need to postpone {}; can we push back {}; put {} off; I'd like to reschedule {};
		I have to give up {}; scrap {}; please drop {}; get me out of {}; I want to get rid of {}; please delay {}; I want to shift {}; I need to change {};
		I'd like to swap {}; I no longer need {}; I don't need {} any more; I want to take back {}; please withdraw {}; I would like to skip {};
		I want to end {}; please terminate {}; I can't make {}; I won't be able to come to {}; undo {}; I need to move {}; please bring forward {};
		I want to return {}; I'd like to send back {}; I changed my mind about {}; we can do without {}; I would like to opt out of {}; I want out of {};
		please revoke {}; I need to delete {}; could you remove {}; I have decided against {}; leave out {}; forget about {}`, ";"),
	"de": strings.Split(`Ich möchte {} absagen; bitte {} stornieren; ich muss {} verschieben; können wir {} verlegen; sag {} ab; ich will {} loswerden; ich möchte {} kündigen;
		{} bitte löschen; ich brauche {} nicht mehr; bitte {} ändern; ich möchte {} zurückgeben; ich möchte {} abbestellen; streich {}; ich will {} nicht; {} bitte umbuchen;
		ich möchte {} widerrufen; bitte {} vorverlegen; ich möchte auf {} verzichten; bitte {} aufheben; bitte {} abmelden; ich möchte {} tauschen; ich möchte {} beenden`, ";"),
	"fr": strings.Split(`je veux annuler {}; je dois reporter {}; est-ce que je peux décaler {}; je voudrais déplacer {}; je veux résilier {}; supprimez {} s'il vous plaît;
		je n'ai plus besoin de {}; je ne veux plus de {}; je voudrais modifier {}; je veux rendre {}; je dois renoncer à {}; je veux me débarrasser de {}; décommandez {};
		je voudrais changer {}; je veux retirer {}; je ne peux pas venir à {}; je veux échanger {}; je veux arrêter {}; je souhaite me désinscrire de {}`, ";"),
}

var trades = map[string][]trade{
	"en": {
		{
			`"name":"book-appointment","description":"Book an appointment with the doctor"`, `"name":"cancel-appointment","description":"Cancel an appointment with the doctor"`,
			[]string{"I need an appointment", "can I see the doctor", "book an appointment on Monday at 9", "I'd like to come in on Friday", "please put me down for Tuesday at 10", "make me an appointment"},
			[]string{"cancel my appointment", "I cannot make it on Monday", "I will not be able to come on Thursday", "please cancel the appointment on Tuesday", "I have to cancel", "I don't need my appointment"},
			[]string{"my appointment", "the appointment on Monday", "my appointment on Friday at 9"},
		},
		{
			`"name":"subscribe-newsletter","description":"Subscribe the user to the newsletter"`, `"name":"unsubscribe-newsletter","description":"Unsubscribe the user from the newsletter"`,
			[]string{"I want the newsletter", "subscribe me to the newsletter", "send me your newsletter", "sign me up for the newsletter", "add me to the newsletter", "I'd like to get the newsletter"},
			[]string{"unsubscribe me", "no more newsletter", "stop the newsletter", "take me off the newsletter", "I want no newsletter", "leave the newsletter"},
			[]string{"the newsletter", "your newsletter"},
		},
		{
			`"name":"order-meal","description":"Order a meal to the room"`, `"name":"stop-order","description":"Cancel an order"`,
			[]string{"I'd like to order a meal", "bring me a meal", "I am hungry, a meal please", "send a meal up", "can I have a meal", "order a meal for two"},
			[]string{"cancel my order", "I do not want the meal", "stop my order", "please cancel the meal", "no meal please", "cancel what I ordered"},
			[]string{"my meal", "the meal for tonight", "the meal that I ordered"},
		},
		{
			`"name":"rent_car","description":"Rents a car for the user"`, `"name":"cancel_rental","description":"Cancels a car rental"`,
			[]string{"I need a car", "rent a car", "I want to rent a car for three days", "get me a rental car", "car rental please", "could I have a car on Monday"},
			[]string{"cancel my rental", "I do not need the car", "cancel the car", "cancel the rental car", "drop my rental", "no car please"},
			[]string{"the rental car", "my car", "the car for Monday"},
		},
		{
			`"name":"request-for-parking-permit","description":"Request a parking permit"`, ``,
			[]string{"I need a parking permit", "may I have a parking permit", "request a parking permit", "parking permit please", "give me a parking permit", "get a parking permit for my car"}, nil,
			[]string{"my parking permit", "the parking permit"},
		},
		{
			`"name":"joinCourse","description":"Register for a course"`, `"name":"leaveCourse","description":"Leave a course"`,
			[]string{"I want to join the course", "register me for the course", "sign up for the course", "put me in the course", "enrol me in the course", "can I take the course"},
			[]string{"leave the course", "drop the course", "take me out of the course", "I quit the course", "remove me from the course", "sign me off the course"},
			[]string{"the course", "my course", "the yoga course"},
		},
	},
	"de": {
		{
			`"name":"zimmer-buchen","description":"Ein Zimmer im Hotel buchen"`, `"name":"zimmer-stornieren","description":"Ein Zimmer im Hotel stornieren"`,
			[]string{"ich brauche ein Zimmer", "ein Zimmer bitte", "ein Zimmer ab Montag", "ich möchte am Freitag bei Ihnen schlafen", "buche mir ein Zimmer", "kann ich ein Zimmer haben"},
			[]string{"sag mein Zimmer ab", "ich kann am Montag nicht kommen", "Zimmer stornieren", "ich muss absagen", "bitte das Zimmer stornieren", "ich brauche das Zimmer nicht"},
			[]string{"mein Zimmer", "das Zimmer ab Montag", "das Zimmer"},
		},
		{
			`"name":"zeitung-bestellen","description":"Die Zeitung bestellen"`, `"name":"zeitung-kuendigen","description":"Die Zeitung abbestellen"`,
			[]string{"ich möchte die Zeitung", "bestell mir die Zeitung", "die Zeitung bitte", "ich hätte gern die Zeitung", "schick mir die Zeitung", "kann ich die Zeitung haben"},
			[]string{"keine Zeitung mehr", "bestell die Zeitung ab", "ich will die Zeitung kündigen", "Zeitung abbestellen", "ich möchte keine Zeitung", "stopp die Zeitung"},
			[]string{"die Zeitung", "meine Zeitung"},
		},
	},
	"fr": {
		{
			`"name":"prendre-rendez-vous","description":"Prendre un rendez-vous chez le médecin"`, `"name":"annuler-rendez-vous","description":"Annuler un rendez-vous chez le médecin"`,
			[]string{"je voudrais un rendez-vous", "un rendez-vous s'il vous plaît", "je veux voir le médecin", "prends un rendez-vous lundi", "il me faut un rendez-vous", "donnez-moi un rendez-vous"},
			[]string{"annulez mon rendez-vous", "je ne peux pas venir lundi", "je dois annuler", "pas de rendez-vous lundi", "je n'ai pas besoin du rendez-vous", "annule le rendez-vous"},
			[]string{"mon rendez-vous", "le rendez-vous de lundi", "le rendez-vous"},
		},
		{
			`"name":"commander_repas","description":"Commander un repas"`, ``,
			[]string{"je voudrais un repas", "commande un repas", "un repas s'il vous plaît", "apportez-moi un repas", "je veux commander un repas", "j'aimerais un repas pour deux"}, nil,
			[]string{"mon repas", "le repas", "le repas de ce soir"},
		},
	},
}

// tools returns the two with a number of examples each.
func (t trade) tools(examples int) []string {
	with := func(tool string, all []string) string {
		quoted := lists.Map(all[:min(examples, len(all))], func(one string) string { return fmt.Sprintf("%q", one) })
		return "{" + tool + `,"examples":[` + strings.Join(quoted, ",") + "]}"
	}
	tools := []string{with(t.give, t.gives)}
	if t.take != "" {
		tools = append(tools, with(t.take, t.takes))
	}
	return tools
}

// said sends each phrase about each thing to the tools of each trade, with several numbers of examples and both
// bars.
func said(t *testing.T, ways map[string][]string, judge func(trade, string, string)) {
	for language, all := range trades {
		for _, trade := range all {
			for _, examples := range []int{0, 2, 4, 6} {
				tools := matchertest.InScope(t, matchertest.Scope, "r", trade.tools(examples)...)
				for _, bar := range []string{repositories.BarCertain, repositories.BarLikely} {
					for _, way := range ways[language] {
						for _, thing := range trade.things {
							text := strings.ReplaceAll(strings.TrimSpace(way), "{}", thing)
							judge(trade, fmt.Sprintf("%s, %d examples: %s", bar, examples, text), fired(t, text, bar, tools))
						}
					}
				}
			}
		}
	}
}

// otherwise are requests about an existing thing that neither get it nor cancel it.
var otherwise = map[string][]string{
	"en": strings.Split(`print {}; share {} with Anna; show me {}; find {}; where do I put {}; rate {}; I want to talk about {}; I need help with {}; please confirm {}; check {}; look up {};
		lend me {}; I want to complain about {}; I want to pay for {}; can you remind me of {}; describe {}; can I upgrade {}; I want to know more about {}; I have a question about {}; I want a refund for {};
		can you explain {} to me; I must miss {}; no more {}; enough of {}; I want nothing to do with {}; let me out of {}; I'd rather not have {}; I am sick of {}; ditch {}; I'd like to nix {}`, ";"),
	"de": strings.Split(`zeig mir {}; ich habe eine Frage zu {}; ich will mich über {} beschweren; bitte {} verlängern; ich möchte über {} sprechen; {} bitte kürzen; bitte {} bestätigen;
		ich möchte {} bezahlen; ich muss {} ausfallen lassen`, ";"),
	"fr": strings.Split(`je veux payer {}; j'ai une question sur {}; je veux me plaindre de {}; prolongez {}; confirmez {}; imprimez {}; je veux parler de {}; vendez {}; raccourcissez {}`, ";"),
}

func does(name, tool string) bool { return strings.Contains(tool, `"name":"`+name+`"`) }

func TestAskingForTheOppositeFiresWhatDoesThatAtMost(t *testing.T) {
	t.Parallel()
	all, right := 0, 0
	said(t, undone, func(one trade, said, got string) {
		all++
		if does(got, one.take) {
			right++
		} else {
			assert.Empty(t, got, said)
		}
	})
	t.Logf("%d of %d fire the tool that takes back", right, all)
	require.Greater(t, all, 6000)
	require.Greater(t, right, all/4)
}

func TestAnotherActFiresNothingThatGives(t *testing.T) {
	t.Parallel()
	all, wrong := 0, map[string]int{}
	said(t, otherwise, func(one trade, said, got string) {
		all++
		if does(got, one.give) {
			wrong[said]++
		}
	})
	require.Greater(t, all, 3000)
	require.Less(t, 100*len(wrong), all, "%d of %d: %v", len(wrong), all, wrong)
}

// cancelled are requests for the opposite that do not want another time or kind.
var cancelled = map[string][]string{
	"en": strings.Split(`cancel {}; I want to call off {}; call {} off; I want to get rid of {}; get me out of {}; I need to give up {}; take me off {}; please drop {}; I no longer need {}`, ";"),
	"de": strings.Split(`storniere {}; sag {} ab; ich will {} loswerden; ich brauche {} nicht mehr`, ";"),
	"fr": strings.Split(`annulez {}; je veux résilier {}; je n'ai plus besoin de {}`, ";"),
}

func TestWordsThatUndoAreThoseOfTheToolThatDoes(t *testing.T) {
	t.Parallel()
	all, right := 0, 0
	said(t, cancelled, func(one trade, said, got string) {
		if one.take == "" {
			assert.Empty(t, got, said)
			return
		}
		all++
		if does(got, one.take) {
			right++
		} else {
			assert.Empty(t, got, said)
		}
	})
	require.GreaterOrEqual(t, 100*right, 65*all, "%d of %d", right, all)
}

func TestAskingForAThingStillGetsIt(t *testing.T) {
	t.Parallel()
	asked := strings.Split(`I need {}; I want {}; could I have {} please; can you get me {}; {} please; get me {}; I would like to have {};
		please arrange {}; help me get {}; I am looking for {}; we need {}; I have to get {}; can I get {} today; is it possible to get {}; may I have {} for Monday; I need {} on Monday`, ";")
	things := []string{"an appointment", "a newsletter", "a meal", "a car", "a parking permit", "a course"}
	all, right := 0, 0
	for i, trade := range trades["en"] {
		for _, examples := range []int{0, 2, 4, 6} {
			tools := matchertest.InScope(t, matchertest.Scope, "r", trade.tools(examples)...)
			for _, way := range asked {
				text := strings.ReplaceAll(strings.TrimSpace(way), "{}", things[i])
				all++
				if got := fired(t, text, repositories.BarCertain, tools); does(got, trade.give) {
					right++
				} else {
					assert.Empty(t, got, text)
				}
			}
		}
	}
	require.GreaterOrEqual(t, 100*right, 80*all, "%d of %d", right, all)
}

func TestAToolTeachesWhatUndoesItsNeighbour(t *testing.T) {
	t.Parallel()
	const book = `{"name":"book-class","description":"Book a class","examples":["why not book me a class","I want a class"]}`
	plain := matchertest.InScope(t, matchertest.Scope, "r", book, `{"name":"cancel-class","description":"Cancel a class"}`)
	taught := matchertest.InScope(t, matchertest.Scope, "r", book, `{"name":"cancel-class","description":"Cancel a class","examples":["I must bail on it"]}`)
	require.Equal(t, "book-class", fired(t, "I want to bail on a class", repositories.BarLikely, plain))
	require.Empty(t, fired(t, "I want to bail on a class", repositories.BarLikely, taught))
	for _, said := range []string{"I do not want a class", "I don't want to book a class", "please not a class"} { // although an example has a "not"
		require.Empty(t, fired(t, said, repositories.BarLikely, plain), said)
	}
}

// told are remarks about a thing that do not ask for it.
var told = map[string][]string{
	"en": strings.Split(`I already have {}; I will be late for {}; is {} on Monday at 9?; my sister has {}; did I book {}?; do I have {} on Monday?; have I got {}?; {} was fine;
		{} is too early; I had {} yesterday; how long does {} take?; what does {} cost?; I forgot {}; we talked about {}; there was {} last week; {} starts at 9; is {} free?; who has {}?;
		why do I need {}?; somebody gave me {}; I like {}; I hate {}; I got {} yesterday; I am waiting for {}; nobody told me about {}; was {} cancelled?;
		can you tell me when {} is?; do you know where {} is?; I wonder what {} costs; I am happy with {}; {} has been great; I saw {} on the web; when is {}?; my friend has {} as well;
		I was at {} on Monday; thanks for {}; what is {}?; did you send {}?; has {} been paid?; are there two of {}?; where can I find {}?; I have paid for {}; {} never came;
		will {} be long?; does {} include breakfast?; I cannot find {}; I lost {}; they told me that {} is on Friday; {} took an hour; I did not want {}; I did not need {} after all`, ";"),
	"de": strings.Split(`ich habe schon {}; ich komme zu spät zu {}; ist {} am Montag?; meine Schwester hat {}; habe ich {}?; {} war gut; {} ist zu früh; gestern war {} voll;
		wie lange dauert {}?; was kostet {}?; ich habe {} vergessen; wir haben über {} gesprochen; {} beginnt um 9; wer hat {}?; warum brauche ich {}?; ich mag {};
		ich warte auf {}; war {} teuer?; weisst du wo {} ist?; wann ist {}?; danke für {}; gibt es {}?; ich habe {} gestern bekommen; hat {} geholfen?; {} hat lange gedauert`, ";"),
	"fr": strings.Split(`j'ai déjà {}; je serai en retard pour {}; est-ce que {} est lundi ?; ma soeur a {}; est-ce que j'ai {} ?; {} était bien; {} est trop tôt; hier j'avais {};
		combien de temps dure {} ?; combien coûte {} ?; j'ai oublié {}; nous avons parlé de {}; {} commence à 9 heures; qui a {} ?; pourquoi faut-il {} ?; j'aime {};
		j'attends {}; quand est {} ?; merci pour {}; où est {} ?; j'ai reçu {} hier; {} a duré une heure`, ";"),
}

func TestSpeakingOfAThingFiresNothing(t *testing.T) {
	t.Parallel()
	all := 0
	said(t, told, func(_ trade, said, got string) {
		all++
		assert.Empty(t, got, said)
	})
	require.Greater(t, all, 8000)
}

func fired(t testing.TB, said, bar string, tools []matcher.Candidate) string {
	request := matcher.Request{Text: said, Candidates: tools, Now: matchertest.Friday, App: &repositories.App{Settings: repositories.Settings{Offline: repositories.Offline{Bar: bar}}}}
	result, err := offline.New().Match(t.Context(), request)
	require.NoError(t, err)
	names := lists.Map(result.Matches, func(one matcher.Match) string { return one.Tool.Name })
	return strings.Join(names, " ")
}

// TestTheNearestToolIsNotPassedOver has a second tool with a common word.
func TestTheNearestToolIsNotPassedOver(t *testing.T) {
	t.Parallel()
	tools := matchertest.InScope(t, matchertest.Scope, "r",
		`{"name":"book-massage","description":"Book a massage in the spa","examples":["I need a massage","book a massage in the spa"]}`,
		`{"name":"spa-hours","description":"Tell the opening hours of the spa"}`)
	require.Equal(t, "spa-hours", fired(t, "what are the opening hours of the spa?", repositories.BarLikely, tools))
	for _, said := range []string{"was the massage in the spa good?", "is the massage in the spa good?", "the massage in the spa was good"} {
		require.Empty(t, fired(t, said, repositories.BarLikely, tools), said)
	}
}
