package text

var english = language{
	languageCode: `en`,
	// Words without a subject.
	StopWords: `
		a an the i me my mine myself you your yours he him his she her hers it its we us our ours they them their theirs
		this that these those one ones someone somebody something anything everything nothing is am are was were be been
		being do does did done doing have has had having will would shall should can could may might must not no yes nor
		of in on at to for from by with about as into onto over under up down out off through during before after
		between and or but if then than so because while until since there here what which who whom whose when where why
		how just now some any all both each every other another such same own also too very really quite much many more
		most few less only ever never again still yet already even maybe perhaps well id`,
	RequestWords: `
		want wants wanted need needs needed like liked love wish wishes hope hoping please pls plz thank thanks help
		helping assist tell let lets give get got getting make made go going come look looking try trying know think see
		able ask asking hey hi hello ok okay sure great good fine kindly thing things stuff say said request requests
		requested require required user users customer customers person people use used using uses used tool function
		call allow allows current`,
	CalendarWords: `
		today tonight tomorrow tomorow tommorow tommorrow yesterday now later soon morning afternoon evening night noon midnight monday tuesday
		wednesday wensday wednsday thursday friday saturday saterday sunday weekend week month year day hour minute mon tue tues wed thu thur
		thurs fri sat sun january february march april may june july august september october november december jan feb
		mar apr jun jul aug sep sept oct nov dec next last this am pm oclock mondays tuesdays wednesdays thursdays fridays
		saturdays sundays weekdays weekends mornings afternoons evenings nights`,
	contractions: `
		donot=do not; dnt=do not; dont=do not; doesnt=does not; didnt=did not; cant=can not; cannot=can not; couldnt=could not; wouldnt=would not;
		shouldnt=should not; isnt=is not; arent=are not; wasnt=was not; werent=were not; havent=have not; hasnt=has not;
		hadnt=had not; neednt=need not; mustnt=must not; im=i am; ive=i have; id=i would; youre=you are; youve=you have;
		youd=you would; youll=you will; theyre=they are; theyve=they have; weve=we have; thats=that is; whats=what is;
		whos=who is; wheres=where is; hows=how is; whens=when is; theres=there is; heres=here is; hes=he is; shes=she is; lets=let us;
		wont=will not; wanna=want to; gonna=going to; gotta=have to; gimme=give me; lemme=let me`,
	DefiniteArticles: `the`,
	// Moods of sentences.
	Fillers: `
		hey hi hello ok okay well so and but yes yeah yep sure great good fine please excuse oh um uh now then also just
		actually`,
	QuestionWords: `should what when where who whom whose which why how do does did is are was were has have was`,
	WishWords:     `want wants wanting need needs needing wish please pls plz looking wondering require required requesting must gimme hoping desire`,
	PoliteVerbs:   `can could would will may might shall let give show get tell help`,
	PolitePersons: `you i we me us someone`,
	TellingWords: `
		somebody anybody everybody anyone i we he she it they my our his her their your the this that these those there you yesterday someone everyone
		nobody if maybe perhaps`,
	tellingVerbs: `is are was were has had can would`,
	InformingWords: `
		get find check show list tell look lookup search query fetch read retrieve return returns calculate compute
		convert explain compare information info status details whether what when where who how describe count estimate
		forecast define answer give gives provide provides see view available`,
	offerPhrases: `do you have; have you got; have you any; got any`,
	possiblePhrases: `is it possible to; is it possible for you; would it be possible to; would it be possible for you; is there any chance to;
		is there a way to; is there a way for you; are you able to; would you be able to`,
	owingPhrases: `i have to; i need to; i must; must i`,
	wishPairs:    `will have; will take; would have; would like; would love; would prefer; would appreciate; could use; interested in; trying to; intend to; have to; need to; got to; mood for`,
	abandoningPhrases: `
		never mind; nevermind; forget it; forget about it; cancel; cancel that; cancel it; drop it; leave it; no thanks;
		no thank you; not anymore; stop; scratch that`,
	leavingPhrases: `bye; goodbye; good bye; bye bye; bye for now; see you; see you later; see you soon; see you tomorrow; farewell; so long; take care; have a nice day; have a good day; have a nice evening; good night`,
	// Relations to earlier messages and to time.
	Refusals: `no nope nah`,
	repairPhrases: `
		no; nope; nah; no wait; oh no; or no; well no; no no; no sorry; no actually; wait; wait no; hang on; hold on;
		sorry; oh sorry; sorry no; pardon; correction; i mean; i meant; no i mean; no i meant; i wanted to say; i said;
		scratch that; strike that; forget that; make that; make it; let us make it; let us say; or rather; or better;
		on second thought; on second thoughts; actually; actually no; not that one; not this one; not that; not it; not there;
		the other one; my mistake; my bad; change that to; change it to; change to; better make it; i would rather have;
		i would prefer; i prefer; rather; better; no not that one; no make it; no make that; no rather`,
	loosePhrases:   `no; nope; nah; wait; sorry; pardon; actually; i said; rather; better; not that; not it; make it; i prefer; hold on; hang on; forget that; i would prefer; let us say; change to`,
	Hesitations:    `uh um er erm hm hmm oh well`,
	WrongWords:     `wrong`,
	RatherWords:    `rather instead`,
	SuitingWords:   `perfect better works work suits suit fine good best ideal enough suffices then please`,
	insteadPhrases: `instead of; rather than; in place of`,
	contrastWords:  `but`,
	AgainPhrases:   `again; once more; one more time; back`,
	SamePhrases:    `the same; same; the same thing; the same again; same thing; likewise; ditto; do the same; the same goes; do that; do it`,
	AdditionPhrases: `
		and; also; too; as well; plus; and also; and then; what about; how about; and what about; and how about; another;
		one more; same for; same in; likewise`,
	JoiningPhrases: `and; and then; and also; and please; then; and after that; after that; as well as; plus; also; and could you; and can you`,
	ReturnWords:    `back return returning`,
	Pronouns:       `it that this them these those one ones`,
	LightVerbs:     `turn turns switch switches put make do get take bring go have give let`,
	ActionVerbs: `
		on off up down in out open close shut start stop begin end finish cancel set add remove delete show list play book
		order reserve send call find search check change move lock unlock raise lower increase decrease mute enable disable
		pause resume continue launch run create update tell give read write pay buy sell block unblock report arm disarm
		turn switch put make do get take bring go have let please activate deactivate schedule repeat quit exit`,
	EverythingWords: `everything anything something all nothing stuff things thing whatever`,
	conditionWords:  `if; unless; when; whenever; once; as soon as; in case; provided that; after; before; as long as; assuming; provided; on condition that; should it; should he; should she; should they; only if; only when; only after; only once`,
	provisoPhrases:  `subject to; depending on; dependent on; contingent on; conditional on; conditional upon`,
	consentCues:     `pending upon awaiting`,
	consentWords:    `approval confirmation authorization authorisation permission consent consultation clearance agreement approved confirmed authorized authorised agreed cleared consulting checking asking`,
	impersonals:     `one`,
	ableVerbs:       `can could`,
	timeConditions:  `when once after before`,
	KnowingWords:    `tell know see check ask find wonder wondering sure idea question say show look remember remind explain understand inform specify hear curious how what does do is are was`,
	CourtesyWords:   `possible please can could may mind would convenient necessary wish want`,
	IndefiniteWords: `a an any some`,
	openWords:       `the a my your our his and or of`,
	Persons:         `i you we he she they it someone somebody everyone nobody the my our your`,
	TimeUnits:       `second seconds minute minutes hour hours day days week weeks month months`,
	laterWords:      `later soon tonight afterwards someday sometime eventually`,
	TroubleWords:    `lost stolen stole broken damaged missing expired forgotten forgot loud noisy leaking leaks defective jammed stuck cracked`,
	FailingVerbs:    `work works working start starts find`,
	PastWords: `
		was were had did went came got made took gave bought told said saw found left lost kept felt slept woke ate drank
		paid sent spoke thought brought knew ran drove met forgot broke fell rang wrote wore stood sat read heard`,
	participles:    `been done taken seen gone given written spoken shown driven eaten drunk chosen broken forgotten`,
	titleWords:     `dr prof mr mrs messrs rev jr vs approx ext dept`,
	nameTitles:     `st ms hon gen col capt sgt lt`,
	numberingWords: `no nos`,
	adverbs:        `just already only always never often usually`,
	perfectWords:   `have has had`,
	wonderingVerbs: `know see learn understand ask wonder wondering hear`,
	whetherWords:   `whether if`,
	// Yes and no.
	Denials:     `no not without except never`,
	Negations:   `not no never without nor neither`,
	neverWords:  `never`,
	nowWords:    `now yet today`,
	hereWords:   `here`,
	UnableWords: `can could able`,
	WantingWords: `
		want need wish like require care interested mean thanks thank longer now necessary more intend plan going bother
		have`,
	UndoingWords: `cancel cancels cancelled canceled cancelling canceling cancellation abort undo revoke withdraw nevermind
		scrap scrapped terminate terminated annul void unsubscribe unbook reverse reversed revert`,
	DroppingWords:  `stop forget remove delete drop discard quit skip ignore leave abandon trash end erase halt ditch dump cease`,
	firstPersons:   `i we`,
	OwnGroup:       `we`,
	AnsweringVerbs: `say said mean meant think guess take took choose pick prefer come arrive stay`,
	havingWords:    `have`,
	beingWords:     `am are`,
	availableWords: `free available time open`,
	InsteadWords:   `instead`,
	OffWords:       `off`,
	KeepingWords:   `keep keeping retain leave leaving`,
	ReversingWords: `undo reverse revert`,
	remindingVerbs: `forget hesitate fail neglect omit`,
	refrainingPhrases: `
		avoid; refrain from; abstain from; desist from; hold off; hold off on; hold back on; stop short of; there is no need to; no need to; under no circumstances; on no account;
		in no case; in no event; by no means; at no time; you do not have to; you do not need to; it is not necessary to; i used to; i no longer; i hardly`,
	feigningPhrases: `pretend; let us pretend; imagine; suppose; assume; simulate; act as if; act as though; act like; make believe; hypothetically; i thought; i may have to; i might have to; tempted to; i am tempted to; say i want; what if i; i almost; i nearly; i could have`,
	relayVerbs:      `tell ask let remind instruct explain either request`,
	framePhrases: `keeps; in order to; order to; for example; teach me; how to; must be; stopped; according to; wants; you want me to; tell me why; tell me how; show me how; prevent; impossible to; unable to; failed to; fails to;
		failing to; afford to; last thing; this will; that will; it will; only the; only my; only an; only a; would have to; used to; i was going to; almost; like i would; as if i; or i; or we; and i will; or else i;
		out of the question; always; ever; remember to; remember that; wait with; every morning; make sure nobody; remind`,
	likelyPhrases:    `probably; most likely; presumably`,
	uncertainPhrases: `maybe; perhaps; possibly; probably; most likely; presumably; i may; i might; i could; we could; we might; i would have; i should have; wish i could; some day; someday; at some point`,
	reportingVerbs:   `suggests suggested says said asked asks told tells thinks claims writes wrote`,
	judgingWords:     `is was would could should takes means breaks`,
	leaveVerbs:       `may might`,
	purposeWords:     `to`,
	omittingPhrases:  `instead of; rather than; before; apart from; aside from; besides; without; prior to`,
	excludingPhrases: `
		anything but; anything except; anything other than; everything but; everything except; everything other than; all but; all except; any but; whatever but`,
	haltingPhrases: `stop; stop it; stop that`,
	retractingPhrases: `
		not; never; no; no wait; wait; wait no; no hold on; hold on; hang on; just kidding; kidding; only joking; just joking; joking; i am kidding; i was kidding; not really; no thanks; no thank you;
		never mind; nevermind; forget it; forget that; scratch that; strike that; on second thought; on second thoughts; i do not think so; no chance; out of the question; in your dreams; i do not want that; i changed my mind; i have changed my mind; over my dead body; not a chance; you must be joking; you must be kidding; are you kidding; are you serious; you can not be serious; that is too much; that is too expensive`,
	citingPhrases:  `is what; was what; is how; that is what; that was what`,
	DeedWords:      `return give`,
	DeedPhrases:    `check out; give back; check in; check off; look after; give up; give away; tell off; get rid; get out; view off; count down; return to sender`,
	onlyWords:      `only just`,
	PartingWords:   `thanks thank thx cheers bye goodbye`,
	YesWords:       `yes true on enabled`,
	NoWords:        `no false off disabled`,
	AffirmingWords: `yes yeah yep yup yea sure ok okay true on enabled definitely absolutely certainly correct right please`,
	RefusingWords:  `no nope nah not never false off disabled unnecessary`,
	ConsentPhrases: `
		yes; yeah; yep; yup; yea; yes i do; yes it is; sure; sure thing; definitely; absolutely; certainly; of course;
		indeed; exactly; correct; that is correct; that is right; affirmative; agreed; i agree; confirm; confirmed; i
		confirm; confirm it; confirm that; approve; approved; i approve; accept; accepted; i accept; do it; do that;
		do so; do it now; do that now; do it right now; do it right away; please do; just do it; let us do it; let us
		do that; go ahead; go for it; go ahead then; go ahead and do it; go ahead with it; go ahead with that; you can
		go ahead; you may go ahead; you may; proceed; you can proceed; you may proceed; make it so; i am sure; by all
		means; sounds good; that sounds good; that is fine; fine by me; fine with me; works for me; you can; i would
		like that; i want that; i want it; sounds great; that sounds great; sounds perfect`,
	AssentPhrases: `
		ok; okay; okey; alright; all right; very well; ok then; okay then; alright then; that is ok; that is okay;
		that is alright; that is all right`,
	RefusalPhrases: `
		no; nope; nah; nothing; nothing thanks; nothing thank you; no way; not at all; absolutely not; definitely not; certainly not; of course not; surely not;
		negative; do not; do not do it; do not do that; do not do this; please do not; please do not do it; please do
		not do that; do not go ahead; do not proceed; i do not want it; i do not want that; i do not want this; i do
		not want to; i do not want you to; i would rather not; rather not; better not; no i do not; stop; stop it;
		stop that; stop this; cancel; cancel it; cancel that; cancel this; abort; abort it; never mind; nevermind;
		forget it; forget about it; forget that; drop it; scratch that; not anymore; reject; rejected; i reject; deny;
		denied; decline; declined; i decline; refuse; refused; i refuse; under no circumstances; no stop; no stop it;
		no cancel; no cancel it; no cancel that; no forget it; not now; no not now; not this time; wrong; incorrect;
		that is wrong; that is not right; that is not correct;
		i do not want to any more; i do not want to anymore; i do not want it any more; i do not want it anymore; not any more; i changed my mind; i
		have changed my mind; forget the whole thing; let us not; i would rather not do that; do not bother; no longer needed; it is no longer needed;
		that is no longer needed; not needed any more; not needed anymore; i do not need it any more; i do not need it anymore; i do not need that any
		more; i do not need that anymore; i no longer need it; i no longer need that; we do not need it any more; we do not need it anymore; we do not need that
		any more; we do not need that anymore; we no longer need it; i take that back; i take it back; let us leave it; let us drop it;
		let us forget it; leave it; forget about that;
		actually no; keep it; keep it as it is; keep it like that; leave it as it is`,
	CourtesyPhrases: `
		please; pls; plz; thanks; thank you; thank you very much; thanks a lot; many thanks; thx; great; perfect; uh;
		um; hey; good; cool; nice; awesome; lovely; wonderful`,
	Opposites: `
		on off; open close; open shut; start stop; enable disable; add remove; add delete; lock unlock; up down;
		increase decrease; raise lower; show hide; mute unmute; subscribe unsubscribe; activate deactivate; buy sell;
		connect disconnect; enter leave; begin end; freeze unfreeze; block unblock; install uninstall; arm disarm;
		import export`,
	// Dates, times and numbers.
	DateWords:    `next this coming last in the a an day`,
	BetweenWords: `between`,
	RangeWords:   `and or to till until through`,
	OfWords:      `of`,
	DayCues:      `on by until till from to`,
	HourCues:     `at around by`,
	ClockCues:    `at by around about before after until till from to between`,
	PairWords:    `couple pair`,
	InexactPhrases: `
		about; around; roughly; approximately; approx; circa; nearly; almost; up to; at most; at least; no more than; not more than; no less than; not less than; less than;
		more than; fewer than; over; under; below; above; beyond; a maximum of; a minimum of; maximum; minimum; max; min; anything but; any but; everything but; except; other than;
		not over; not under; a little over; just over; just under; somewhere around; something like; maybe; perhaps;
		half of; half; a half of; a third of; a quarter of; a part of; part of; double; twice; a bit of; some of`,
	InexactEndings: `
		or so; or less; or fewer; or more; at most; at least; at the most; at the least; tops; or thereabouts; more or less; give or take;
		maximum; minimum; max; min; approximately; roughly`,
	BoundNames: `max maximum min minimum limit most least threshold budget ceiling upper lower cap highest lowest`,
	StepCues:   `by`,
	ChangeWords: `
		up down raise raised lower reduce increase decrease higher louder quieter warmer cooler colder hotter brighter darker dim more less change turn
		adjust`,
	MoreWords:  `higher lower warmer cooler colder hotter louder quieter brighter darker more less longer shorter faster slower up down`,
	OneCues:    `for just only of exactly`,
	Homographs: `once elf sept dos sei seize quince cent mil`,
	Currencies: `usd eur chf gbp jpy dollars euros francs pounds yen bucks`,
	UnitNames: `
		mile kilometer km meter metre kg kilo kilogram gram pound ounce liter litre dollar buck euro cent percent degree
		celsius fahrenheit guest adult passenger night hour minute second inch foot feet`,
	UnitSigns: `kg g km m cm mm mi lb lbs oz l ml mb gb min mins h hr hrs s x wh kwh c f eur usd`,
	Months: `
		january=1 february=2 march=3 april=4 may=5 june=6 july=7 august=8 september=9 october=10 november=11 december=12
		jan=1 feb=2 mar=3 apr=4 may=5 jun=6 jul=7 aug=8 sep=9 oct=10 nov=11 dec=12 sept=9`,
	Weekdays:      `sunday=0 monday=1 tuesday=2 wednesday=3 wensday=3 wednsday=3 thursday=4 friday=5 saturday=6 saterday=6`,
	ShortWeekdays: `sun=0 mon=1 tue=2 tues=2 wed=3 thu=4 thur=4 thurs=4 fri=5 sat=6`,
	NearDays:      `yesterday=-1; last night=-1; today=0; tonight=0; tomorrow=1; tomorow=1; tommorow=1; tommorrow=1; day after tomorrow=2; day before yesterday=-2`,
	MorningCues:   `good`,
	PastDays:      `last past previous`,
	ComingDays:    `this coming`,
	NextDays:      `next`,
	ThisWeek:      `this week;`,
	LastWeek:      `last week; the last week; the past week; past week`,
	AgoCues:       `ago`,
	NextWeek:      `next week; the next week; the coming week`,
	WeekLater:     `week=7; fortnight=14`,
	AheadCues:     `in`,
	DayUnits:      `day=1 days=1 week=7 weeks=7 fortnight=14 month=m months=m`,
	DayShifts:     `before=-1 after=1 from=1`,
	BesideDays:    `the day after that=1; the day after=1; day after=1; the next day=1; the following day=1; a day later=1; one day later=1; the day before that=-1; the day before=-1; a day earlier=-1; one day earlier=-1`,
	SpanCues:      `for`,
	BeforeCues:    `before; by; until; till; no later than; not later than; at the latest; up to; by the latest`,
	AfterCues:     `after; since; not before; no earlier than; not earlier than`,
	JoinWords:     `and`,
	EveryWords:    `every each`,
	NightWords:    `night tonight`,
	NamedHours:    `noon=12:00 midday=12:00 midnight=00:00`,
	DayParts:      `morning=a afternoon=p evening=p tonight=p`,
	NumberWords: `
		zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13
		fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19
		twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90`,
	Ordinals: `
		first=1 second=2 third=3 fourth=4 fifth=5 sixth=6 seventh=7 eighth=8 ninth=9 tenth=10 eleventh=11 twelfth=12
		thirteenth=13 fourteenth=14 fifteenth=15 sixteenth=16 seventeenth=17 eighteenth=18 nineteenth=19 twentieth=20
		thirtieth=30`,
	GroupWords: `couple=2 pair=2 dozen=12 hundred=100 thousand=1000 million=1000000 billion=1000000000`,
	Scales:     `thousand=3 grand=3 million=6 millions=6 billion=9`,
	// Names of parameters.
	BooleanWords: `
		is has have allow allows allowed include includes included including with offer offers offered serve serves
		enable enabled flag want wants wanted need needs needed use show required welcome available`,
	PlaceholderWords: `name id value number type code text string key no nr`,
	DateNames:        `date day deadline birthday birthdate dob when datetime checkin checkout`,
	ClockNames:       `time hour clock datetime`,
	EdgeNames:        `start end from to until begin beginning departure arrival return due on at period`,
	StartNames:       `start from begin checkin pickup outbound in`,
	EndNames:         `end to until return checkout dropoff due inbound out off`,
	ArrivalNames:     `arrival arrive arriving`,
	DepartureNames:   `departure depart departing leave leaving`,
	AmountNames:      `amount quantity count price sum total`,
	RatingNames:      `rating score stars`,
	GroupNames:       `party group team`,
	PeopleWords:      `people person persons guest guests passenger passengers traveler travelers adult adults attendee attendees seat seats`,
	CodeNames:        `code pin passcode password id reference serial plate number no nr`,
	PlaceNames:       `city location place town country area venue region state`,
	ContentNames: `
		query text message content term search keyword question phrase topic task note item expression body comment todo
		reminder sentence word title subject input`,
	NotedNames:       `text message content note comment body todo reminder memo task description reason`,
	EmailNames:       `email mail`,
	LinkNames:        `url link website homepage uri webpage`,
	PhoneNames:       `phone telephone mobile tel`,
	OriginNames:      `from origin departure source sender`,
	DestinationNames: `to destination target recipient receiver arrival`,
	RoomNames:        `room zone floor ward department`,
	PersonNames:      `recipient person contact guest doctor dentist attendee participant teacher professor student pupil patient employee`,
	AuthorNames:      `author artist director by`,
	// Words that introduce values.
	StartCues:       `from leaving departing starting beginning leave depart start since`,
	EndCues:         `to until till through returning return back ending end`,
	LabelWords:      `number no nr code id name under`,
	LinkingWords:    `of is to at be for`,
	Copulas:         `is are named called titled of`,
	BoundaryWords:   `and or but with for on at in to from by please`,
	Articles:        `a an the my your his her our their this that any some what which every each no`,
	Determiners:     `a an the my your his her our their some any`,
	ThatWords:       `that`,
	PuttingVerbs:    `add put write set pack place note stick get`,
	TargetCues:      `to on onto in into from off`,
	TrailingWords:   `too also again instead rather then`,
	PersonVerbs:     `tell ask message text email inform notify call ring invite`,
	AnnouncingWords: `called named titled saying says`,
	ObjectLinks:     `me us for to that about up of down`,
	PoliteWords:     `please thanks thank you now`,
	OriginCues:      `from`,
	DestinationCues: `to towards into`,
	PlaceCues:       `in at near around`,
	NamedPlaceCues:  `for of`,
	RoomCues:        `in at`,
	PersonCues:      `with for to`,
	AuthorCues:      `by`,
	// Acts.
	acts: `
		create: create add insert new register open make set_up sign_up put generate build produce establish found introduce enrol enroll
		provision onboard spin_up post define launch; read: get read show fetch retrieve view see look_up lookup look_at find list search query
		browse look_for describe display tell bring_up give_me tell_me; many: list search find browse all every; update: update edit modify
		change patch alter adjust set revise correct amend rename rework; delete: delete remove erase destroy drop discard wipe purge clear
		eliminate get_rid throw_away throw_out take_out take_away take_off deregister unregister terminate close scrap kick_out; cancel: cancel call_off
		abort revoke withdraw terminate annul void quash; refund: refund give_back pay_back reimburse get_back give_money_back get_money_back; repay: repay pay_back pay_off;
		return: return give_back send_back bring_back take_back; pay: pay settle; transfer: transfer wire remit send_money move_money;
		charge: charge debit bill; buy: buy purchase order acquire check_out checkout; reserve: reserve book; send: send mail deliver dispatch
		forward email; submit: submit hand_in turn_in; start: start begin launch boot kick_off run execute trigger power_on power_up fire_up
		bring_up; stop: stop halt shut_down power_off power_down abort turn_off quit; on: turn_on switch_on activate enable;
		off: turn_off switch_off deactivate disable; pause: pause suspend put_hold; resume: resume continue unpause carry_on; restart: restart
		reboot; lock: lock block freeze suspend ban; unlock: unlock unblock unfreeze reinstate; mute: mute silence silent snooze quiet; unmute: unmute;
		login: login logon authenticate sign_in log_in log_on; logout: logout logoff sign_out log_out log_off; leave: check_out depart; subscribe: subscribe sign_up_for
		follow join; unsubscribe: unsubscribe unfollow opt_out stop_getting stop_receiving; grant: grant give award assign; revoke:
		revoke take_away withdraw strip; approve: approve accept confirm agree sign_off say_yes; reject: reject decline refuse deny
		turn_down say_no; hire: hire employ recruit take_on; dismiss: dismiss fire sack lay_off let_go; rollback: rollback roll_back undo
		revert; restore: restore bring_back recover undelete; track: track trace where_is where_are; move: move relocate; reschedule: reschedule postpone
		put_off push_back bring_forward move change_date change_time; assign: assign hand_over allocate; invite: invite; upload: upload;
		download: download export save; import: import; export: export; share: share; merge: merge combine join put_together unite; copy: copy
		duplicate clone; convert: convert turn_into; translate: translate; calculate: calculate compute work_out; count: count; rate: rate
		score grade; comment: comment; verify: verify validate confirm; reset: reset; replace: replace exchange swap; rotate: rotate renew; resize: resize
		scale; close: close shut; open: open; reopen: reopen; acknowledge: acknowledge; promote: promote; escalate: escalate; publish: publish
		release; archive: archive; play: play; choose: choose pick select; submit: file; unlink: disconnect detach unlink; link: connect attach link`,
	actNouns: `
		create: creation registration insertion signup enrolment enrollment; read: retrieval listing; update: modification adjustment alteration
		update change edit; delete: deletion removal erasure termination drop; cancel: cancellation cancelation abort; refund: refund
		reimbursement; repay: repayment; return: return; pay: payment; transfer: transfer transaction wire; charge: charge debit bill;
		buy: purchase order checkout; reserve: reservation booking book reserve; submit: submission file; start: start launch run boot trigger; stop:
		stop halt; pause: pause suspension; restart: restart reboot; lock: lock block freeze ban; login: login logon; logout: logout;
		subscribe: subscription; unsubscribe: unsubscription; grant: grant assignment award; revoke: revocation; approve: approval acceptance
		confirmation; reject: rejection refusal denial; hire: hire recruitment; dismiss: dismissal; rollback: rollback; restore: restoration
		recovery restore; track: track tracking trace; move: move relocation; assign: assignment; invite: invitation; upload: upload; download: download;
		import: import; export: export; share: share; merge: merge merger; copy: copy duplicate clone; convert: conversion; translate: translation;
		calculate: calculation; count: count; rate: rate rating score grade; comment: comment; verify: verification validation; reset: reset;
		replace: replacement exchange swap; rotate: rotation renewal; publish: release; play: play; escalate: escalation; promote: promotion;
		send: mail email dispatch; read: view query search list display read; update: patch set; create: post`,
	requestThings: `user users customer customers request requests person people function tool call`,
	HolderWords:   `account record entry profile item object data information details`,
	ContractWords: `contract contracts subscription subscriptions account accounts membership memberships policy policies insurance plan plans`,
	MoneyWords:    `money fund funds cash payment payments bank account accounts iban salary`,
	holding:       `wallet=card purse=card handbag=card`,
	// Topics.
	related: `
		weather: weather forecast rain rainy raining snow snowing sunny umbrella storm; pay: pay paid bill invoice check; doctor: doctor physician gp
		medic clinician; appointment: appointment consultation visit checkup; medicine: medicine medication drug pill tablet prescription refill;
		reserve: reserve book reservation; cancel: cancel cancellation revoke withdraw annul; taxi: taxi cab uber; wake: alarm wake;
		remind: remind reminder remember; money: money cash fund balance; transfer: transfer send wire remit; block: block freeze lock
		disable deactivate suspend; lost: lost lose stolen stole steal theft missing; light: light lamp bulb lighting; heating: heating heater heat
		warm warmer thermostat radiator temperature; blind: blind shutter shade curtain; music: music song tune track playlist album; tv: tv television telly;
		food: menu dish food meal eat hungry; drink: drink beverage thirsty; waiter: waiter waitress server; hotel: hotel motel hostel
		accommodation lodging; train: train rail railway; flight: flight fly plane airplane airline; way: way route direction navigate navigation
		address location map find; shop: shop shopping grocery buy purchase; order: order buy purchase; note: note memo jot write; timer: timer countdown stopwatch;
		call: call phone telephone dial ring; message: message text sms email mail; person: human person agent advisor adviser representative operator
		speak talk; help: help assist assistance support; fault: problem issue fault fail broken defect repair fix; parcel: parcel package shipment delivery deliver courier;
		return: return refund exchange; price: price cost rate fee charge expensive cheap; password: password login pin passcode;
		document: document file paper form; calendar: calendar schedule agenda event meeting; clean: vacuum hoover clean cleaning sweep mop;
		holiday: holiday vacation leave; sick: sick ill illness unwell; expense: expense receipt reimburse reimbursement; news: news headline;
		joke: joke funny laugh; translate: translate translation; car: car auto automobile vehicle; child: child kid baby; picture: picture photo image;
		film: film movie cinema; ticket: ticket pass; account: account profile; change: change modify update edit reschedule move; end: stop end quit finish terminate;
		begin: start begin launch; add: add put insert append; remove: remove delete erase discard; show: show display list view`,
	UndoingPairs: `
		call off; give up; give back; send back; take back; hand back; get rid; want out; opt out; back out; drop out; pull out; get out; take off; take out;
		sign off; sign out; let out; no more; nothing with; changed mind; change mind; leave out; do without; decided against; decide against; no longer; not anymore; not more; say no; hold off;
		forget about; money back; remove from; keep out`,
	AlteringWords: `
		postpone postponed reschedule rescheduled rearrange move shift delay change swap exchange switch adjust amend alter
		modify edit update extend shorten defer replace`,
	AlteringPairs: `put off; push back; push out; put back; bring forward; move up; set back; pull forward; put forward`,
	GivingVerbs: `
		book order reserve rent hire buy purchase subscribe register join enrol enroll request apply schedule arrange sign
		create add make issue lease borrow ask`,
	GettingVerbs: `
		want need like love have get give take bring send come put set make do let arrange fetch pick use
		try start begin organise organize sort plan fix go`,
	Definites:      `the my our your his her their this that these those`,
	Auxiliaries:    `do does did can could will would shall should am is are was were have has had must may might need`,
	AttendingVerbs: `come make attend go keep be take use afford`,
	exceptPhrases:  `except; except for; excepting; apart from; aside from; other than; with the exception of; excluding; but not`,
	butWords:       `but`,
	NobodyWords:    `nobody; none; no one`,
	allWords:       `all any every each everyone everybody everything anyone anybody anything anytime everywhere`,
	KinWords: `
		mother mom mum father dad parents parent brother sister wife husband partner son daughter child kid uncle aunt cousin grandmother
		grandfather grandma grandpa friend boss colleague assistant neighbour neighbor landlord`,
	spokenTo:     `alexa siri google cortana jarvis echo computer earshot doctor urgent help`,
	otherPersons: `he she they someone somebody everyone everybody nobody anyone you customer client patient guest student doctor people`,
	othersVerbs: `
		want wants need needs would wishes hopes likes asked asks said says told tells thinks deserves has had plans wanted needed hoped`,
	needingVerbs: `need needs needed`,
	thirdModals:  `must should`,
	ownWords:     `my our mine me us`,
	UnlessWords:  `why or only just too sure if`,
	// Words after a value that are no part of it.
	laterPhrases: `
		next year; next month; next quarter; some day; at some point; at the end of the month; at the end of the week; at the end of the year; end of the month;
		at the weekend; in the future; in future; another time; some other time`,
	asidePhrases: `
		quick; fast; hurry; hurry up; right now; right away; now; immediately; at once; asap; as soon as possible; straight away; instantly; quickly; urgently; please; pls; plz; thanks; thx; thank you; cheers; if possible;
		for me; would you; will you; could you; can you; if you can; if you would; today please`,
	BelongingWords: `of`,
	NameParticles:  `bin ibn mc`,
	OrWords:        `or`,
	CentNames:      `cent cents pence penny`,
	SumWords:       `plus minus`,
	idlePhrases: `
		one sec; one second; one moment; a moment; just a moment; just a sec; a sec; sec; hang on; hold on; wait; brb; be right back; lol; rofl; haha; wtf; omg; damn; damn it; shit; fuck; fuck off; fuck you; crap; see above; good question; no idea; whatever; whenever; anyone; dunno; not sure; not sure yet; not yet; i do not know yet; let me think; let me see; do not know; i do not know; who knows; guess; guess who; hm; later; nothing; good morning; good afternoon; good evening; good night; for whom; for who; who for; to whom; wrong chat`,
	MeansCues:      `via; using; as a; as an; in cash; by card; by bank transfer`,
	repeatingWords: `daily weekly monthly yearly annually hourly nightly fortnightly`,
	periodWords:    `year quarter workday`,
	timesWords:     `twice thrice`,
	timesNouns:     `times`,
}
