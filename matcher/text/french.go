package text

var french = language{
	LanguageCode: `fr`,
	// What carries no subject.
	StopWords: `
		je tu il elle nous vous ils elles mon ma mes ton ta tes son sa ses notre nos votre vos le la les un une des du
		au aux et ou mais ne pas est suis sont etre ai avoir avez avons que qui quoi quel quelle quels quelles ce cet
		cette ces dans pour par sur avec sans chez de en y plait sil l d j m n s t c qu`,
	RequestWords:     `veux veut voudrais voudrait aimerais souhaite besoin faut svp merci bonjour`,
	CalendarWords:    `demain aujourdhui lundi mardi mercredi jeudi vendredi samedi dimanche heures`,
	Elisions:         `l d j m n s t c qu un`,
	DefiniteArticles: `le la les`,
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
	InsteadWords:   `sauf`,
	OnlyWords:      `seulement juste`,
	PartingWords:   `merci adieu`,
	YesWords:       `oui`,
	AffirmingWords: `oui`,
	RefusingWords:  `non`,
	ConsentPhrases: `
		oui; ouais; ouaip; mais oui; si; bien sur; bien sur que oui; d accord; je suis d accord; dac; volontiers; avec
		plaisir; vas y; allez y; fais le; faites le; fais ca; faites ca; faites; je confirme; confirme; confirmez;
		confirmer; j accepte; je veux bien; tout a fait; exactement; exact; certainement; absolument; evidemment; ca me
		va; ca marche`,
	AssentPhrases: `tres bien; entendu`,
	RefusalPhrases: `
		non; surtout pas; pas du tout; certainement pas; absolument pas; surement pas; bien sur que non; mais non;
		annule; annulez; annuler; annule ca; annulez ca; annule tout; arrete; arretez; arrete ca; stop; laisse tomber;
		laissez tomber; laisse; oublie; oublie ca; oubliez; oubliez ca; ne le fais pas; ne le faites pas; ne fais pas
		ca; ne faites pas ca; ne fais rien; ne faites rien; je ne veux pas; je n en veux pas; je prefere pas; je ne
		prefere pas; je prefere que non; plutot pas; jamais; jamais de la vie; en aucun cas; je refuse; non annule;
		non annulez; non arrete; non arretez; non laisse tomber; non laissez tomber; pas maintenant; non pas
		maintenant; c est faux`,
	CourtesyPhrases: `
		s il te plait; s il vous plait; sil te plait; sil vous plait; svp; stp; merci; merci bien; merci beaucoup;
		parfait; super; euh; ca va; c est bon; c est parfait; bien`,
	Opposites: `allumer eteindre; ouvrir fermer`,
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
