package text

var german = language{
	languageCode: `de`,
	// Words without a subject.
	StopWords: `
		ich du er sie es wir ihr ihm ihn ihnen mich mir dich dir uns euch mein meine meinen meiner dein deine der die das den dem des
		ein eine einen einem einer und oder aber nicht kein keine ist sind bin bist sein haben habe hat hatte werden
		wird wurde kann konnen konnte soll muss im auf aus bei beim mit nach von vom zu zum zur fur uber unter vor durch wie
		wer wo wann warum welche welcher welches auch noch nur schon sehr`,
	RequestWords:     `mochte mochten will wollen wollte brauche brauchen bitte gerne gern hatte danke`,
	CalendarWords:    `heute morgen ubermorgen montag dienstag mittwoch donnerstag freitag samstag sonntag uhr`,
	DefiniteArticles: `der das`,
	// Moods of sentences.
	Fillers:           `hallo bitte ja und also`,
	QuestionWords:     `soll sollte sollen wann wo wer wie welche welcher welches warum wieso weshalb ist sind hat gibt`,
	WishWords:         `mochte mochten brauche brauchen bitte gerne gern haette`,
	PoliteVerbs:       `kannst konnen konnten konntest wurden wurdest`,
	PolitePersons:     `ihr sie du mir uns ich`,
	TellingWords:      `ich wir mein meine der die das es gestern vorgestern`,
	offerPhrases:      `haben sie; habt ihr; hast du; haben sie noch; habt ihr noch; hast du noch`,
	possiblePhrases:   `ist es moglich; ware es moglich; geht es dass`,
	tellingVerbs:      `ist sind war waren hat hatte wird`,
	owingPhrases:      `ich muss; wir mussen`,
	wishPairs:         `ich muss; wir mussen; ich muesste; wir muessten; ich will; will ich; ich nehme; wir nehmen; nehme ich; ich bekomme`,
	abandoningPhrases: `vergiss es; vergessen sie es; egal; abbrechen`,
	leavingPhrases:    `auf wiedersehen; auf wiederhoren; wiedersehen; tschuss; tschau; bis bald; bis dann; bis spater; schonen tag noch; schonen abend noch; einen schonen tag; einen schonen abend; machs gut; mach s gut`,
	// Relations to earlier messages and to time.
	Refusals: `nein ne nee`,
	repairPhrases: `
		nein; ne; nee; no; ach nein; nein warte; oder nein; ach ne; nein doch; nein doch lieber; moment; warte; halt;
		sorry; entschuldigung; verzeihung; pardon; ich meine; ich meinte; nein ich meine; nein ich meinte; besser gesagt;
		das heisst; oder besser; oder lieber; oder doch; oder doch lieber; doch lieber; lieber; doch; besser; nicht das;
		nicht die; nicht der; nicht den; nicht diese; nicht dieser; nicht dieses; nicht da; nicht dort; das andere; die andere; den anderen; korrektur; mach daraus; nimm lieber`,
	loosePhrases:    `moment; warte; halt; sorry; entschuldigung; verzeihung; pardon; lieber; doch; besser; no; ne; nee`,
	Hesitations:     `ah ahm hm ach na tja`,
	WrongWords:      `falsch falsche falscher falsches falschen`,
	RatherWords:     `lieber stattdessen`,
	SuitingWords:    `ware perfekt ideal wunderbar besser liebsten passt ginge geht gut bitte reicht dann`,
	insteadPhrases:  `statt; anstatt; anstelle von; an stelle von`,
	contrastWords:   `sondern aber`,
	AgainPhrases:    `wieder; noch einmal; nochmal; nochmals; noch mal; erneut; jetzt wieder; gleich wieder`,
	SamePhrases:     `dasselbe; das gleiche; das selbe; genauso; ebenso; auch so`,
	AdditionPhrases: `und; auch; und auch; und dann; ausserdem; ebenfalls; noch; und noch; und was ist mit; was ist mit; und wie ist es mit; dazu`,
	JoiningPhrases:  `und; und dann; und danach; und auch; dann; danach; sowie; und bitte; ausserdem`,
	ReturnWords:     `zuruck ruckflug ruckfahrt ruckweg retour`,
	Pronouns:        `es sie ihn das die den diese dieses diesen`,
	LightVerbs:      `mach mache machen machst macht schalt schalte schalten schaltest stell stelle stellen dreh drehe drehen tu tun nimm gib gebe`,
	ActionVerbs: `
		mach mache machen machst macht schalt schalte schalten schaltest stell stelle stellen dreh drehe drehen tu tun nimm
		gib gebe an aus auf zu ab ein hoch runter rauf offne offnen schliess schliesse schliessen starte starten stopp
		stoppe stoppen beende beenden zeig zeige zeigen buche buchen bestell bestelle bestellen ruf rufe such suche setz
		setze spiel spiele storniere stornieren losche losche sag sage sagen einschalten ausschalten anmachen ausmachen abbrechen reservieren reserviere`,
	EverythingWords: `alles etwas irgendwas irgendetwas nichts`,
	conditionWords:  `wenn; falls; sobald; sofern; nachdem; bevor; sollte; im falle; es sei denn; solange; vorausgesetzt; ausser wenn; erst wenn; erst nachdem; nur wenn; nur falls`,
	provisoPhrases:  `vorbehaltlich; unter vorbehalt; unter dem vorbehalt; je nach; je nachdem; bei bedarf; abhangig von; in abhangigkeit von`,
	consentWords:    `rucksprache absprache freigabe genehmigung zustimmung bestatigung ruckfrage erlaubnis einwilligung genehmigt bestatigt freigegeben`,
	impersonals:     `man`,
	ableVerbs:       `kann konnte`,
	timeConditions:  `sollte`,
	KnowingWords:    `weiss wissen sag sagen frag fragen prufen schau sehen zeig`,
	CourtesyWords:   `moglich geht kannst konnen konnten passt ginge mochten`,
	IndefiniteWords: `ein eine einen einem einer`,
	openWords:       `der den dem des ein eine einen einem einer mein meine meinen und oder mit fur im am`,
	Persons:         `ich du er sie es wir ihr man jemand der die das mein meine unser unsere`,
	TimeUnits:       `sekunden minute minuten stunde stunden tag tage tagen woche wochen monat monaten`,
	laterWords:      `spater nachher bald demnachst irgendwann gleich`,
	TroubleWords:    `kaputt verloren gestohlen defekt beschadigt laut laute abgelaufen vergessen fehlt undicht tropft verstopft`,
	FailingVerbs:    `funktioniert funktionieren geht gehen lauft`,
	PastWords: `
		war waren hatte hatten ging gingen kam kamen machte machten wollte wurde wurden gab fuhr`,
	perfectWords:   `habe hast hat haben bin ist sind`,
	titleWords:     `dr prof hr dipl ing bzw ca evtl ggf inkl`,
	nameTitles:     `fr str st`,
	numberingWords: `nr`,
	wonderingVerbs: `wissen erfahren fragen`,
	whetherWords:   `ob`,
	// Yes and no.
	Denials:   `ohne kein keine keinen`,
	Negations: `nicht nich nichts nix kein keine keinen keinem keiner nie niemals keinesfalls keineswegs nimmer`,
	UndoingWords: `
		stornieren storniere stornier absagen abbrechen abbestellen abmelden kundigen kundige widerrufen widerrufe loswerden streichen streich streiche loschen losche aufheben
		zuruckgeben beenden entfernen entferne ruckgangig`,
	DroppingWords:  `vergiss`,
	firstPersons:   `ich wir`,
	OwnGroup:       `wir`,
	AnsweringVerbs: `sage sagte sagen meine meinte meinen denke nehme nehmen wahle wahlen komme kommen bleibe bleiben bevorzuge`,
	havingWords:    `habe haben`,
	beingWords:     `bin sind`,
	availableWords: `frei zeit verfugbar`,
	InsteadWords:   `statt anstatt`,
	OffWords:       `aus ab`,
	neverWords:     `nie niemals`,
	nowWords:       `jetzt heute`,
	hereWords:      `hier`,
	UnableWords:    `kann konnen konnte`,
	KeepingWords:   `behalte behalten behalt belass belassen`,
	ReversingWords: `ruckgangig widerrufen widerrufe`,
	remindingVerbs: `vergiss vergessen vergesst versaume`,
	refrainingPhrases: `
		hor auf; hore auf; hort auf; horen sie auf; vermeide; vermeide es; vermeiden sie; vermeiden sie es; unterlass; unterlass es; unterlasse; unterlasse es; unterlassen sie; unterlassen sie es; verzichte
		darauf; verzichten sie darauf; sieh davon ab; sehen sie davon ab; auf keinen fall; auf gar keinen fall; unter keinen umstanden; in keinem fall; es ist nicht notig; sie mussen nicht; du musst nicht; du brauchst nicht; sie brauchen nicht; nicht notig`,
	feigningPhrases: `tu so; tun wir so; tun sie so; stell dir vor; stellen sie sich vor; angenommen; nehmen wir an; nimm mal an; mal angenommen; spiel mir vor; gib vor; ich dachte; fast hatte ich; beinahe hatte ich; ich hatte fast; ich uberlege; ich weiss nicht ob; ich weiss noch nicht ob; was wenn ich`,
	relayVerbs:      `sag sage sagen frag frage fragen erinner erinnere erinnern erklar erklare erklaren lass lasst`,
	framePhrases: `soll; sollen; darf; durfen; man kann; man konnte; man sollte; letzte was; unmoglich; immer; standig; entweder; oder ich; sonst; ausserstande; nicht in der lage;
		erinner mich; erinnere mich; ich konnte; fast; beinahe`,
	likelyPhrases:    `wahrscheinlich; vermutlich`,
	uncertainPhrases: `vielleicht; eventuell; moglicherweise; womoglich; irgendwann; wahrscheinlich; vermutlich; ich musste; ich konnte; ich durfte; musste ich; wir mussten; wir konnten`,
	reportingVerbs:   `sagt sagte fragt fragte meint meinte schreibt schrieb behauptet`,
	judgingWords:     `ist ware war wurde bringt macht`,
	leaveVerbs:       `darf durfte durfen kann konnte`,
	purposeWords:     `um zum`,
	omittingPhrases:  `statt; anstatt; ohne; anstelle`,
	excludingPhrases: `alles ausser; alles bloss keine; alles nur keine; alles nur kein; alles nur nicht; alles bloss nicht; jede ausser; jeder ausser; alle ausser`,
	haltingPhrases:   `stopp; stop`,
	retractingPhrases: `
		nicht; nein; doch nicht; lieber doch nicht; lieber nicht; besser nicht; ach nein; ach ne; nein danke; nein warte; nein halt; nein moment; warte; halt; moment; nein doch nicht; kommt nicht in frage; von wegen; niemals; nie im leben; ich glaube nicht; war nur spass; nur spass; war ein
		scherz; kleiner scherz; vergiss es; vergessen sie es; nee; nee danke; nein lieber nicht; egal; ach egal; ach vergiss es; ich habe es mir anders uberlegt; nie wieder; bei euch nie wieder; spinnst du; das ist zu viel; du machst witze; sie machen witze; soll das ein witz sein`,
	citingPhrases:  `ist was; war was; das ist was; das war was`,
	onlyWords:      `nur bloss`,
	PartingWords:   `danke tschuss`,
	YesWords:       `ja`,
	NoWords:        `nein`,
	AffirmingWords: `ja gerne`,
	RefusingWords:  `nein`,
	ConsentPhrases: `
		ja; jawohl; jap; jep; jup; ja doch; klar; na klar; aber klar; naturlich; natuerlich; selbstverstandlich; sicher;
		aber sicher; gern; gerne; sehr gern; sehr gerne; genau; richtig; korrekt; das stimmt; einverstanden; ich bin
		einverstanden; bestatigt; bestatige; ich bestatige; ich bestatige das; bestatigen; mach das; mach es; mach mal;
		mach das jetzt; machs; mach; das machen; machen; machen sie das; machen sie es; machen wir; tu das; tu es; tun
		sie das; los; leg los; legen sie los; nur zu; auf jeden fall; unbedingt; absolut; mit vergnugen; du kannst das
		machen; sie konnen das machen`,
	AssentPhrases: `in ordnung; das ist in ordnung; alles klar; na gut; also gut`,
	RefusalPhrases: `
		nein; nee; nichts; nichts danke; lieber nicht; besser nicht; auf keinen fall; auf gar keinen fall; keinesfalls; keineswegs; bloss
		nicht; naturlich nicht; natuerlich nicht; sicher nicht; ganz sicher nicht; bestimmt nicht; absolut nicht;
		bitte nicht; mach das nicht; mach das bitte nicht; mach es nicht; machen sie das nicht; machen sie es nicht;
		tu das nicht; tu es nicht; tun sie das nicht; nicht machen; ich will nicht; ich will das nicht; das will ich
		nicht; will ich nicht; ich mochte nicht; ich mochte das nicht; das mochte ich nicht; mochte ich nicht; stopp;
		stop; abbrechen; abbruch; brich ab; brich das ab; brechen sie ab; brechen sie das ab; vergiss es; vergiss das;
		vergessen sie es; vergessen sie das; lass es; lass das; lass mal; lass es sein; lassen sie das; lassen sie es;
		abgelehnt; ich lehne ab; niemals; nein stopp; nein stop; nein abbrechen; nein vergiss es; nein lass es; nein
		lass das; jetzt nicht; nein jetzt nicht; nicht jetzt; falsch; das ist falsch; das stimmt nicht; das passt
		nicht; ich will nicht mehr; ich
		mochte nicht mehr; ich will das nicht mehr; ich mochte das nicht mehr; doch nicht; lieber doch nicht; nicht mehr; ich habe es mir anders uberlegt;
		hat sich erledigt; das hat sich erledigt; es hat sich erledigt; hat sich schon erledigt; das hat sich schon erledigt; das ist erledigt; schon
		gut; lass gut sein; lassen sie es gut sein; nicht mehr notig; das ist nicht mehr notig; ist nicht mehr notig; nicht mehr notwendig; brauche
		ich nicht mehr; ich brauche es nicht mehr; das brauche ich nicht mehr; brauchst du nicht mehr; brauchen wir nicht mehr; das brauchen wir nicht mehr; lassen wir das; lassen wir es; oder nein; ach nein; lass ihn;
		lass ihn stehen; lass sie; lass sie stehen; lass es stehen; lass es so; behalte ihn; behalte sie; behalte es`,
	CourtesyPhrases: `
		bitte; bitte schon; danke; danke schon; danke sehr; dankeschon; vielen dank; super; prima; perfekt; ahm;
		passt; das passt; ist gut; das ist gut; gut`,
	Opposites: `an aus; einschalten ausschalten; offnen schliessen; starten stoppen; starten stopp; starten stoppe; sperren entsperren`,
	// Dates, times and numbers.
	InexactPhrases: `
		hochstens; mindestens; ungefahr; etwa; rund; zirka; ca; bis zu; uber; unter; weniger als; mehr als; nicht mehr als; nicht weniger als; maximal; minimal; knapp; fast; alles
		ausser; ausser; vielleicht; so um die; die halfte von; halfte von; ein drittel von; ein viertel von; ein teil von; das doppelte von; rund um;
		an die; nicht uber; nicht unter`,
	InexactEndings: `oder so; oder weniger; oder mehr; hochstens; mindestens; maximal; minimal; ungefahr; in etwa; circa; zirka; plus minus`,
	BoundNames:     `hochstens mindestens maximal minimal grenze obergrenze untergrenze hochstwert limit`,
	StepCues:       `um`,
	ChangeWords:    `hoher tiefer niedriger warmer kalter lauter leiser heller dunkler erhohe erhohen erhoh senke senken senk mehr weniger rauf runter hoch verringere verringern reduziere reduzier reduzieren steigere steigern kurze kurzen`,
	MoreWords:      `hoher tiefer niedriger warmer kalter lauter leiser heller dunkler mehr weniger langer kurzer schneller langsamer rauf runter`,
	BetweenWords:   `zwischen`,
	RangeWords:     `bis und oder`,
	NamedHours:     `mittag=12:00 mitternacht=00:00`,
	DayParts: `
		morgens=a fruh=a vormittag=a vormittags=a mittags=p nachmittag=p nachmittags=p abend=p abends=p nacht=p nachts=p`,
	HourCues:      `um`,
	ClockCues:     `um ab gegen bis`,
	Months:        `januar=1 februar=2 marz=3 april=4 mai=5 juni=6 juli=7 august=8 september=9 oktober=10 november=11 dezember=12`,
	Weekdays:      `sonntag=0 montag=1 dienstag=2 mittwoch=3 donnerstag=4 freitag=5 samstag=6`,
	NearDays:      `gestern=-1; vorgestern=-2; heute=0; heute morgen=0; morgen=1; ubermorgen=2`,
	MorningCues:   `guten am jeden diesen zum`,
	PastDays:      `letzten letzter letzte letztem vergangenen vergangener vergangene vorigen voriger`,
	ComingDays:    `kommenden kommender kommende diesen dieser`,
	NextDays:      `nachsten nachster nachste nachstem`,
	AfterNextDays: `ubernachsten ubernachster ubernachste`,
	ThisWeek:      `diese woche; dieser woche`,
	LastWeek:      `letzte woche; letzter woche; letzten woche; vergangene woche; vergangener woche; vorige woche; voriger woche`,
	AgoCues:       `vor`,
	NextWeek:      `nachste woche; nachster woche; nachsten woche; kommende woche; kommender woche; kommenden woche`,
	AheadCues:     `in`,
	DayUnits:      `tag=1 tage=1 tagen=1 woche=7 wochen=7 monat=m monate=m monaten=m`,
	DayShifts:     `vor=-1 nach=1 ab=1`,
	BesideDays:    `am tag danach=1; der tag danach=1; den tag danach=1; am tag darauf=1; tags darauf=1; am nachsten tag=1; am folgetag=1; einen tag spater=1; ein tag spater=1; am tag davor=-1; der tag davor=-1; den tag davor=-1; tags zuvor=-1; einen tag fruher=-1; ein tag fruher=-1`,
	SpanCues:      `fur`,
	BeforeCues:    `vor; bis; bis zum; spatestens; spatestens am; spatestens um; bis spatestens; nicht nach`,
	AfterCues:     `nach; seit; fruhestens; fruhestens am; fruhestens um; nicht vor`,
	JoinWords:     `und`,
	EveryWords:    `jeden jeder jede jedem`,
	NightWords:    `nacht nachts`,
	Clock24:       `um uhr`,
	DayCues:       `am den dem der vom zum bis ab`,
	DateWords: `
		in ein eine einen einem einer eines am letzten letzter letzte vergangenen kommenden nachsten nachster nachste diesen der dem den`,
	Numbers:    `zwei=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwolf=12`,
	Scales:     `tausend=3 million=6 millionen=6 mio=6 milliarde=9 milliarden=9 mrd=9`,
	Currencies: `euro euros franken`,
	UnitNames:  `grad prozent stunde stunden minute minuten sekunde sekunden kilo liter nacht nachte`,
	// Names of parameters.
	DateNames:        `datum tag`,
	ClockNames:       `uhrzeit`,
	NotedNames:       `nachricht notiz aufgabe erinnerung inhalt`,
	PeopleWords:      `person personen leute gast gaste erwachsene platze`,
	CodeNames:        `nummer kennzeichen kennwort`,
	PlaceNames:       `ort stadt`,
	AmountNames:      `anzahl menge stuckzahl`,
	OriginNames:      `von startort herkunft abfahrtsort`,
	DestinationNames: `nach ziel zielort`,
	PersonNames:      `empfanger empfaenger person kontakt gast arzt arztin teilnehmer lehrer lehrerin schuler schulerin patient patientin mitarbeiter`,
	StartNames:       `beginn anfang von ab hinreise hinfahrt hinflug abholung`,
	EndNames:         `ende schluss bis ruckreise ruckfahrt ruckflug ruckgabe`,
	ArrivalNames:     `ankunft anreise ankunftstag anreisetag`,
	DepartureNames:   `abfahrt abreise abflug abreisetag`,
	// Words that introduce values.
	LabelWords:      `nummer nr code name namen unter`,
	StartCues:       `von vom ab`,
	EndCues:         `bis`,
	Copulas:         `ist heisst`,
	BoundaryWords:   `und oder mit fur am um bitte`,
	Determiners:     `ein eine einen einem einer eines der das den dem des mein meine meinen meinem meiner etwas`,
	ThatWords:       `dass`,
	PuttingVerbs:    `setz setze schreib schreibe fug fuge pack packe notier notiere leg lege`,
	TargetCues:      `auf zu zur zum in ins von aus`,
	TrailingWords:   `auch wieder lieber doch dazu hinzu ein`,
	PersonVerbs:     `sag sage frag frage schreib schreibe ruf rufe informiere`,
	AnnouncingWords: `namens`,
	ObjectLinks:     `mir uns nach dass`,
	PoliteWords:     `bitte danke`,
	OriginCues:      `von aus`,
	DestinationCues: `nach zu zum zur`,
	PlaceCues:       `bei`,
	RoomCues:        `im`,
	PersonCues:      `mit an bei fur`,
	AuthorCues:      `von`,
	// Acts.
	acts: `
		create: anlegen lege_an erstellen erstelle erzeugen erzeuge eroffnen eroffne hinzufugen fuge_hinzu registrieren registriere
		einrichten richte_ein neu neue neuen neues; read: zeigen zeige zeig anzeigen abrufen rufe_ab lesen lies holen hole finden finde suchen suche
		auflisten liste_auf nachschlagen schlage_nach ansehen; many: auflisten suchen suche alle liste_auf; update: andern andere bearbeiten
		bearbeite aktualisieren aktualisiere anpassen passe_an setzen setze umbenennen; delete: loschen losche entfernen entferne loswerden
		werde_los wegwerfen wirf_weg schliessen schliesse streichen streiche vernichten; cancel: stornieren storniere kundigen kundige absagen
		sage_ab sag_ab abbrechen brich_ab widerrufen; refund: erstatten erstatte zuruckerstatten zuruckzahlen zahle_zuruck gib_zuruck
		zuruckgeben; return: zuruckgeben gib_zuruck zuruckschicken schicke_zuruck zurucksenden sende_zuruck; pay: zahlen zahle bezahlen
		bezahle begleichen; transfer: uberweisen uberweise; charge: abbuchen buche_ab belasten; buy: kaufen kaufe bestellen bestelle;
		reserve: buchen buche reservieren reserviere; send: senden sende schicken schicke; submit: einreichen reiche_ein; start: starten starte
		hochfahren fahre_hoch; stop: stoppen stoppe stopp anhalten halte_an herunterfahren fahre_herunter; on: einschalten anschalten schalte_ein
		schalte_an mach_an mache_an aktivieren aktiviere; off: ausschalten abschalten schalte_aus schalte_ab mach_aus mache_aus stell_aus stelle_aus stell_ab stelle_ab schalt_aus schalt_ab dreh_ab drehe_ab deaktivieren
		deaktiviere; pause: pausieren pausiere; resume: fortsetzen setze_fort; lock: sperren sperre; unlock: entsperren entsperre; login:
		einloggen anmelden logge_ein melde_an; logout: ausloggen abmelden logge_aus melde_ab; subscribe: abonnieren abonniere anmelden melde_an;
		unsubscribe: abbestellen bestelle_ab abmelden melde_ab; approve: genehmigen genehmige bestatigen annehmen nimm_an; reject: ablehnen
		lehne_ab; hire: einstellen stelle_ein; dismiss: entlassen entlasse feuern; track: verfolgen verfolge; reschedule: verschieben verschiebe
		verlegen verlege; assign: zuweisen weise_zu; invite: einladen lade_ein; upload: hochladen lade_hoch; download: herunterladen
		lade_herunter`,
	actNouns: `
		create: anlage erstellung registrierung eroffnung; update: anderung aktualisierung; delete: loschung entfernung schliessung; cancel:
		stornierung storno kundigung absage widerruf; refund: erstattung ruckerstattung ruckzahlung; return: ruckgabe rucksendung; pay: zahlung
		bezahlung; transfer: uberweisung; buy: kauf bestellung; reserve: buchung reservierung; login: anmeldung; logout: abmeldung; approve:
		genehmigung; reject: ablehnung; dismiss: entlassung; lock: sperrung; track: verfolgung; reschedule: verschiebung`,
	HolderWords:   `konto eintrag datensatz profil daten objekt`,
	ContractWords: `vertrag vertrage abonnement abo konto mitgliedschaft versicherung`,
	MoneyWords:    `geld betrag zahlung konto bank iban`,
	holding:       `brieftasche=karte geldborse=karte portemonnaie=karte handtasche=karte`,
	// Topics.
	related: `
		weather: wetter wettervorhersage regnen regnet regen schneit schnee sonnig regenschirm; pay: zahlen bezahlen rechnung; doctor: arzt arztin doktor;
		appointment: termin sprechstunde untersuchung; medicine: medikament medizin tablette tabletten rezept; reserve: reservieren reservierung buchen buchung; cancel: absagen stornieren kundigen;
		taxi: taxi; wake: wecker wecken weck; remind: erinnern erinnerung erinnere; money: geld kontostand guthaben; transfer: uberweisen uberweisung uberweise;
		block: sperren sperre; lost: verloren verlust gestohlen; light: licht lampe leuchte beleuchtung; heating: heizung warmer temperatur;
		blind: rollladen rolladen jalousie jalousien rollo vorhang; music: musik lied song; tv: fernseher; food: speisekarte karte essen gericht hunger; drink: getrank trinken durst;
		waiter: kellner kellnerin bedienung; hotel: hotel unterkunft; train: zug bahn; flight: flug fliegen flugzeug; way: weg route adresse wegbeschreibung;
		shop: einkaufen einkauf einkaufsliste kaufen; order: bestellen bestellung; note: notiz notieren aufschreiben; timer: timer stoppuhr; call: anrufen anruf telefonieren rufen;
		message: nachricht sms mail; person: mitarbeiter berater beraterin sprechen; help: hilfe helfen; fault: problem fehler kaputt defekt reparieren;
		parcel: paket lieferung sendung; return: ruckgabe zuruckgeben erstattung; price: preis kosten kostet; password: passwort kennwort; calendar: kalender besprechung;
		clean: saugen staubsauger putzen; holiday: urlaub ferien; sick: krank krankmeldung`,
	UndoingPairs: `
		sag ab; sage ab; sagen ab; bestell ab; bestelle ab; bestellen ab; meld ab; melde ab; gib zuruck; gebe zuruck; brauche nicht; nicht mehr; brauch nicht;
		keine mehr; keinen mehr; kein mehr; auf verzichten; will nicht; mochte nicht; werde los`,
	AlteringWords: `
		verschieben verschiebe verlegen verlege vorverlegen andern andere umbuchen buche umtauschen tauschen tausche wechseln verlangern verlangere ersetzen bearbeiten
		aktualisieren anpassen`,
	GivingVerbs: `
		buchen bestellen reservieren mieten leihen kaufen abonnieren anmelden beantragen vereinbaren erstellen anlegen hinzufugen
		registrieren bucht bestellt reserviert mietet kauft abonniert vereinbart erstellt`,
	GettingVerbs:   `wollen mochten haben bekommen nehmen geben machen holen bringen schicken kommen brauchen kriegen`,
	AttendingVerbs: `kommen erscheinen teilnehmen`,
	Definites:      `der die das den dem mein meine meinen meinem meiner unser unsere unseren dein deine deinen dieser diese diesen dieses`,
	exceptPhrases:  `ausser; ausgenommen; mit ausnahme von; bloss nicht; nur nicht; aber nicht`,
	butWords:       `bis auf;`,
	NobodyWords:    `niemand niemanden niemandem keiner`,
	allWords:       `alle allen alles jeder jede jeden jedem jedes uberall`,
	KinWords: `
		mutter mama vater papa eltern bruder schwester frau mann partner partnerin sohn tochter kind onkel tante cousin cousine oma opa
		grossmutter grossvater freund freundin chef chefin kollege kollegin nachbar nachbarin vermieter`,
	otherPersons: `er sie jemand niemand jeder keiner kunde kundin patient patientin gast mitarbeiter arzt arztin leute`,
	othersVerbs: `
		mochte mochten will wollen wollte wollten braucht benotigt brauchen wunscht sagt sagte meint meinte fragt bittet bat hat hatte`,
	needingVerbs: `brauche brauchst braucht brauchen brauchte benotige benotigt benotigen benotigte`,
	spokenTo:     `leute kinder jungs madels kollegen freunde`,
	thirdModals:  `soll sollte muss musste kann konnte darf wird`,
	ownWords:     `mein meine meinen meinem meiner unser unsere unseren unserem mir uns`,
	UnlessWords:  `warum oder nur ob`,
	// Words after a value that are no part of it.
	laterPhrases: `
		nachstes jahr; nachsten monat; nachstes mal; im nachsten jahr; im nachsten monat; ende des monats; am ende des monats; zum monatsende; am monatsende; am wochenende; eines tages;
		irgendwann mal; ein andermal; in zukunft`,
	asidePhrases: `
		beeil dich; beeilung; mach schnell; sofort; jetzt; umgehend; schnell; schnellstmoglich; so schnell wie moglich; so bald wie moglich; baldmoglichst; bitte; danke; vielen dank; dringend; unverzuglich; jetzt gleich; gleich jetzt; fur mich; wenn moglich; bitte sofort`,
	BelongingWords: `des`,
	NameParticles:  `von van der den vom ter ten`,
	OrWords:        `oder`,
	CentNames:      `rappen`,
	SumWords:       `zuzuglich abzuglich`,
	idlePhrases: `
		moment; noch nicht; weiss noch nicht; weiss ich noch nicht; ich weiss noch nicht; ich weiss es noch nicht; nicht sicher; bin nicht sicher; einen moment; ein moment; moment mal; sekunde; eine sekunde; warte; warte mal; gleich; sofort; na klar; ach egal; egal; ist egal; ist mir egal; keine ahnung; weiss nicht; weiss ich nicht; gute frage; siehe oben; scheisse; mist; verdammt; spater; mal sehen; haha; naja; na ja; hmm; nichts; guten morgen; guten tag; guten abend; gute nacht; fur wen; an wen; mit wem; bei wem; falscher chat`,
	MeansCues: `via; per; als; mittels; in bar`,
	modalVerbs: `
		will willst wollen wollt mochte mochtest mochten kann kannst konnen konnt konntest konnte konnten konntet soll sollst sollen muss musst mussen wurde wurdest wurden darf durfen`,
	repeatingWords: `taglich wochentlich monatlich jahrlich stundlich regelmassig vierteljahrlich`,
	periodWords:    `jahr quartal werktag nacht abend morgen wochenende`,
	timesWords:     `zweimal dreimal viermal funfmal mehrmals`,
	timesNouns:     `mal male`,
}
