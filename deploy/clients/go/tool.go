package earshot

// Repository is a named group of tools: those of tools, or those of the MCP server that from names.
type Repository struct {
	// The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
	AppID string `json:"appId,omitempty"`
	// The session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or
	// digit.
	SessionID string `json:"sessionId,omitempty"`
	// The repository, unique in its app or session. As in the path, or left out: 1 to 128 of A-Z a-z
	// 0-9 _ -, the first a letter or digit.
	RepositoryID string `json:"repositoryId,omitempty"`
	// When it was first put. Set by the service; read and left in a request.
	Created string `json:"created,omitempty"`
	// Name of one of the app's sources of type mcp: the repository has the tools of its server, and
	// follows when they change.
	From string `json:"from,omitempty"`
	// What the author of a write may not expect, in the answer to it. Set by the service; read and
	// left in a request.
	Notes []string `json:"notes,omitempty"`
	// How its tools fire together.
	Options *Options `json:"options,omitempty"`
	// The tools; names are unique in a repository. Needed without from. With it they are those of its
	// server, which are read and left in a request.
	Tools []Tool `json:"tools,omitzero"`
	// When it was last changed. Set by the service; read and left in a request.
	Updated string `json:"updated,omitempty"`
}

// Options is how the tools of a repository fire together.
type Options struct {
	// Its tools win over all others and no reply is made. Default: false.
	Exclusive bool `json:"exclusive,omitempty"`
	// Of a repository of an app: it is in no scope itself; a session gets a copy when it is put with
	// its id among repositories. Default: false.
	Template bool `json:"template,omitempty"`
	// The first of the tools to fire takes the repository away. Default: false.
	TriggerOnce bool `json:"triggerOnce,omitempty"`
}

// Tool is what a user's words can set off.
type Tool struct {
	// Name of the tool: 1 to 64 of A-Z a-z 0-9 _ -. One that is called collect-user-message catches
	// all: it fires with the text as value where nothing else matched. function may give it instead.
	Name string `json:"name,omitempty"`
	// What the tool does with its source: postgres-sql, mysql-sql and sqlite-sql run its statement;
	// postgres-execute-sql, mysql-execute-sql and sqlite-execute-sql one that is a parameter;
	// postgres-list-tables and mysql-list-tables tell of the tables; http and mcp call. Without a type
	// it fires an event and calls its url.
	Type string `json:"type,omitempty"`
	// Hints of Toolbox's for its clients; read and left.
	Annotations map[string]any `json:"annotations,omitempty"`
	// In place of a url: nothing is called, and whoever subscribes to the event answers.
	Answer *AnswerWithin `json:"answer,omitempty"`
	// Names of authServices: the user must be verified by any one of them, else the tool is not
	// offered, and firing it directly is refused with 401.
	AuthRequired []string `json:"authRequired,omitempty"`
	// Of an http tool: values of its requestBody.
	BodyParams []Parameter `json:"bodyParams,omitempty"`
	// true: while a trigger settles, the user's next message cancels it. Needs settle. Default: false.
	CancelOnNext bool `json:"cancelOnNext,omitempty"`
	// Whether a user has to say yes before anything takes effect: each time, once in a session for the
	// same values, or never. Default: never.
	Confirm string `json:"confirm,omitempty"`
	// Of triggers with equal values within a time one takes effect; the others are duplicates of it.
	Dedupe *Dedupe `json:"dedupe,omitempty"`
	// What it is for, in the words of those who need it: the model and the offline matcher decide by
	// it.
	Description string `json:"description,omitempty"`
	// resource.scope: when the tool fires, its event goes to app.{appId}.{resource}.{scope} as well.
	Emitter string `json:"emitter,omitempty"`
	// Texts that call for the tool, in which values may be marked with their parameters: "a table for
	// [two](people)". A message that equals one of a tool without values fires it without a model.
	Examples []string `json:"examples,omitempty"`
	// A tool as OpenAI and langchaingo define it, beside type function: its name, description and
	// parameters are those of the tool. The other fields stand beside it.
	Function *Function `json:"function,omitempty"`
	// Of an http tool: strings that are sent as headers of their names.
	HeaderParams []Parameter `json:"headerParams,omitempty"`
	// Of an http tool.
	Headers map[string]string `json:"headers,omitempty"`
	// Of an http tool: GET, POST, PUT, PATCH or DELETE.
	Method string `json:"method,omitempty"`
	// Parameters in Toolbox form, or as a JSON Schema object.
	Parameters any `json:"parameters,omitempty"`
	// Of an http tool: resolved against the source's baseUrl; {{.name}} pastes pathParams, escaped.
	Path string `json:"path,omitempty"`
	// Of an http tool: values of its path.
	PathParams []Parameter `json:"pathParams,omitempty"`
	// Of an http tool: added to the query under their names; a list repeats its name.
	QueryParams []Parameter `json:"queryParams,omitempty"`
	// Of a SQL tool. true: it runs queries alone. false lets a tool of type execute-sql change things,
	// which it does not where neither it nor its source say so. A source that says readOnly: true has
	// the last word.
	ReadOnly *bool `json:"readOnly,omitempty"`
	// Of an mcp tool: what its server calls it; its name where it is missing.
	RemoteName string `json:"remoteName,omitempty"`
	// How its url is called: method, credentials, times. Without it the call is an unauthenticated
	// POST of the trigger event.
	Request *Request `json:"request,omitempty"`
	// Of an http tool: a template, JSON unless its Content-Type says otherwise; {{.name}} and {{json
	// .name}} paste bodyParams, escaped for where they stand; {{json .}} is an object of all that have
	// a value.
	RequestBody string `json:"requestBody,omitempty"`
	// true: the result of the call is the reply itself, word for word; no model writes one. Default:
	// false.
	ReturnDirect bool `json:"returnDirect,omitempty"`
	// Parameters in SERMAS form. An object is taken as the JSON Schema of parameters, which the answer
	// has instead.
	Schema []Parameter `json:"schema,omitempty"`
	// As 800ms: the effects of a trigger become due only then, and until then it can be cancelled.
	// More than 0 and at most 60s.
	Settle Duration `json:"settle,omitzero"`
	// true: no reply is made when this tool fires, and the answer's skipResponse is true, so that a
	// front-end says nothing by itself. Default: false.
	SkipResponse bool `json:"skipResponse,omitempty"`
	// Name of one of the app's sources, of the type that the tool needs.
	Source string `json:"source,omitempty"`
	// Of a SQL tool: one statement. parameters are bound to $1 and so on, for mysql to ?, for sqlite
	// also to ? and :name; {{.name}} and {{array .name}} paste templateParameters.
	Statement string `json:"statement,omitempty"`
	// Parameters in Toolbox form that are pasted into the statement of a SQL tool, as their rules
	// allow, where binding cannot do it: names of tables and columns.
	TemplateParameters []Parameter `json:"templateParameters,omitempty"`
	// Called when the tool fires; :param and :appId in path and query are replaced. A :param of the
	// path is required, whatever its definition says.
	URL string `json:"url,omitempty"`
}

