package text

var french = language{
	// What carries no subject.
	StopWords: `
		je tu il elle nous vous ils elles mon ma mes ton ta tes son sa ses notre nos votre vos le la les un une des du
		au aux et ou mais ne pas est suis sont etre ai avoir avez avons que qui quoi quel quelle quels quelles ce cet
		cette ces dans pour par sur avec sans chez de en y plait sil l d j m n s t c qu`,
	RequestWords:  `veux veut voudrais voudrait aimerais souhaite besoin faut svp merci bonjour`,
	CalendarWords: `demain aujourdhui lundi mardi mercredi jeudi vendredi samedi dimanche heures`,
	Elisions:      `l d j m n s t c qu un`,
	// What a sentence does.
	Fillers:           `bonjour oui et alors`,
	QuestionWords:     `que quel quelle quels quelles quand ou comment pourquoi qui combien est`,
	WishWords:         `veux voudrais voudrait souhaite aimerais besoin svp`,
	PoliteVerbs:       `peux pouvez pourriez pourrais`,
	PolitePersons:     `tu vous je nous`,
	TellingWords:      `je mon ma le la les`,
	AbandoningPhrases: `laisse tomber; laissez tomber; annule; annuler`,
	// Yes and no.
	Denials:        `non sans`,
	Negations:      `pas jamais aucun aucune`,
	UndoingWords:   `annuler annulez annule`,
	DroppingWords:  `oublie oubliez`,
	PartingWords:   `merci adieu`,
	YesWords:       `oui`,
	AffirmingWords: `oui`,
	RefusingWords:  `non`,
	Opposites:      `allumer eteindre; ouvrir fermer`,
	// Dates, times and numbers.
	RangeWords: `au a`,
	OfWords:    `de`,
	HourCues:   `a`,
	ClockCues:  `a vers`,
	Months:     `janvier=1 fevrier=2 mars=3 avril=4 mai=5 juin=6 juillet=7 aout=8 septembre=9 octobre=10 novembre=11 decembre=12`,
	Weekdays:   `dimanche=0 lundi=1 mardi=2 mercredi=3 jeudi=4 vendredi=5 samedi=6`,
	NearDays:   `hier=-1 aujourdhui=0 demain=1`,
	Numbers:    `deux=2 trois=3 quatre=4 cinq=5 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12`,
	Scales:     `mille=3`,
	// Parameters by their names.
	DateNames:  `jour`,
	ClockNames: `heure`,
	PlaceNames: `ville lieu`,
	// What brings a value.
	StartCues:       `du de`,
	EndCues:         `au jusqu`,
	Copulas:         `est`,
	BoundaryWords:   `et ou avec pour`,
	AnnouncingWords: `appele intitule`,
	PoliteWords:     `merci svp`,
	OriginCues:      `depuis`,
	PlaceCues:       `en`,
	PersonCues:      `avec`,
	AuthorCues:      `par de`,
}
