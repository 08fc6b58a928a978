package text

var french = language{
	languageCode: `fr`,
	// Words without a subject.
	Currencies: `euro euros`,
	StopWords: `
		je tu il elle nous vous ils elles mon ma mes ton ta tes son sa ses notre nos votre vos le la les un une des du
		au aux et ou mais ne pas est suis sont sommes serons etre ai avoir avez avons que qui quoi quel quelle quels quelles ce cet
		cette ces dans pour par sur avec sans chez de en y plait sil l d j m n s t c qu`,
	RequestWords:     `veux voulons voudrions veut voudrais voudrait aimerais souhaite besoin faut svp merci bonjour`,
	CalendarWords:    `demain aujourdhui lundi mardi mercredi jeudi vendredi samedi dimanche heures`,
	elisions:         `l d j m n s t c qu un`,
	DefiniteArticles: `le la les`,
	// Moods of sentences.
	Fillers:           `bonjour bon oui et alors salut coucou`,
	QuestionWords:     `que quel quelle quels quelles quand ou comment pourquoi qui combien est`,
	WishWords:         `veux voulons voudrais voudrions voudrait souhaite aimerais besoin svp`,
	offerPhrases:      `avez vous; as tu; vous avez; tu as`,
	possiblePhrases:   `est il possible de; est il possible d; serait il possible de; serait il possible d; est ce possible de; est ce possible d; c est possible de; c est possible d; serait ce possible de; serait ce possible d`,
	tellingVerbs:      `est sont etait sera`,
	owingPhrases:      `je dois; nous devons; il faut que je`,
	wishPairs:         `je dois; nous devons; vous plait; te plait; il faut; me faut; nous faut; je prends; nous prenons; je prendrai; nous prendrons; on prend`,
	PoliteVerbs:       `peux pouvez pourriez pourrais`,
	PolitePersons:     `tu vous je nous`,
	TellingWords:      `j je mon ma le la les hier avanthier`,
	abandoningPhrases: `laisse tomber; laissez tomber; annule; annuler`,
	leavingPhrases:    `au revoir; adieu; a bientot; a plus; a plus tard; bonne journee; bonne soiree; bonne nuit`,
	// Relations to earlier messages and to time.
	Refusals: `non`,
	repairPhrases: `
		non; ah non; non attends; attends; attendez; ou non; euh non; non pardon; pardon; desole; desolee; excusez moi; je veux
		dire; je voulais dire; ou plutot; non plutot; plutot; enfin; en fait; pas celui la; pas celle la; pas ca; pas la; l autre; finalement; non finalement`,
	loosePhrases:    `pardon; desole; desolee; attends; attendez; plutot; enfin; en fait; finalement`,
	Hesitations:     `euh hm ben bah`,
	soundNames:      `ben`,
	WrongWords:      `mauvais mauvaise`,
	RatherWords:     `plutot`,
	SuitingWords:    `parfait ideal mieux convient va irait suffit svp`,
	insteadPhrases:  `au lieu de; au lieu du; au lieu d; a la place de; plutot que`,
	contrastWords:   `mais`,
	AgainPhrases:    `encore; encore une fois; de nouveau; a nouveau`,
	SamePhrases:     `la meme chose; pareil; le meme; la meme; idem`,
	AdditionPhrases: `et; aussi; et aussi; et puis; egalement; et pour; encore; et qu en est il de`,
	JoiningPhrases:  `et; et puis; puis; et ensuite; ensuite; et aussi; ainsi que`,
	ReturnWords:     `retour revenir`,
	Pronouns:        `le la les l ca cela celui celle`,
	LightVerbs:      `mets mettre mettez fais faire faites met donne donnez`,
	ActionVerbs: `
		mets mettre mettez met fais faire faites donne donnez ouvre ouvrez ouvrir ferme fermez fermer allume allumez allumer
		eteins eteignez eteindre arrete arretez arreter demarre demarrez lance lancez annule annulez annuler montre montrez
		joue jouez reserve reservez reserver commande commandez commander appelle appelez cherche cherchez ajoute ajoutez`,
	EverythingWords: `tout tous rien quelque chose`,
	conditionWords:  `s il; s ils; si; quand; lorsque; des que; au cas ou; lorsqu; a moins que; a moins qu; pourvu que; a condition que; tant que; sauf si; apres que; apres qu; avant que; avant qu; seulement si; uniquement si; attends que; attendez que`,
	provisoPhrases:  `sous reserve; sous condition; en fonction de; en fonction du; en fonction des; selon; en attente de; en attente d`,
	consentCues:     `une fois;`,
	consentWords:    `accord approbation validation confirmation autorisation consentement valide validee confirme confirmee approuve approuvee autorise`,
	impersonals:     `on`,
	ableVerbs:       `peut pourrait`,
	timeConditions:  ``,
	KnowingWords:    `dis dire dites savoir sais demande demander verifie verifier voir`,
	CourtesyWords:   `possible plait peux pouvez pourriez veux voulez`,
	IndefiniteWords: `un une des du de`,
	openWords:       `le la les un une des du aux et ou`,
	Persons:         `je j tu il elle on nous vous ils elles quelqu`,
	TimeUnits:       `seconde secondes minutes heure heures jour jours semaine semaines mois`,
	laterWords:      `tard bientot tantot`,
	TroubleWords:    `perdu perdue vole volee casse cassee oublie expire expiree bruyant bruyants panne abime fuit bloque`,
	FailingVerbs:    `marche marchent fonctionne fonctionnent`,
	PastWords:       `etait etaient avait avaient etais avais`,
	titleWords:      `dr mme mlle mgr`,
	nameTitles:      `m st ste`,
	perfectWords:    `ai as a avons avez ont suis`,
	wonderingVerbs:  `savoir demander connaitre`,
	whetherWords:    `si`,
	// Yes and no.
	Denials:           `non sans`,
	NegatingParticles: `ne n`,
	Negations:         `pas jamais aucun aucune`,
	UndoingWords: `
		annuler annulez annule resilier resiliez resilie decommander decommandez decommande supprimer supprimez supprime retirer retirez retire rendre
		desinscrire desabonner renoncer arreter arretez`,
	DroppingWords:  `oublie oubliez`,
	firstPersons:   `je j nous`,
	OwnGroup:       `nous`,
	AnsweringVerbs: `dis pense prends prenons prendrai choisis prefere viens venons viendrons arrive arrivons arriverons reste restons disons mettons`,
	havingWords:    `ai avons`,
	beingWords:     `suis sommes`,
	availableWords: `libre libres disponible disponibles temps`,
	InsteadWords:   `sauf`,
	neverWords:     `jamais`,
	nowWords:       `maintenant aujourdhui`,
	hereWords:      `ici`,
	UnableWords:    `peux peut pouvons pourrai`,
	KeepingWords:   `garde gardez garder conserve conservez conserver maintiens maintenez maintenir`,
	ReversingWords: `defais defaire defaites`,
	remindingVerbs: `oublie oubliez oublier hesite hesitez manque manquez`,
	refrainingPhrases: `
		evite; evitez; evite de; arrete de; arretez de; arrete d; arretez d; cesse de; cessez de; cesse d; abstiens toi de; abstenez vous de; en aucun cas; sous aucun pretexte; pas besoin de; pas besoin d; inutile de; inutile d; il n est pas necessaire; pas la peine de; pas la peine d; il ne faut pas`,
	feigningPhrases:  `fais semblant; faites semblant; imagine; imaginez; imaginons; suppose; supposez; supposons; fais comme si; faites comme si; simule; simulez; je pensais; je pensais a; j ai pense a; j ai failli; je ne sais pas si; j hesite a; et si je; je me demande si`,
	relayVerbs:       `dis dites demande demandez rappelle rappelez explique expliquez laisse laissez fais faites`,
	framePhrases:     `peut; peuvent; doit; doivent; devrait; seul; seule; impossible de; impossible d; hors de question; pas question; derniere chose; toujours; ou je; ou j; j allais; j ai failli; soit`,
	likelyPhrases:    `probablement; sans doute`,
	uncertainPhrases: `peut etre; je pourrais; eventuellement; un jour; probablement; sans doute; je devais; je devrais; nous devions; nous devrions; je pouvais; j ai du; nous avons du; j aurais du`,
	reportingVerbs:   `dit disent disait demande demandait ecrit pretend`,
	judgingWords:     `est serait etait sera prend`,
	leaveVerbs:       `puis`,
	purposeWords:     `pour`,
	omittingPhrases:  `au lieu de; au lieu d; avant de; avant d; plutot que de; plutot que d; plutot que; en plus de; sans`,
	excludingPhrases: `tout sauf; n importe quoi sauf; tout mais pas`,
	haltingPhrases:   `stop; arrete; arretez`,
	retractingPhrases: `
		non; pas; hors de question; pas question; jamais; jamais de la vie; je ne crois pas; je ne pense pas; non merci; finalement non; finalement pas; en fait non; non attends; non attendez; attends; attendez; je plaisante; je rigole; surtout pas; pas maintenant; laisse tomber; laissez tomber; oublie; oubliez;
		ah non; euh non; plutot pas; mais non; ou plutot non; vous plaisantez; tu plaisantes; c est trop; plus jamais`,
	citingPhrases:  `c est ce que; c etait ce que`,
	onlyWords:      `seulement juste`,
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
		non; rien; rien merci; surtout pas; pas du tout; certainement pas; absolument pas; surement pas; bien sur que non; mais non;
		annule; annulez; annuler; annule ca; annulez ca; annule tout; arrete; arretez; arrete ca; stop; laisse tomber;
		laissez tomber; laisse; oublie; oublie ca; oubliez; oubliez ca; ne le fais pas; ne le faites pas; ne fais pas
		ca; ne faites pas ca; ne fais rien; ne faites rien; je ne veux pas; je n en veux pas; je prefere pas; je ne
		prefere pas; je prefere que non; plutot pas; jamais; jamais de la vie; en aucun cas; je refuse; non annule;
		non annulez; non arrete; non arretez; non laisse tomber; non laissez tomber; pas maintenant; non pas
		maintenant; c est faux; je ne veux plus; je n en veux plus; je ne
		le veux plus; finalement non; finalement pas; j ai change d avis; tant pis; plus maintenant; ce n est plus
		necessaire; c est plus necessaire; ce n est plus la peine; plus la peine; pas la peine; plus besoin; je n en ai plus besoin; laissons tomber;
		on laisse tomber; n en parlons plus; garde la; garde le; gardez la; gardez le; laisse la; laisse le; laissez la; laissez le`,
	CourtesyPhrases: `
		s il te plait; s il vous plait; sil te plait; sil vous plait; svp; stp; merci; merci bien; merci beaucoup;
		parfait; super; euh; ca va; c est bon; c est parfait; bien; bon; bah; ben`,
	Opposites: `allumer eteindre; ouvrir fermer`,
	// Dates, times and numbers.
	InexactPhrases: `
		environ; a peu pres; presque; au plus; au moins; au maximum; au minimum; jusqu a; moins de; plus de; pas plus de; sauf; tout sauf; peut etre;
		la moitie de; moitie de; la moitie des; un tiers de; un quart de; le double de; maximum; minimum; un maximum de; un minimum de; autour de; pres de;
		plus ou moins; une partie de; pas moins de; quelque; quelques`,
	InexactEndings: `ou moins; ou plus; au plus; au moins; au maximum; au minimum; maximum; minimum; environ; a peu pres; plus ou moins; a peu de chose pres`,
	BoundNames:     `maximum minimum limite plafond maximal minimal`,
	StepCues:       `de`,
	ChangeWords:    `augmente augmentez augmenter baisse baissez baisser monte montez monter plus moins reduis reduisez`,
	MoreWords:      `plus moins`,
	BetweenWords:   `entre`,
	RangeWords:     `au a ou et`,
	OfWords:        `de d`,
	UnitNames:      `degre degres heures minutes seconde secondes litre litres nuit nuits`,
	NamedHours:     `midi=12:00 minuit=00:00`,
	DayParts:       `matin=a soir=p nuit=p`,
	HourCues:       `a`,
	ClockCues:      `a vers`,
	Months:         `janvier=1 fevrier=2 mars=3 avril=4 mai=5 juin=6 juillet=7 aout=8 septembre=9 octobre=10 novembre=11 decembre=12`,
	Weekdays:       `dimanche=0 lundi=1 mardi=2 mercredi=3 jeudi=4 vendredi=5 samedi=6`,
	NearDays:       `hier=-1; avant hier=-2; aujourdhui=0; demain=1; apres demain=2; surlendemain=2`,
	PastDays:       `dernier derniere passe passee`,
	ComingDays:     `prochain prochaine ce`,
	ThisWeek:       `cette semaine;`,
	LastWeek:       `semaine derniere; la semaine derniere; semaine passee; la semaine passee`,
	AgoCues:        `il y a;`,
	NextWeek:       `semaine prochaine; la semaine prochaine`,
	WeekLater:      `en huit=7; en quinze=14`,
	AheadCues:      `dans; d ici`,
	DayUnits:       `jour=1 jours=1 semaine=7 semaines=7 mois=m`,
	DayShifts:      `avant=-1 apres=1`,
	BesideDays:     `le lendemain=1; le jour d apres=1; le jour suivant=1; un jour plus tard=1; un jour apres=1; la veille=-1; le jour d avant=-1; un jour plus tot=-1; un jour avant=-1`,
	SpanCues:       `pour pendant`,
	BeforeCues:     `avant; d ici; d ici a; d ici au; jusqu a; jusqu au; au plus tard; pas apres`,
	AfterCues:      `apres; depuis; au plus tot; pas avant`,
	JoinWords:      `et`,
	EveryWords:     `chaque tous`,
	NightWords:     `nuit`,
	Clock24:        `heures heure h`,
	DateWords:      `un une dans la le l les ce`,
	Numbers:        `deux=2 trois=3 quatre=4 cinq=5 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12`,
	Scales:         `mille=3 million=6 millions=6 milliard=9 milliards=9`,
	// Names of parameters.
	DateNames:        `jour`,
	ClockNames:       `heure`,
	NotedNames:       `texte note rappel tache`,
	PeopleWords:      `personne personnes convive convives adultes places`,
	CodeNames:        `numero reference immatriculation`,
	PlaceNames:       `ville lieu`,
	AmountNames:      `quantite nombre`,
	OriginNames:      `origine provenance depart`,
	DestinationNames: `destination arrivee`,
	JourneyOrigins:   `de d depuis`,
	JourneyEnds:      `a pour vers jusqu`,
	GoalCues:         `a`,
	PersonNames:      `beneficiaire destinataire personne contact invite medecin docteur professeur enseignant eleve etudiant patient employe enfant`,
	StartNames:       `debut aller`,
	EndNames:         `fin retour`,
	ArrivalNames:     `arrivee`,
	DepartureNames:   `depart`,
	// Words that introduce values.
	LabelWords:      `numero no code nom sous`,
	StartCues:       `du de`,
	EndCues:         `au jusqu`,
	Copulas:         `est`,
	BoundaryWords:   `et ou avec pour`,
	Determiners:     `le la les l un une des du mon ma mes`,
	ThatWords:       `que`,
	PuttingVerbs:    `ajoute ajoutez mets mettez note notez ecris inscris`,
	TargetCues:      `a sur dans au aux de`,
	TrailingWords:   `aussi encore plutot`,
	PersonVerbs:     `dis demande appelle previens invite`,
	AnnouncingWords: `appele intitule`,
	PoliteWords:     `merci svp`,
	OriginCues:      `depuis`,
	PlaceCues:       `en`,
	PersonCues:      `avec a pour chez`,
	AuthorCues:      `par de`,
	// Acts.
	acts: `
		create: creer cree creez ajouter ajoute ajoutez ouvrir ouvre ouvrez enregistrer enregistre inscrire inscris nouveau nouvelle; read:
		afficher affiche montrer montre montrez lire lis chercher cherche trouver trouve lister consulter consulte voir; many: lister tous
		toutes; update: modifier modifie modifiez changer change mettre_jour mets_jour corriger renommer; delete: supprimer supprime supprimez
		effacer efface enlever enleve retirer retire debarrasser debarrasse fermer ferme jeter jette detruire; cancel: annuler annule annulez
		resilier resilie revoquer; refund: rembourser rembourse remboursez rendre_argent rends_argent; return: retourner retourne renvoyer renvoie
		rendre rends; pay: payer paie paye payez regler regle; transfer: virer vire transferer transfere; charge: debiter debite prelever;
		buy: acheter achete commander commande; reserve: reserver reserve reservez; send: envoyer envoie envoyez; submit: soumettre deposer; start:
		demarrer demarre lancer lance; stop: arreter arrete arretez; on: allumer allume activer active; off: eteindre eteins desactiver
		desactive; pause: suspendre; resume: reprendre; lock: bloquer bloque verrouiller; unlock: debloquer debloque deverrouiller; login:
		connecter connecte; logout: deconnecter deconnecte; subscribe: abonner abonne; unsubscribe: desabonner desabonne; approve: approuver
		approuve accepter accepte; reject: refuser refuse rejeter; hire: embaucher embauche; dismiss: licencier renvoyer; track: suivre suis;
		reschedule: reporter reporte deplacer deplace; assign: attribuer assigner; invite: inviter invite; upload: televerser; download:
		telecharger telecharge`,
	actNouns: `
		create: creation ajout ouverture inscription; update: modification; delete: suppression fermeture; cancel: annulation resiliation;
		refund: remboursement; return: retour renvoi; pay: paiement; transfer: virement transfert; buy: achat commande; reserve: reservation;
		login: connexion; logout: deconnexion; subscribe: abonnement; approve: approbation; reject: refus; dismiss: licenciement; track: suivi`,
	HolderWords:   `compte fiche profil donnees objet`,
	ContractWords: `contrat contrats abonnement abonnements compte assurance adhesion`,
	MoneyWords:    `argent fonds paiement banque compte iban`,
	// Topics.
	holding: `portefeuille=carte sac=carte`,
	related: `
		weather: meteo temps pluie pleuvoir pleut neige parapluie; pay: payer addition facture; doctor: medecin docteur; appointment: rendez consultation;
		medicine: medicament ordonnance comprime; reserve: reserver reservation; cancel: annuler annulation; taxi: taxi; wake: reveil reveiller; remind: rappeler rappel;
		money: argent solde; transfer: virement virer envoyer; block: bloquer; lost: perdu perte vole; light: lumiere lampe; heating: chauffage temperature;
		blind: volet volets store stores rideau; music: musique chanson; tv: tele television; food: menu carte plat manger faim; drink: boisson boire soif; waiter: serveur serveuse;
		hotel: hotel hebergement; train: train; flight: vol avion; way: chemin route adresse itineraire; shop: courses achat acheter; order: commander commande;
		note: note noter; call: appeler appel telephoner; message: message sms mail; person: conseiller conseillere parler; help: aide aider; fault: probleme panne;
		parcel: colis livraison; return: retour rembourser remboursement; price: prix cout coute; calendar: calendrier agenda reunion`,
	exceptPhrases: `sauf; excepte; hormis; a l exception de; a part; mais pas`,

	allWords: `tout tous toute toutes chaque importe partout`,
	KinWords: `
		mere maman pere papa parents frere soeur femme mari compagne compagnon fils fille enfant oncle tante cousin cousine grand ami amie
		chef cheffe collegue voisin voisine proprietaire`,
	UndoingPairs: `n plus; ne plus; pas besoin; debarrasser de; renoncer a; renonce a; ne pas; n pas; plus besoin`,
	AlteringWords: `
		reporter reportez reporte decaler decalez decale deplacer deplacez deplace avancer modifier modifiez modifie changer changez change echanger echangez
		remplacer remplacez prolonger retarder`,
	GivingVerbs: `
		prendre reserver commander louer acheter abonner inscrire demander creer ajouter prend reserve commande loue achete
		abonne inscrit demande cree ajoute`,
	GettingVerbs:   `avoir prendre donner donnez apporter apportez obtenir recevoir envoyer envoyez mettre vouloir venir aller prends`,
	AttendingVerbs: `venir assister`,
	Definites:      `le la les l mon ma mes notre nos votre vos ton ta tes ce cet cette ces`,
	spokenTo:       `maman papa cheri cherie urgent allez docteur madame monsieur vite`,
	otherPersons:   `il elle ils elles quelqu personne client cliente patient patiente medecin gens`,
	othersVerbs:    `veut veulent voudrait voudraient souhaite souhaitent aimerait demande demandent dit disent ont desire`,
	thirdModals:    `doit devrait peut va`,
	ownWords:       `mon ma mes notre nos`,
	UnlessWords:    `pourquoi ou seulement si`,
	// Words after a value that are no part of it.
	laterPhrases: `
		l an prochain; l annee prochaine; le mois prochain; mois prochain; annee prochaine; a la fin du mois; fin du mois; un de ces jours; plus tard; une autre fois; ce week end`,
	asidePhrases: `
		depeche toi; depechez vous; fais vite; faites vite; tout de suite; maintenant; immediatement; de suite; des que possible; le plus vite possible; au plus vite; sans attendre; s il vous plait; s il te plait; svp; stp; merci; merci beaucoup; vite; rapidement; d urgence; en urgence; si possible; pour moi`,
	BelongingWords: `du des`,
	NameParticles:  `de du des la le d l`,
	OrWords:        `ou`,
	CentNames:      `centime centimes`,
	SumWords:       `plus moins`,
	HalfHours:      `et demi=30; et demie=30; et quart=15; moins le quart=-15`,
	idlePhrases: `
		un instant; une seconde; un moment; pas encore; je ne sais pas encore; attends; attendez; plus tard; merde; putain; zut; bonne question; aucune idee; je ne sais pas; sais pas; peu importe; voir plus haut; on verra; mdr; bof; rien; bonsoir; bonne journee; bonne nuit; pour qui; a qui; avec qui`,
	MeansCues:      `via; en tant que; comme; en cadeau; par virement; par paypal; par carte; en liquide; en especes`,
	repeatingWords: `mensuellement quotidiennement hebdomadairement annuellement regulierement`,
	periodWords:    `an ans annee mois trimestre matin soir nuit lundi`,
	timesNouns:     `fois`,
}