// Request is how the call is made.
type Request struct {
	// Where it is missing, the credentials that are given say it.
	Auth string `json:"auth,omitempty"`
	// User and password for auth basic (RFC 7617).
	Basic *Basic `json:"basic,omitempty"`
	// An OAuth2 client of the tool's own, for auth bearer.
	Bearer *Bearer `json:"bearer,omitempty"`
	// Replaces the trigger event as the body.
	Body any `json:"body,omitempty"`
	// A note for people; read and left.
	Description string `json:"description,omitempty"`
	// Sent with every attempt as they stand; no value reaches them. Their values are credentials and
	// read as ***.
	Headers map[string]string `json:"headers,omitempty"`
	// true: the call may be sent again where it is not known whether it arrived. false: it is never
	// sent twice, and then ends as failed with the reason outcome_unknown. Default: true.
	Idempotent *bool `json:"idempotent,omitempty"`
	// GET, POST, PUT, PATCH or DELETE. Default: POST.
	Method string `json:"method,omitempty"`
	// The app's module whose token is sent, for auth module: 1 to 128 of A-Z a-z 0-9 _ -, the first a
	// letter or digit.
	ModuleID string `json:"moduleId,omitempty"`
	// As 15m; more than 0 and at most 24h. Default: 15m.
	RetryFor Duration `json:"retryFor,omitzero"`
	// As 10s; more than 0 and at most 60s. Default: 10s.
	Timeout Duration `json:"timeout,omitzero"`
	// Read as the tool's url.
	URL string `json:"url,omitempty"`
}

// Basic is a user and a password (RFC 7617).
type Basic struct {
	// A credential. Never returned: reads as ***; *** sent back keeps what is stored.
	Password string `json:"password"`
	// The user.
	Username string `json:"username"`
}

// Bearer is an OAuth2 client, and where its tokens are had. Tokens are kept and renewed before they
// expire.
type Bearer struct {
	// Sent with the request for a token, where the service wants one.
	Audience string `json:"audience,omitempty"`
	// The OAuth client.
	ClientID string `json:"clientId,omitempty"`
	// The client's secret. A credential. Never returned: reads as ***; *** sent back keeps what is
	// stored.
	ClientSecret string `json:"clientSecret,omitempty"`
	// Grant by which the token is had (RFC 6749). Default: client_credentials.
	ClientType string `json:"clientType,omitempty"`
	// Of the grant password. A credential. Never returned: reads as ***; *** sent back keeps what is
	// stored.
	Password string `json:"password,omitempty"`
	// Where they are renewed, where that is another URL: absolute, http or https.
	RefreshURL string `json:"refreshUrl,omitempty"`
	// Scopes to ask for with the token.
	Scopes []string `json:"scopes,omitempty"`
	// Where tokens are had: an absolute http or https URL.
	TokenURL string `json:"tokenUrl"`
	// Of the grant password: the user.
	Username string `json:"username,omitempty"`
}
