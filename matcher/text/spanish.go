package text

var spanish = language{
	languageCode: `es`,
	// Words without a subject.
	Currencies: `euro euros`,
	StopWords: `
		yo el ella nosotros ellos ellas me te se nos os los las unos unas al y pero si no es soy somos seremos estoy esta son ser
		tengo tiene hay que quien cual cuando donde como porque para por con sin sobre desde hasta mi mis tu tus su sus este
		estos estas eso a de en del la el lo`,
	RequestWords:     `quiero quiere quisiera necesito necesita favor gracias hola puede puedes podria`,
	CalendarWords:    `manana hoy ayer anteayer lunes martes miercoles jueves viernes sabado domingo`,
	DefiniteArticles: `el la los las`,
	// Moods of sentences.
	AdditionPhrases:   `y; tambien; y tambien; ademas; y ademas`,
	Fillers:           `hola si y oye venga entonces`,
	QuestionWords:     `cuando donde como cual cuanto quien cuales cuantos`,
	possiblePhrases:   `es posible; seria posible; hay posibilidad de`,
	WishWords:         `quiero queremos quisiera quisieramos necesito favor`,
	owingPhrases:      `tengo que; tenemos que; debo; debemos; hay que`,
	wishPairs:         `tengo que; tenemos que; he de; hemos de; hay que; me gustaria; nos gustaria`,
	KnowingWords:      `saber sabes sabe dime digame preguntar averiguar comprobar`,
	TroubleWords:      `perdido perdida robado robada roto rota averiado averiada caducado caducada olvidado`,
	WrongWords:        `equivocado equivocada`,
	repairPhrases:     `no perdon; perdon; perdona; disculpa; digo; no digo; quiero decir; queria decir; mejor dicho; no espera; corrijo`,
	loosePhrases:      `perdon; perdona; disculpa; digo`,
	SuitingWords:      `perfecto ideal bien mejor viene conviene`,
	Hesitations:       `eh em ehm mmm`,
	conditionWords:    `si; cuando; en cuanto; siempre que; en caso de; en caso de que; a menos que; tan pronto como; una vez que; salvo que; siempre y cuando; mientras; a no ser que; despues de que; antes de que; solo si; solo cuando; solo despues; espera a que; espere a que`,
	provisoPhrases:    `sujeto a; sujeta a; a la espera de; en espera de; pendiente de; en funcion de; en funcion del; segun; dependiendo de; dependiendo del`,
	consentCues:       `previa; previo; tras; una vez; salvo`,
	consentWords:      `autorizacion aprobacion confirmacion consentimiento permiso consulta autorizado autorizada aprobado aprobada confirmado confirmada`,
	impersonals:       `se`,
	ableVerbs:         `puede pueden podria podrian`,
	CourtesyWords:     `posible puede puedes podria podrias favor quieres importa puedas pueda puedan`,
	Persons:           `yo tu usted nosotros ellos ellas`,
	perfectWords:      `he has ha hemos han habia habian`,
	participles:       `hecho dicho puesto visto abierto escrito roto vuelto muerto`,
	PastWords:         `tuve tuvo hice hizo fui fue dije dijo cancelaron`,
	accentedWords:     `cafe aqui asi alli ahi bebe sofa te que se de mi si menu esqui jabali bisturi rubi colibri pure pate chale comite`,
	titleWords:        `dr dra sr sra srta srs sres don dna`,
	numberingWords:    `num nro n`,
	PoliteVerbs:       `puede puedes podria podrias`,
	TellingWords:      `yo el mis nuestro tengo tenemos tenia teniamos hay habia he hemos ayer anteayer anoche deberia deberiamos acabo acabamos iba ibamos`,
	abandoningPhrases: `olvidalo; dejalo; cancela`,
	leavingPhrases:    `adios; hasta luego; hasta pronto; hasta la vista; nos vemos; chao; chau; buenas noches; que tenga un buen dia`,
	wonderingVerbs:    `saber preguntar conocer`,
	whetherWords:      `si que cuanto`,
	// Yes and no.
	Denials:        `no sin`,
	Negations:      `nunca jamas tampoco ningun ninguno ninguna`,
	UndoingWords:   `cancelar cancela cancele canceles anular anula anules deshaz deshacer deshaga revierte revertir revierta retrocede`,
	DroppingWords:  `olvida deja`,
	firstPersons:   `yo nosotros`,
	OwnGroup:       `nosotros somos seremos`,
	AnsweringVerbs: `digo pienso prefiero preferimos elijo vengo venimos tomo cojo digamos pongamos`,
	havingWords:    `tengo tenemos`,
	beingWords:     `estoy estamos soy`,
	holding:        `cartera=tarjeta monedero=tarjeta bolso=tarjeta`,
	AttendingVerbs: `venir asistir acudir`,
	ownForms:       `tengo tenemos estoy estamos soy`,
	availableWords: `libre libres disponible disponibles tiempo`,
	InsteadWords:   `salvo excepto`,
	exceptPhrases:  `excepto; salvo; a excepcion de; aparte de; quitando; pero no`,
	butWords:       `menos`,
	contrastWords:  `pero sino`,
	NobodyWords:    `nadie`,
	allWords:       `todo todos toda todas cualquier cualquiera cada`,
	notCues:        `a al el la los las con para en de del por`,
	KinWords: `
		madre mama padre papa padres hermano hermana mujer marido esposa esposo pareja hijo hija tio tia primo prima abuela abuelo amigo amiga
		jefe jefa vecino vecina companero companera casero`,
	neverWords:     `nunca jamas`,
	nowWords:       `ahora hoy`,
	hereWords:      `aqui`,
	UnableWords:    `puedo podemos podre`,
	KeepingWords:   `manten mantener mantenga mantengan conserva conservar conserve`,
	ReversingWords: `deshaz deshacer deshaga revierte revertir revierta retrocede`,
	remindingVerbs: `olvides olvide olviden dudes dude`,
	refrainingPhrases: `
		evita; evite; eviten; evitar; deja de; deje de; para de; pare de; abstente de; absten de; bajo ningun concepto; bajo ninguna circunstancia; de ninguna manera; de ningun modo; en ningun caso; no hace falta; no es necesario; no es preciso; no hay que`,
	feigningPhrases:  `finge; finja; simula; simule; imagina; imagine; imaginate; supon; supongamos; haz como si; haga como si; hagamos como si; pensaba; estaba pensando en; estuve a punto de; no se si; dudo si; me pregunto si`,
	relayVerbs:       `dile dila diles diga pidele pide recuerdame recuerda recuerdele explica explicame expliqueme deja preguntale haz`,
	framePhrases:     `quiere que; quieren que; solo el; solo la; solo mi; ultimo que; ultima cosa; imposible; siempre; ojala; estaba por; iba a; casi; ni hablar de; ni se te ocurra; ni se le ocurra; anda ya; hubiera; habria`,
	likelyPhrases:    `probablemente; seguramente`,
	uncertainPhrases: `tal vez; quiza; quizas; a lo mejor; podria; deberia; algun dia; probablemente; seguramente; tendria que; tendriamos que; tenia que; teniamos que; debia; debiamos; podia`,
	reportingVerbs:   `dice dicen dijo pregunta pregunto escribe afirma`,
	judgingWords:     `es seria fue era`,
	purposeWords:     `para`,
	omittingPhrases:  `en vez de; en lugar de; antes de; aparte de; ademas de; sin`,
	excludingPhrases: `todo menos; cualquier cosa menos; todo excepto; todo salvo; cualquiera menos`,
	haltingPhrases:   `para; alto; detente`,
	retractingPhrases: `
		no; mejor no; ni en broma; ni loco; ni loca; no creo; creo que no; pensandolo bien no; no gracias; no espera; no espere; espera; espere; era broma; es broma; no era broma; ni hablar; olvidalo; dejalo; ahora no; no ahora no; todavia no; aun no; que no; estas loco; estas loca; estas de broma; es broma; ni loco; ni loca; es demasiado; nunca mas`,
	citingPhrases:  `es lo que; era lo que; fue lo que`,
	onlyWords:      `solo solamente`,
	PartingWords:   `gracias adios`,
	YesWords:       `si`,
	AffirmingWords: `si claro`,
	ConsentPhrases: `
		si; claro; claro que si; por supuesto; por supuesto que si; desde luego; desde luego que si; de acuerdo; estoy
		de acuerdo; vale; dale; adelante; sigue adelante; siga adelante; hazlo; hagalo; hazlo ya; hazlo ahora; procede;
		proceda; procedamos; confirmo; confirma; confirmar; confirmado; lo confirmo; correcto; asi es; exacto;
		exactamente; acepto; aceptado; sin duda; con gusto; con mucho gusto; encantado; encantada; seguro que si; me
		parece bien`,
	AssentPhrases: `esta bien; muy bien`,
	RefusalPhrases: `
		no; nada; nada gracias; que no; mejor no; claro que no; por supuesto que no; desde luego que no; seguro que no; para nada; de
		ninguna manera; de ningun modo; en absoluto; ni hablar; cancela; cancelalo; cancelala; cancela eso; cancele;
		cancelelo; cancelela; cancelar; anula; anulalo; anulala; anular; detente; detengase; alto; no lo hagas; no lo
		haga; no hagas eso; no haga eso; no hagas nada; dejalo; dejalo asi; dejelo; olvidalo; olvidelo; olvida eso;
		nunca; jamas; no quiero; no lo quiero; no la quiero; prefiero que no; preferiria que no; rechazo; rechazado;
		lo rechazo; no cancelalo; no cancelala; no anulalo; no dejalo; no olvidalo; ahora no; no ahora no; incorrecto; ya no; ya no
		quiero; ya no lo quiero; no quiero mas; mejor dejalo; he cambiado de idea; cambie de idea; ya no hace
		falta; no hace falta; ya no es necesario; ya no lo necesito; ya no la necesito; dejalo estar; dejelo estar; dejemoslo; olvidemoslo`,
	CourtesyPhrases: `
		por favor; porfa; porfavor; gracias; muchas gracias; mil gracias; perfecto; genial; bueno; esta perfecto; bien`,
	Opposites: `encender apagar; abrir cerrar; bloquear desbloquear; bloquear desbloquea; bloquear desbloquee`,
	// Dates, times and numbers.
	InexactPhrases: `
		menos de; mas de; unos; unas; como maximo; como minimo; como mucho; como poco; al menos; por lo menos; a lo sumo; a lo mas; aproximadamente;
		alrededor de; cerca de; en torno a; casi; hasta; no mas de; no menos de; maximo; minimo; un maximo de; un minimo de; cualquiera menos; todo menos;
		menos; excepto; salvo; la mitad de; mitad de; un tercio de; un cuarto de; una parte de; el doble de; quiza; quizas; tal vez; mas o menos; sobre;
		algo menos de; algo mas de; poco mas de; poco menos de`,
	InexactEndings: `
		o menos; o mas; o asi; como maximo; como minimo; como mucho; al menos; por lo menos; a lo sumo; mas o menos; aproximadamente; maximo;
		minimo`,
	BoundNames:  `maximo minimo limite tope`,
	StepCues:    `en`,
	ChangeWords: `aumenta aumente aumentar sube suba subir reduce reduzca reducir baja baje bajar incrementa incrementar mas menos`,
	RangeWords:  `al a y o hasta`,
	ReturnWords: `vuelta regreso`,
	OfWords:     `de del`,
	HourCues:    `a las`,
	ClockCues:   `a las`,
	Months: `
		enero=1 febrero=2 marzo=3 abril=4 mayo=5 junio=6 julio=7 agosto=8 septiembre=9 octubre=10 noviembre=11
		diciembre=12`,
	Weekdays:     `domingo=0 lunes=1 martes=2 miercoles=3 jueves=4 viernes=5 sabado=6`,
	NearDays:     `ayer=-1; anoche=-1; anteayer=-2; antes de ayer=-2; hoy=0; esta manana=0; esta noche=0; esta tarde=0; manana=1; pasado manana=2`,
	MorningCues:  `la esta cada`,
	PastDays:     `pasado pasada ultimo`,
	ComingDays:   `proximo proxima este`,
	ThisWeek:     `esta semana;`,
	LastWeek:     `semana pasada; la semana pasada`,
	AgoCues:      `hace;`,
	NextWeek:     `semana que viene; la semana que viene; proxima semana; la proxima semana; semana proxima; la semana proxima`,
	TimeUnits:    `segundo segundos minuto minutos hora horas dia dias semana semanas mes meses`,
	AheadCues:    `en; dentro de`,
	DayUnits:     `dia=1 dias=1 semana=7 semanas=7 mes=m meses=m`,
	DayShifts:    `antes de=-1; antes del=-1; despues de=1; despues del=1`,
	SpanCues:     `por para durante`,
	BeforeCues:   `antes de; antes de las; antes del; hasta; hasta el; hasta las; a mas tardar; no despues de; no despues de las`,
	AfterCues:    `despues de; despues de las; despues del; a partir de; a partir de las; a partir del; no antes de; no antes de las`,
	BetweenWords: `entre`,
	JoinWords:    `y`,
	EveryWords:   `cada todos`,
	HalfHours:    `y media=30; y cuarto=15; menos cuarto=-15`,
	NightWords:   `noche madrugada`,
	DayParts:     `manana=a tarde=p noche=p madrugada=a mediodia=p`,
	NamedHours:   `mediodia=12:00 medianoche=00:00`,
	DateWords:    `un una unos en dentro la el los pasado proximo este ultimo`,
	Numbers:      `dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12`,
	Scales:       `mil=3 millon=6 millones=6`,
	// Names of parameters.
	DateNames:        `fecha`,
	ClockNames:       `hora`,
	PeopleWords:      `persona personas invitado invitados comensal comensales adultos plazas gente`,
	CodeNames:        `numero codigo referencia matricula`,
	PlaceNames:       `ciudad lugar`,
	AmountNames:      `cantidad`,
	OriginNames:      `origen salida desde`,
	DestinationNames: `destino llegada hasta`,
	JourneyOrigins:   `de desde`,
	JourneyEnds:      `a hasta para hacia`,
	GoalCues:         `a`,
	PersonNames:      `destinatario beneficiario persona contacto invitado medico doctor profesor profesora alumno alumna paciente empleado`,
	StartNames:       `inicio comienzo entrada ida`,
	EndNames:         `fin final vuelta regreso`,
	ArrivalNames:     `llegada`,
	DepartureNames:   `salida`,
	// Words that introduce values.
	LabelWords:      `numero codigo nombre`,
	StartCues:       `desde de del`,
	EndCues:         `hasta al`,
	Copulas:         `es`,
	BoundaryWords:   `y o con para`,
	AnnouncingWords: `llamado`,
	PoliteWords:     `gracias`,
	OriginCues:      `desde`,
	DestinationCues: `hacia`,
	PlaceCues:       `en`,
	PersonCues:      `con`,
	AuthorCues:      `de`,
	spokenTo:        `mama papa carino amor urgente ayuda primero tambien vamos luego buenas senor senora senorita doctor doctora`,
	otherPersons:    `ella ellos ellas alguien nadie cliente clienta paciente medico doctor gente`,
	othersVerbs:     `quiere quieren quisiera quisieran necesita necesitan desea desean pide piden dice dicen ha han querria`,
	needingVerbs:    `necesita necesito necesitas necesitamos necesitan`,
	thirdModals:     `debe deberia puede va tiene`,
	ownWords:        `mi mis nuestro nuestra`,
	// Words after a value that are no part of it.
	laterPhrases: `
		el ano que viene; el mes que viene; el proximo ano; el proximo mes; a final de mes; a fin de mes; a finales de mes; algun dia; un dia de estos; mas tarde; luego; otro dia; otro momento`,
	asidePhrases: `
		rapido; deprisa; date prisa; dese prisa; ahora; ahora mismo; ya; ya mismo; inmediatamente; enseguida; en seguida; cuanto antes; lo antes posible; de inmediato; por favor; porfa; porfavor; gracias; muchas gracias; urgentemente; rapidamente; si es posible; si puede ser`,
	BelongingWords: `del`,
	NameParticles:  `de del la las los`,
	OrWords:        `o u`,
	CentNames:      `centimo centimos centavo centavos`,
	SumWords:       `mas menos`,
	idlePhrases: `
		espera; espere; un momento; momento; un segundo; luego; mas tarde; da igual; me da igual; ni idea; no se; buena pregunta; mierda; joder; cono; ver arriba; ya vere; jaja; vale; nada; buenos dias; buenas tardes; buenas noches; para quien; a quien; con quien`,
	MeansCues:      `via; mediante; a traves de; por medio de; como regalo; como pago; como adelanto; de regalo; en efectivo; por bizum; por paypal`,
	repeatingWords: `mensualmente diariamente semanalmente anualmente regularmente`,
	periodWords:    `ano anos mes meses trimestre noche tarde`,
	timesNouns:     `veces vez`,
}
