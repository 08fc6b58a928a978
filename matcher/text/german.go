package text

var german = language{
	// What carries no subject.
	StopWords: `
		ich du er sie es wir ihr mich mir dich dir uns euch mein meine meinen meiner dein deine der die das den dem des
		ein eine einen einem einer und oder aber nicht kein keine ist sind bin bist sein haben habe hat hatte werden
		wird wurde kann konnen konnte soll muss im auf aus bei mit nach von vom zu zum zur fur uber unter vor durch wie
		wer wo wann warum welche welcher welches auch noch nur schon sehr`,
	RequestWords:  `mochte mochten will wollen wollte brauche brauchen bitte gerne gern hatte danke`,
	CalendarWords: `heute morgen ubermorgen montag dienstag mittwoch donnerstag freitag samstag sonntag uhr`,
	// What a sentence does.
	Fillers:           `hallo bitte ja und also`,
	QuestionWords:     `wann wo wer wie welche welcher welches warum wieso weshalb ist sind hat gibt`,
	WishWords:         `mochte mochten brauche brauchen bitte gerne gern hatte`,
	PoliteVerbs:       `kannst konnen konnten konntest wurden wurdest`,
	PolitePersons:     `ihr sie du mir uns ich`,
	TellingWords:      `ich wir mein meine der die das es`,
	WishPairs:         `ich will; will ich`,
	AbandoningPhrases: `vergiss es; vergessen sie es; egal; abbrechen`,
	// Yes and no.
	Denials:        `ohne kein keine keinen`,
	Negations:      `nicht kein keine keinen keinem keiner nie`,
	UndoingWords:   `stornieren storniere absagen abbrechen abbestellen`,
	DroppingWords:  `vergiss`,
	PartingWords:   `danke tschuss`,
	YesWords:       `ja`,
	NoWords:        `nein`,
	AffirmingWords: `ja gerne`,
	RefusingWords:  `nein`,
	Opposites:      `an aus; einschalten ausschalten; offnen schliessen`,
	// Dates, times and numbers.
	RangeWords: `bis und`,
	HourCues:   `um`,
	ClockCues:  `um ab gegen bis`,
	Months:     `januar=1 februar=2 marz=3 april=4 mai=5 juni=6 juli=7 august=8 september=9 oktober=10 november=11 dezember=12`,
	Weekdays:   `sonntag=0 montag=1 dienstag=2 mittwoch=3 donnerstag=4 freitag=5 samstag=6`,
	NearDays:   `gestern=-1 heute=0 morgen=1 ubermorgen=2`,
	Numbers:    `zwei=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwolf=12`,
	Scales:     `tausend=3`,
	// Parameters by their names.
	DateNames:  `datum tag`,
	ClockNames: `uhrzeit`,
	PlaceNames: `ort stadt`,
	// What brings a value.
	StartCues:       `von ab`,
	EndCues:         `bis`,
	Copulas:         `ist heisst`,
	BoundaryWords:   `und oder mit fur am um bitte`,
	AnnouncingWords: `namens`,
	ObjectLinks:     `mir uns nach dass`,
	PoliteWords:     `bitte danke`,
	OriginCues:      `von aus`,
	DestinationCues: `nach zu zum zur`,
	PlaceCues:       `bei`,
	RoomCues:        `im`,
	PersonCues:      `mit`,
	AuthorCues:      `von`,
}
