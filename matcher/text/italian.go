package text

var italian = language{
	languageCode: `it`,
	// Words without a subject.
	Currencies: `euro`,
	StopWords: `
		io lui lei noi voi loro mi ti ci vi lo gli i uno una del dello della dei degli delle nel nella al allo alla ai alle agli delle dalle nelle
		dal dalla sul sulla con per tra fra e ed o ma non sono sei siamo saremo ho hai ha abbiamo che chi cosa quale quanto
		dove perche mio mia miei tuo tua suo sua questo questa quello quella di da in`,
	RequestWords:     `vorrei vorremmo voglio vogliamo vuole vuoi bisogno favore piacere grazie ciao`,
	CalendarWords:    `domani oggi lunedi martedi mercoledi giovedi venerdi sabato domenica`,
	elisions:         `dell all nell sull quest`,
	DefiniteArticles: `il lo la gli le`,
	// Moods of sentences.
	AdditionPhrases:   `e; anche; e anche; inoltre; e inoltre`,
	Fillers:           `ciao si e allora dai ehi senti poi`,
	QuestionWords:     `cosa quando dove come perche quanto quale chi`,
	possiblePhrases:   `e possibile; sarebbe possibile; c e modo di`,
	WishWords:         `vorrei vorremmo voglio vogliamo bisogno favore`,
	owingPhrases:      `devo; dobbiamo`,
	wishPairs:         `ho bisogno; mi serve; dobbiamo; ci serve; mi piacerebbe`,
	KnowingWords:      `sapere sai sa dimmi chiedere chiedi verificare`,
	TroubleWords:      `perso persa rubato rubata rotto rotta guasto guasta scaduto scaduta dimenticato`,
	WrongWords:        `sbagliato sbagliata`,
	repairPhrases:     `intendevo; no scusa; scusa; scusi; scusami; anzi; no anzi; voglio dire; volevo dire; o meglio; mi correggo`,
	loosePhrases:      `scusa; scusi; scusami; anzi`,
	SuitingWords:      `perfetto ideale bene meglio va`,
	Hesitations:       `eh ehm uhm mmm`,
	conditionWords:    `se; quando; appena; non appena; nel caso; qualora; a meno che; purche; salvo che; finche; a patto che; a condizione che; a meno di; dopo che; prima che; solo se; solo dopo; solo quando; aspetta che; aspetti che`,
	provisoPhrases:    `soggetto a; soggetta a; subordinato a; in attesa di; a seconda di; a seconda del; a seconda della; a seconda dei; in base a; in base al; in base alla`,
	consentCues:       `previa; previo; salvo; una volta`,
	consentWords:      `approvazione conferma autorizzazione consenso permesso accordo consultazione approvato approvata confermato confermata autorizzato`,
	impersonals:       `si`,
	ableVerbs:         `puo possono potrebbe`,
	CourtesyWords:     `possibile puoi puo potresti vuoi dispiace favore`,
	perfectWords:      `ho hai ha abbiamo hanno`,
	holding:           `portafoglio=carta borsa=carta`,
	AttendingVerbs:    `venire partecipare`,
	participles:       `fatto detto aperto chiuso messo preso scritto visto rotto rimosso spento acceso`,
	titleWords:        `dott sig ing avv dr prof egr`,
	PoliteVerbs:       `puoi potresti`,
	PolitePersons:     `mi`,
	TellingWords:      `mi mio mia il lo ho abbiamo ieri`,
	abandoningPhrases: `lascia stare; lascia perdere; annulla`,
	leavingPhrases:    `arrivederci; arrivederla; ciao; ciao ciao; a presto; addio; buona giornata; buona serata; buona notte; buonanotte`,
	wonderingVerbs:    `sapere chiedere`,
	whetherWords:      `se quanto`,
	// Yes and no.
	Denials:        `non senza`,
	Negations:      `non nessun nessuno nessuna`,
	UndoingWords:   `annulla annullare annulli disdire disdici`,
	DroppingWords:  `dimentica lascia`,
	firstPersons:   `io noi`,
	OwnGroup:       `noi siamo saremo`,
	AnsweringVerbs: `dico penso prendo preferisco preferiamo scelgo vengo veniamo diciamo facciamo`,
	havingWords:    `ho abbiamo`,
	beingWords:     `sono siamo`,
	ownForms:       `ho abbiamo`,
	availableWords: `libero libera liberi disponibile disponibili tempo`,
	InsteadWords:   `tranne`,
	exceptPhrases:  `tranne; eccetto; salvo; a eccezione di; ad eccezione di; a parte; ma non`,
	butWords:       `meno`,
	contrastWords:  `ma`,
	notCues:        `a al alla ai alle con per da dal`,
	NobodyWords:    `nessuno`,
	allWords:       `tutto tutti tutta tutte ogni qualsiasi qualunque chiunque ovunque dappertutto`,
	KinWords: `
		madre mamma padre papa genitori fratello sorella moglie marito compagna compagno figlio figlia zio zia cugino cugina nonna nonno
		amico amica capo collega vicino vicina`,
	neverWords:     `mai`,
	nowWords:       `adesso ora oggi`,
	UnableWords:    `posso possiamo`,
	KeepingWords:   `mantieni mantenere mantenga conserva conservare`,
	ReversingWords: `disfa disfare ripristina`,
	remindingVerbs: `dimenticare dimenticarti dimenticate esitare scordare scordarti`,
	refrainingPhrases: `
		evita; eviti; evita di; eviti di; smetti di; smetta di; smettila di; astieniti dal; si astenga dal; in nessun caso; per nessun motivo; non serve; non c e bisogno di; inutile; non serve; non occorre; non c e bisogno di; non e necessario; non bisogna`,
	feigningPhrases:  `fai finta; faccia finta; fingi; finga; immagina; immagini; supponi; supponiamo; facciamo finta; simula; pensavo; pensavo di; stavo pensando di; non so se; ho quasi; e se; mi chiedo se`,
	relayVerbs:       `di dica chiedi chieda ricordami ricorda ricordagli spiega spiegami spiegatemi lascia fai`,
	framePhrases:     `vuole che; vogliono che; solo il; solo la; solo mio; ultima cosa; impossibile; sempre; magari; stavo per; stavamo per; avrei voluto; avrei dovuto; avrei; quasi quasi; fuori discussione; guai a`,
	likelyPhrases:    `probabilmente; sicuramente`,
	uncertainPhrases: `forse; potrei; potremmo; dovrei; magari; un giorno; probabilmente; dovevo; dovevamo; dovremmo; potevo; potevamo; ho dovuto; abbiamo dovuto`,
	reportingVerbs:   `dice dicono disse chiede chiese scrive`,
	judgingWords:     `sarebbe era fu sara`,
	purposeWords:     `per`,
	omittingPhrases:  `invece di; al posto di; prima di; oltre a; senza; piuttosto che; anziche`,
	excludingPhrases: `tutto tranne; qualsiasi cosa tranne; tutto meno`,
	haltingPhrases:   `ferma; fermati; stop; basta`,
	retractingPhrases: `
		no; anzi no; neanche per sogno; non credo; non se ne parla; anzi; no grazie; no aspetta; no aspetti; aspetta; aspetti; scherzo; scherzavo; stavo scherzando; lascia stare; lascia perdere; lasci stare; meglio di no; non ora; non adesso; ripensandoci no; come non detto; ma scherzi; scherzi; stai scherzando; sta scherzando; e troppo; mai piu`,
	citingPhrases:  `e quello che; e cio che; era quello che`,
	onlyWords:      `solo soltanto`,
	PartingWords:   `grazie arrivederci`,
	YesWords:       `si`,
	AffirmingWords: `si certo`,
	RefusingWords:  `non`,
	ConsentPhrases: `
		si; certo; certo che si; certamente; sicuramente; assolutamente si; ovvio; ovviamente; d accordo; sono d
		accordo; volentieri; con piacere; va benissimo; procedi; proceda; procedi pure; proceda pure; procediamo; fallo;
		fallo pure; lo faccia; fai pure; faccia pure; vai; vai pure; vai avanti; vada avanti; conferma; confermo;
		confermato; esatto; esattamente; giusto; corretto; accetto; accettato; senz altro; senzaltro`,
	AssentPhrases: `va bene; va bene allora`,
	RefusalPhrases: `
		no; niente; niente grazie; anzi no; assolutamente no; certo che no; ovviamente no; meglio di no; preferisco di no; preferirei di no; direi di
		no; annulla; annullalo; annullala; annulla tutto; annullare; annulli; ferma; fermati; si fermi; fermo; stop;
		basta; lascia stare; lascia perdere; lasci stare; lasci perdere; non farlo; non lo fare; non lo faccia; non
		voglio; non lo voglio; non la voglio; per niente; niente affatto; mai; in nessun caso; rifiuto; rifiutato;
		dimenticalo; no annulla; no annullalo; no annullala; no lascia stare; no lascia perdere; no fermati; non ora;
		non adesso; no non ora; sbagliato; e sbagliato; non
		voglio piu; non lo voglio piu; non piu; meglio no; ho cambiato idea; non serve; non serve piu; non mi
		serve piu; non ne ho piu bisogno; non c e piu bisogno; non occorre; non occorre piu; come non detto; lasciamo stare; lasciamo perdere; fa
		niente; non fa niente`,
	CourtesyPhrases: `
		per favore; per piacere; per cortesia; prego; grazie; grazie mille; mille grazie; molte grazie; perfetto;
		ottimo; ehm; allora; va bene cosi; bene`,
	Opposites: `accendere spegnere; aprire chiudere`,
	// Dates, times and numbers.
	InexactPhrases: `
		meno di; piu di; circa; quasi; al massimo; al minimo; come massimo; almeno; non piu di; non meno di; fino a; massimo; minimo; un massimo di;
		un minimo di; intorno a; attorno a; all incirca; tranne; eccetto; salvo; tutto tranne; la meta di; meta di; un terzo di; un quarto di;
		una parte di; il doppio di; forse; piu o meno; oltre; poco piu di; poco meno di; circa gli`,
	InexactEndings: `o meno; o piu; o giu di li; al massimo; al minimo; almeno; piu o meno; circa; massimo; minimo; all incirca`,
	BoundNames:     `massimo minimo limite tetto`,
	StepCues:       `di`,
	ChangeWords:    `aumenta aumentare alza alzare abbassa abbassare riduci ridurre diminuisci diminuire incrementa piu meno`,
	RangeWords:     `al a e o fino`,
	ReturnWords:    `ritorno rientro`,
	OfWords:        `di del della dell`,
	HourCues:       `alle`,
	ClockCues:      `alle`,
	Months: `
		gennaio=1 febbraio=2 marzo=3 aprile=4 maggio=5 giugno=6 luglio=7 agosto=8 settembre=9 ottobre=10 novembre=11
		dicembre=12`,
	Weekdays:     `domenica=0 lunedi=1 martedi=2 mercoledi=3 giovedi=4 venerdi=5 sabato=6`,
	NearDays:     `ieri=-1; altro ieri=-2; l altro ieri=-2; oggi=0; domani=1; dopodomani=2; dopo domani=2; stasera=0; stamattina=0`,
	PastDays:     `scorso scorsa passato passata`,
	ComingDays:   `prossimo prossima questo`,
	ThisWeek:     `questa settimana;`,
	LastWeek:     `settimana scorsa; la settimana scorsa; scorsa settimana; la scorsa settimana; settimana passata`,
	AgoCues:      `fa`,
	NextWeek:     `prossima settimana; la prossima settimana; settimana prossima; la settimana prossima`,
	TimeUnits:    `secondo secondi minuto minuti ora ore giorno giorni settimana settimane mese mesi`,
	AheadCues:    `tra fra`,
	DayUnits:     `giorno=1 giorni=1 settimana=7 settimane=7 mese=m mesi=m`,
	DayShifts:    `prima di=-1; prima del=-1; prima della=-1; dopo=1`,
	SpanCues:     `per`,
	BeforeCues:   `prima di; prima delle; prima del; fino a; fino alle; entro; entro le; al piu tardi; non dopo; non dopo le`,
	AfterCues:    `dopo; dopo le; a partire da; a partire dalle; non prima di; non prima delle; dalle`,
	BetweenWords: `tra fra`,
	JoinWords:    `e`,
	EveryWords:   `ogni tutti`,
	HalfHours:    `e mezza=30; e mezzo=30; e un quarto=15; meno un quarto=-15`,
	NightWords:   `notte`,
	DayParts:     `mattina=a mattino=a stamattina=a pomeriggio=p sera=p stasera=p notte=p`,
	NamedHours:   `mezzogiorno=12:00 mezzanotte=00:00`,
	DateWords:    `un una l la il tra fra due scorso prossimo questo dopo`,
	Numbers:      `tre=3 quattro=4 cinque=5 sette=7 otto=8 nove=9 dieci=10 undici=11 dodici=12`,
	Scales:       `mila=3 mille=3 milione=6 milioni=6 miliardo=9 miliardi=9`,
	// Names of parameters.
	DateNames:      `giorno`,
	ClockNames:     `ora`,
	PeopleWords:    `persona persone ospite ospiti adulti posti coperti gente`,
	PlaceNames:     `citta luogo`,
	PersonNames:    `destinatario beneficiario persona contatto ospite medico dottore`,
	StartNames:     `inizio andata`,
	EndNames:       `fine ritorno`,
	ArrivalNames:   `arrivo`,
	DepartureNames: `partenza`,
	// Words that introduce values.
	LabelWords:      `numero codice nome`,
	StartCues:       `dal`,
	EndCues:         `al`,
	Copulas:         `e`,
	BoundaryWords:   `o e con per`,
	AnnouncingWords: `chiamato`,
	PoliteWords:     `grazie`,
	OriginCues:      `da dal dalla`,
	DestinationCues: `fino`,
	PersonCues:      `con`,
	AuthorCues:      `di`,
	spokenTo:        `amore tesoro urgente aiuto prima anche andiamo buonasera dottore dottoressa signore signora`,
	otherPersons:    `lui lei loro qualcuno nessuno cliente paziente medico dottore gente`,
	othersVerbs:     `vuole vogliono vorrebbe vorrebbero desidera chiede chiedono dice dicono ha hanno`,
	thirdModals:     `deve dovrebbe puo va`,
	ownWords:        `mio mia miei mie nostro nostra`,
	// Words after a value that are no part of it.
	laterPhrases: `
		l anno prossimo; anno prossimo; il mese prossimo; mese prossimo; il prossimo mese; il prossimo anno; a fine mese; alla fine del mese; prima o poi; piu tardi; un altra volta; nel fine settimana`,
	asidePhrases: `
		presto; svelto; veloce; sbrigati; si sbrighi; fai presto; subito; adesso; ora; immediatamente; al piu presto; il prima possibile; prima possibile; appena possibile; per favore; per piacere; per cortesia; grazie; grazie mille; urgentemente; in fretta; se possibile; se puoi`,
	BelongingWords: `del dell`,
	NameParticles:  `di da de del della dello degli dei dal dalla la lo`,
	OrWords:        `o oppure`,
	CentNames:      `centesimo centesimi`,
	SumWords:       `piu meno`,
	idlePhrases: `
		aspetta; aspetti; un attimo; un momento; un secondo; attimo; boh; mah; piu tardi; dopo; non so; non lo so; non saprei; buona domanda; bella domanda; cavolo; cazzo; merda; vedi sopra; fa lo stesso; lascia stare; e uguale; vediamo; niente; buongiorno; buon giorno; buonasera; buona sera; buonanotte; per chi; a chi; con chi`,
	MeansCues:      `tramite; mediante; come regalo; come rimborso; in regalo; in contanti; con bonifico; con paypal`,
	repeatingWords: `mensilmente quotidianamente settimanalmente annualmente regolarmente`,
	periodWords:    `anno anni mese mesi trimestre sera mattina`,
	timesNouns:     `volte volta`,
}
